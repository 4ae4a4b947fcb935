#!/usr/bin/env bash
# The demo's report can fail: with the weight binding set to zero the chip's classes agree nowhere
# where the reference is not blank, and every line's cosine is below one half.
#
# usage: zero_weights.sh small|real    (real: on the data that ./dev demo prepared, if it is there)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ocr=examples/ocr

command -v node >/dev/null || { echo "skipped: there is no node on this machine"; exit 77; }
if [[ $1 == real ]]; then
    data=build/demo/ocr.safetensors
    if ! grep -qs '"weights":"real"' "$data"; then
        echo "skipped: ./dev demo has not prepared the real weights"
        exit 77
    fi
    shape=(120 6625) weights=real graph=$ocr/classifier.graph
else
    data=$folder/data.safetensors
    shape=(40 50) weights=generated graph=$folder/small.graph
    node tests/demo/small.mjs "$data"
    cat >"$graph" <<'END'
input %x "x" : f8f143(s=-4)[21,40]
parameter %w "w" : f8f143(s=-6)[40,50]
%y = gemm %x, %w : f16[21,50]
output %y "y"
END
fi
node tests/demo/zeros.mjs "$folder/zero.safetensors" "${shape[@]}"

"$TILEWORK" compile "$graph" --weights "$data" -o "$folder/p.twpkg" --json >"$folder/compile.json"

# try KIND INPUT...: runs with these inputs, reports, and checks the report.
try() {
    local kind=$1 status=0
    shift
    "$TILEWORK" run "$folder/p.twpkg" "$@" --output "y=$folder/y.npy" --json >"$folder/run.json"
    node $ocr/report.mjs "$data" "$folder/y.npy" "$folder/compile.json" "$folder/run.json" \
        --summary "$folder/summary.json" >/dev/null || status=$?
    [[ $status == "$([[ $kind == right ]] && echo 0 || echo 1)" ]]
    node tests/demo/expect.mjs "$folder/summary.json" "$weights" "$kind"
}

[[ $1 == real ]] || try right --input "x=$data" # ./dev demo itself did
try zero --input "x=$data" --input "w=$folder/zero.safetensors"
