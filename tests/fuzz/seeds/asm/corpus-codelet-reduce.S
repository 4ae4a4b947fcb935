// sum, sum of magnitudes and sum of squares over eight halves at a time; register names by .equ
.macro REDUCE name, op
    .section .text.\name
    .global \name
    .align 8
    .worker
\name:
    ld32 $m0, $mvertex_base, $mzero, 0
    ldz16 $m1, $mvertex_base, $mzero, 2
    ld32 $m2, $mvertex_base, $mzero, 2
    setzi $a0, CSR_W_FP_CLR__ZAACC__MASK << CSR_W_FP_CLR__ZAACC__SHIFT
    uput $FP_CLR, $a0
    ld128step $a0:3, $mzero, $m0+=, 1
    .align 8
    {rpt $m1, 0; fnop}
    {ld128step $a0:3, $mzero, $m0+=, 1; \op $a0:3}
    {nop; f32v2gina $a0:1, $azeros, 0}
    {nop; f32v2gina $a2:3, $azeros, 0}
    {nop; f32v2add $a0:1, $a0:1, $a2:3}
    {nop; f32v2gina $a2:3, $azeros, 0}
    {nop; f32v2add $a0:1, $a0:1, $a2:3}
    {nop; f32v2gina $a2:3, $azeros, 0}
    {nop; f32v2add $a0:1, $a0:1, $a2:3}
    f32add $a0, $a0, $a1
    st32 $a0, $m2, $mzero, 0
    exitz $mzero
    .size \name, . - \name
.endm
    .irp kind, acc, absacc, sqacc
    REDUCE sum_\kind, f16v8\kind
    .endr
