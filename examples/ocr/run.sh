#!/usr/bin/env bash
# The demo: one FP8 matrix product of a real text recognizer on the simulated chip.
#
# Fetches a pretrained model (npm) and a photographed page (Debian), runs the model up to its
# classifier in ONNX Runtime, compiles the classifier's product for all tiles, runs it on the
# simulated chip, and reads the text from the file that the chip's run wrote. What cannot be fetched
# is replaced by generated data, which has no text to read.
#
# usage: examples/ocr/run.sh [--generated]
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tools/common.sh
source tools/common.sh

here=examples/ocr
out=build/demo
tilework=${TILEWORK:-build/release/tilework}
# shellcheck source=examples/ocr/fetch.sh
source "$here/fetch.sh"

generate() { # reason
    say "generated weights: $1"
    node "$here/prepare.mjs" --generated "$out/ocr.safetensors"
}

mkdir -p "$out"
need node=nodejs
if [[ ${1:-} == --generated ]]; then
    generate "asked for"
elif ! { say "fetching the model and the page"; fetch_modules; }; then
    generate "the model cannot be fetched (${install_error:-see $out/npm.log})"
elif ! fetch_page; then
    generate "the page cannot be fetched (see $out/apt.log)"
else
    say "running the model up to its classifier"
    node "$here/prepare.mjs" "$out" "$out/page.png" "$out/ocr.safetensors"
fi

say "compiling and running the classifier on the simulated chip"
"$tilework" compile "$here/classifier.graph" --weights "$out/ocr.safetensors" \
    -o "$out/ocr.twpkg" --json >"$out/compile.json"
"$tilework" run "$out/ocr.twpkg" --input "x=$out/ocr.safetensors" --output "y=$out/y.npy" \
    --json >"$out/run.json"
node "$here/report.mjs" "$out/ocr.safetensors" "$out/y.npy" "$out/compile.json" "$out/run.json" \
    --summary "$out/summary.json"
