#!/usr/bin/env bash
# The web page of a profile in Chromium; skipped where playwright-core or Chromium is missing.
# NODE_PATH says where playwright-core is.
set -euo pipefail
chromium=${CHROMIUM:-/usr/bin/chromium}
if [[ ! -x $chromium ]] || ! node -e 'require("playwright-core")' 2>/dev/null; then
    echo "skipped: no playwright-core in NODE_PATH, or no Chromium"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$TILEWORK" bench gemm --rows 64 --inner 640 --columns 32 --profile "$folder/profile" >/dev/null
"$TILEWORK" profile "$folder/profile" --html "$folder/page.html" --json >"$folder/report"
CHROMIUM=$chromium node tests/cli/page.js "$folder/page.html" "$folder/report"
