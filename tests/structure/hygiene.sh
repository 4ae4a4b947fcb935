#!/usr/bin/env bash
# Rules for the tracked files: size, leftovers of editing, white space.
set -euo pipefail
cd "$(dirname "$0")/../.."
failures=0

complain() {
    echo "$1"
    failures=$((failures + 1))
}

# The files that git tracks, or, in a tree without git, all but what is built or fetched.
if git rev-parse --git-dir >/dev/null 2>&1; then
    mapfile -t files < <(git ls-files)
else
    mapfile -t files < <(find . \( -name build -o -name node_modules -o -name third_party \) -prune \
        -o -type f -printf '%P\n')
fi

texts=()
for file in "${files[@]}"; do
    [[ -f $file ]] || continue
    case $file in
    tests/*/seeds/* | tests/*/data/* | *.png | *.jpg | *.npy | *.safetensors) continue ;;
    esac
    texts+=("$file")
done

while read -r lines file; do
    ((lines <= 1200)) || complain "$file: $lines lines, more than 1200"
done < <(wc -l "${texts[@]}" | sed '$d')

while IFS= read -r hit; do
    complain "$hit"
done < <(
    # The words are written with brackets so that this file does not find itself.
    grep -nHE '\b([T]ODO|[F]IXME|[X]XX|[H]ACK)\b|^(<{7}|>{7}|={7})( |$)' "${texts[@]}" |
        sed 's/$/   <- leftover marker/'
    grep -nHE '[[:blank:]]+$' "${texts[@]}" | sed 's/$/   <- blanks at the end of a line/'
    # It vanishes in release builds; cmocka's assertions do not.
    printf '%s\0' "${texts[@]}" | grep -z '^tests/.*\.c$' |
        xargs -0 grep -nHE '(^|[^_[:alnum:]])assert\(' | sed 's/$/   <- plain assert in a test/'
    printf '%s\0' "${texts[@]}" | grep -zE '\.([ch]|def|cmake)$' |
        xargs -0 grep -nHP '\t' | sed 's/$/   <- tab/'
)

for file in "${texts[@]}"; do
    if [[ -s $file && -n $(tail -c 1 "$file") ]]; then
        complain "$file: no newline at its end"
    fi
done

echo "${#texts[@]} files checked, $failures complaints"
((failures == 0))
