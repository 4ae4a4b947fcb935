#!/usr/bin/env bash
# `tilework asm` as a user of hand-written kernels meets it: headers of the SDK that nobody has, the
# names of the chip, architectures under #if, include chains.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/kernels" "$folder/shared"

cat >"$folder/kernels/scale.S" <<'END'
#ifdef __IPU__
#include "sdk/StackSizes.hpp"
#include "sdk/TileConstants.hpp"
#include "common.inc"
#if __IPU_ARCH_VERSION__ >= 21
#define FORMATS 1
#elif __IPU_ARCH_VERSION__ == 2
#error "this is the other chip"
#endif
#if CTXT_WORKERS != 6 || CSR_W_WSR__CTXTID_M1__MASK != 7
#error "the names are missing"
#endif
#define mBase m2
    FUNCTION scale_half
    get $mBase, $WSR
    and $mBase, $mBase, CSR_W_WSR__CTXTID_M1__MASK
    uput CSR_W_FP_NFMT__INDEX & CSR_UPPER_MASK, $a0
#ifdef FORMATS
    f16v8tof8 $a0:1, $a0:3
#endif
    exitz $mzero
    DEF_STACK_USAGE 0 scale_half
    .include "tail.inc"
#endif
END
printf '#pragma once\n#include "deeper.inc"\n' >"$folder/shared/common.inc"
printf '.macro FUNCTION name\n.section .text.\\name\n.global \\name\n.type \\name, @function\n.worker\n\\name:\n.endm\n' \
    >"$folder/shared/deeper.inc"
printf '.size scale_half, . - scale_half\n' >"$folder/kernels/tail.inc"

"$TILEWORK" asm "$folder/kernels/scale.S" -I "$folder/shared" -o "$folder/scale.o" --listing \
    >"$folder/out" 2>"$folder/messages"
for header in sdk/StackSizes.hpp sdk/TileConstants.hpp; do
    grep -q "warning TW2013 .*there is no header $header" "$folder/messages" ||
        { echo "no warning about $header"; cat "$folder/messages"; exit 1; }
done
grep -q 'f16v8tof8' "$folder/out" || { echo "the other architecture was assembled"; exit 1; }

# A header that cannot be replaced stays an error.
printf '#include "../../../etc/none.h"\n' >"$folder/bad.S"
if "$TILEWORK" asm "$folder/bad.S" -o "$folder/bad.o" 2>"$folder/messages"; then
    echo "a header outside was made up"
    exit 1
fi
grep -q 'error TW2012' "$folder/messages" || { cat "$folder/messages"; exit 1; }
[[ -z $(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'tilework-headers-*' -newer "$folder/bad.S") ]] ||
    { echo "the stand-ins were left behind"; exit 1; }
# What disasm prints of an object assembles to the same code.
for source in tests/asm/corpus/codelet-*.S; do
    "$TILEWORK" asm "$source" --cpp none -o "$folder/a.o"
    "$TILEWORK" disasm "$folder/a.o" >"$folder/a.S"
    "$TILEWORK" asm "$folder/a.S" -o "$folder/b.o" 2>"$folder/messages"
    "$TILEWORK" disasm "$folder/b.o" >"$folder/b.S"
    # The first line names the source.
    diff <(tail -n +2 "$folder/a.S" | grep -v '^ *\.\(global\|type\|size\|byte\|int\|set\)') \
        <(tail -n +2 "$folder/b.S" | grep -v '^ *\.\(global\|type\|size\|byte\|int\|set\)') ||
        { echo "$source changes when it is disassembled"; exit 1; }
done
echo "the command holds"
