#!/usr/bin/env bash
# What `tilework isa` prints: the page of the documentation, one entry, the ledger, the coverage.
set -euo pipefail

if ! diff <("$TILEWORK" isa --markdown) docs/isa.md; then
    echo "docs/isa.md is not fresh: tilework isa --markdown >docs/isa.md"
    exit 1
fi

entry=$("$TILEWORK" isa f8v8hihov4amp)
for part in "effect    d = results" "issue     aux lane, worker, 1 slot" "encoding  3600000A" \
    "test      sim.amp"; do
    grep -qF -- "$part" <<<"$entry" || { echo "the entry of f8v8hihov4amp lacks: $part"; exit 1; }
done

# Every constant of the chip with its class.
rows=$(grep -c '^CONSTANT(' src/chip/chip.def)
printed=$("$TILEWORK" isa --evidence | grep -cE ' (measured|documented|source|inferred|assumed) ')
((printed >= rows)) || { echo "the ledger has $printed of $rows constants"; exit 1; }

coverage=$("$TILEWORK" isa --coverage --json)
grep -qF '"implemented": 242, "total": 242' <<<"$coverage" || { echo "$coverage" | head -1; exit 1; }

# Counted anew from the sources: mnemonics of the table, those of the exchange apart.
total=$(grep '^FORM(' src/isa/isa.def | grep -v ISA_F_EXCHANGE | cut -d'"' -f2 | sort -u | wc -l)
tested=$(grep '^TESTED(' src/isa/tested.def | cut -d'"' -f2 | sort -u | wc -l)
((total == 242 && tested == total)) || { echo "$tested tested of $total in the table"; exit 1; }
echo "the manual holds"
