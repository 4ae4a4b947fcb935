#!/usr/bin/env bash
# docs/tutorial-kernel.md from top to bottom: writes its files, runs its commands, and compares what
# they print with what stands there.
set -euo pipefail
page=$PWD/docs/tutorial-kernel.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$PWD/examples" "$folder/examples"
mkdir "$folder/bin"
ln -s "$(realpath "$TILEWORK")" "$folder/bin/tilework"
PATH=$folder/bin:$PATH
cd "$folder"

count=0 file='' command='' inside=''

# Runs the command read last, whose expected output is in the file "expected".
finish() {
    [[ -n $command ]] || return 0
    bash -c "$command" >printed 2>&1 || true
    diff expected printed || { echo "not what the page says: $command" >&2; exit 1; }
    count=$((count + 1))
    command=''
}

while IFS= read -r line; do
    case $inside:$line in
    :'```asm '*) inside=asm file=${line#* } && : >"$file" ;;
    :'```console') inside=console ;;
    :'```'*) inside=other ;;
    *:'```') finish && inside='' ;;
    asm:*) printf '%s\n' "$line" >>"$file" ;;
    console:'$ '*) finish && command=${line#'$ '} && : >expected ;;
    console:*) printf '%s\n' "$line" >>expected ;;
    esac
done <"$page"
echo "$count commands run"
((count >= 5))
