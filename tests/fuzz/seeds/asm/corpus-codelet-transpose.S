// 4 x 4 halves through the transpose pipe
    .section .text.transpose_4x4, "ax", @progbits
    .global transpose_4x4
    .type transpose_4x4, @function
    .worker
    .align 8
transpose_4x4:
    ld32 $m0, $mvertex_base, $mzero, 0
    ld32 $m1, $mvertex_base, $mzero, 1
    ld64step $a0:1, $mzero, $m0+=, 1
    ld64step $a2:3, $mzero, $m0+=, 1
    {ld64step $a4:5, $mzero, $m0+=, 1; f16v4istacc $azeros, $a0:1, $a2:3, TISTACC_P0}
    ld64step $a6:7, $mzero, $m0+=, 1
    f16v4istacc $azeros, $a4:5, $a6:7, TISTACC_P1
    f16v4stacc $a0:1, TSTACC_P0
    {st64step $a0:1, $mzero, $m1+=, 1; f16v4stacc $a2:3, TSTACC_P1}
    {st64step $a2:3, $mzero, $m1+=, 1; f16v4istacc $a4:5, $azeros, $azeros, TISTACC_P0}
    {st64step $a4:5, $mzero, $m1+=, 1; f16v4istacc $a6:7, $azeros, $azeros, TISTACC_P1}
    st64step $a6:7, $mzero, $m1+=, 1
    exitz $mzero
    .size transpose_4x4, . - transpose_4x4
