.macro body k
    {ld64step $a0:1, $mzero, $m1+=, 1; f16v4mul $a2:3, $a4:BL, $a0:1}
    .if \k & 1
    {st64step $a2:3, $mzero, $m2+=, 1; f16v4add $a6:7, $a2:3, $a6:7}
    .endif
.endm
.macro unrolled n
    .set k, 0
    .rept \n
    body k
    .set k, k + 1
    .endr
.endm
    .worker
    .align 8
    nop
    rpt $m0, (2f - 1f) / 8 - 1
1:
    unrolled 4
2:
