#!/usr/bin/env bash
# The web page of a profile of all 1,472 tiles in Chromium; skipped where there is none, or no
# playwright-core. NODE_PATH says where that is; else npm fetches it into build/page.
set -euo pipefail
chromium=${CHROMIUM:-/usr/bin/chromium}
skip() {
    echo "skipped: $*"
    exit 77
}
has_playwright() { node -e 'require("playwright-core")' 2>/dev/null; }
[[ -x $chromium ]] || skip "no Chromium"
command -v node >/dev/null || skip "no node"
if ! has_playwright; then
    export NODE_PATH=$PWD/build/page/node_modules
    npm=(npm install --prefix build/page --silent --no-audit --no-fund --ignore-scripts)
    has_playwright || timeout 60 "${npm[@]}" playwright-core@1.65.1 >/dev/null 2>&1 ||
        skip "npm cannot install playwright-core"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$TILEWORK" bench gemm --rows 64 --inner 128 --columns 368 --grid y=32,23,2 \
    --profile "$folder/profile" >/dev/null
"$TILEWORK" profile "$folder/profile" --html "$folder/page.html" --json >"$folder/report"
(($(stat -c %s "$folder/page.html") <= 3000000)) || { echo "the page is too large"; exit 1; }
CHROMIUM=$chromium node tests/cli/page.js "$folder/page.html" "$folder/report"
