#!/usr/bin/env bash
# What a hostile user or a poor host gives the command: one coded error in time, whatever it is.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

complain() {
    echo "$1" >&2
    failures=$((failures + 1))
}

# expect CODE TEXT COMMAND...: the exit code within 20 seconds, and a text in the error output.
expect() {
    local code=$1 text=$2 found=0
    shift 2
    timeout 20 "$@" >"$folder/out" 2>"$folder/err" </dev/null || found=$?
    ((found == code)) || complain "exit code $found, not $code: $*"
    [[ -z $text ]] || grep -qF -- "$text" "$folder/err" ||
        complain "no '$text' from: $* ($(cat "$folder/err"))"
}

# limited KILOBYTES COMMAND...: with so much address space
limited() { (ulimit -v "$1" && shift && exec "$@"); }
export -f limited

# Little memory: an error or a result, but no waiting for memory that never comes. (Sanitizers
# reserve more than any limit that would be a test.)
if limited 300000 "$TILEWORK" version >/dev/null 2>&1; then
    for size in 80000 100000 140000 200000 300000; do
        found=0
        timeout 20 bash -c 'limited "$@"' - $size "$TILEWORK" bench gemm --rows 256 --inner 256 \
            --columns 257 --threads 2 --tiles 99 >/dev/null 2>"$folder/err" || found=$?
        ((found == 0)) || { ((found == 5)) && grep -q "TW010[15]" "$folder/err"; } ||
            complain "exit code $found with $size kB: $(cat "$folder/err")"
    done
fi

# Files that are none: a pipe that nobody writes, a source without an end.
mkfifo "$folder/pipe" "$folder/pipe.npy"
compile=("$TILEWORK" compile examples/gemm/gemm.graph --generated -o)
"${compile[@]}" "$folder/p.twpkg" >/dev/null || complain "cannot compile"
for verb in inspect verify disasm run; do
    expect 3 "pipe: cannot read: not a regular file" "$TILEWORK" $verb "$folder/pipe"
done
expect 3 "pipe.npy: cannot read" "$TILEWORK" run "$folder/p.twpkg" --input "x=$folder/pipe.npy"
expect 3 "longer than" "$TILEWORK" compile /dev/zero --generated -o "$folder/zero.twpkg"
expect 3 "longer than" "$TILEWORK" asm /dev/zero --cpp none -o "$folder/zero.o"

# ".." behind a link leads where the system says: the package lies there, and nothing elsewhere.
mkdir -p "$folder/a/b"
ln -s a/b "$folder/link"
expect 0 "" "${compile[@]}" "$folder/link/../q.twpkg"
expect 0 "" "$TILEWORK" verify "$folder/link/../q.twpkg"
expect 3 TW0104 "${compile[@]}" "$folder/none/../q.twpkg"
[[ $(ls -A "$folder/a") == $'b\nq.twpkg' ]] || complain "written elsewhere"
[[ -z $(find "$folder" -name "*.tmp-*") ]] || complain "a temporary file was left"

# What is wrong with an output is said before the run, and nothing is written.
run=("$TILEWORK" run "$folder/p.twpkg" --input x=examples/gemm/gemm.safetensors)
expect 2 "'y' is not NAME=FILE" "${run[@]}" --output y
expect 2 "'y=' is not NAME=FILE" "${run[@]}" --output y=
expect 2 "x is given twice" "${run[@]}" --input "x=$folder/x.npy"
for output in q=q.npy x=x.npy y=y.txt; do
    expect 3 "error TW" "${run[@]}" --output "y=$folder/first.npy" --output "${output/=/=$folder/}"
    [[ ! -s $folder/out && ! -e $folder/first.npy ]] || complain "run before checking $output"
done
expect 3 "no tensor can be called __metadata__" "${run[@]}" \
    --output "y=$folder/y.safetensors:__metadata__"

# Words without content, and bytes that JSON cannot hold.
expect 2 "an argument is empty" "$TILEWORK" isa ""
expect 2 "the value is empty" "${compile[@]}" ""
expect 2 "'fast' is none of portable, avx2, avx512" env TILEWORK_CPU=fast "$TILEWORK" isa
expect 3 "TW0102" "$TILEWORK" verify "$folder/"$'\xff' --json
grep -qF '"file": "'"$folder/?"'"' "$folder/out" || complain "no file in $(cat "$folder/out")"

# A product whose bytes 64 bits do not hold: what is lacking is much.
expect 4 "lacks" "$TILEWORK" bench gemm --rows 2147483648 --inner 2147483648 --columns 2147483648
grep -qE "lacks [0-9]{16} bytes" "$folder/err" || complain "small: $(cat "$folder/err")"
expect 3 "a device is no source file" "$TILEWORK" asm /dev/zero -o "$folder/zero.o"

((failures == 0)) && echo "all misuse was refused"
exit $((failures > 0))
