#!/usr/bin/env bash
# Quantizes the transformer neck and head of a real text recognizer, and judges it on lines that it
# has not seen: lines 0 to 3 of a photographed page calibrate, 4 to 6 are held out.
#
# usage: examples/ocr/quantize.sh [OPTIONS of tilework quantize]
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tools/common.sh
source tools/common.sh

here=examples/ocr
out=build/demo
tilework=${TILEWORK:-build/release/tilework}
# shellcheck source=examples/ocr/fetch.sh
source "$here/fetch.sh"

mkdir -p "$out"
need node=nodejs npm=npm
if [[ ! -e $out/neck/config.json ]]; then
    say "fetching the model and the page"
    fetch_modules || die "the model cannot be fetched (${install_error:-see $out/npm.log})"
    fetch_page || die "the page cannot be fetched (see $out/apt.log)"
    say "running the model up to its neck"
    node "$here/neck.mjs" "$out" "$out/page.png" "$out/neck"
fi

say "quantizing"
rm -rf "$out/neck-f143"
files=("$out"/neck/line-{0,1,2,3}.safetensors)
held_out=("$out"/neck/line-{4,5,6}.safetensors)
"$tilework" quantize "$out/neck" -o "$out/neck-f143" "${files[@]/#/--calibration=}" \
    "${held_out[@]/#/--evaluate=}" --restart "$@"
