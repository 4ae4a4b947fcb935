// Copies n atoms; the six workers take every sixth one. Vertex: source, destination, atoms.
.set OFF_SOURCE, 0
.set OFF_DEST, 1
.set OFF_COUNT, 2

.macro ENTRY name
    .section .text.\name, "ax", @progbits
    .global \name
    .type \name, @function
    .align 8
    .worker
\name:
.endm
.macro LEAVE name
    exitz $mzero
    .size \name, . - \name
.endm

// count = (n + 5 - worker) / 6 by a multiplication
.macro SHARE count, n, worker
    add \count, \n, CTXT_WORKERS - 1
    sub \count, \count, \worker
    mul \count, \count, 0x2AAB
    shr \count, \count, 16
.endm

    ENTRY copy_atoms
    get $m0, $WSR
    and $m0, $m0, CSR_W_WSR__CTXTID_M1__MASK
    ld32 $m1, $mvertex_base, $mzero, OFF_SOURCE
    ld32 $m2, $mvertex_base, $mzero, OFF_DEST
    ld32 $m3, $mvertex_base, $mzero, OFF_COUNT
    SHARE $m4, $m3, $m0
    brz $m4, .Lnothing
    ld64step $azeros, $mzero, $m1+=, $m0
    shl $m5, $m0, 3
    add $m2, $m2, $m5
    add $m4, $m4, -1
    ld64step $a0:1, $mzero, $m1+=, CTXT_WORKERS
    .align 8
    {rpt $m4, (2f - 1f) / 8 - 1; fnop}
1:
    {st64step $a0:1, $mzero, $m2+=, CTXT_WORKERS; fnop}
    {ld64step $a0:1, $mzero, $m1+=, CTXT_WORKERS; fnop}
2:
    st64step $a0:1, $mzero, $m2+=, CTXT_WORKERS
.Lnothing:
    LEAVE copy_atoms
