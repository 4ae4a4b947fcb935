#!/usr/bin/env bash
# Each code of errors.def is raised somewhere in src/ and provoked by a test that names it.
set -euo pipefail
cd "$(dirname "$0")/../.."
failures=0 count=0

while read -r name number; do
    count=$((count + 1))
    if ! grep -rqw "$name" src --include='*.c' --include='*.h'; then
        echo "$name ($number) is raised nowhere"
        failures=$((failures + 1))
    fi
    if ! grep -rqwE "$name|$(printf 'TW%04d' "$number")" tests --include='*.c' --include='*.h' \
        --include='*.sh' --include='*.txt' --include='*.S'; then
        echo "$name ($number) is named by no test"
        failures=$((failures + 1))
    fi
done < <(sed -nE 's/^ERROR\(([A-Z0-9_]+), ([0-9]+),.*/\1 \2/p' src/base/errors.def)

echo "$count codes checked, $failures complaints"
((failures == 0 && count > 0))
