// halves to quarters, sixteen bytes in and eight out a step, loads and stores in one instruction
    .worker
    .global cast_to_quarter
    .align 8
cast_to_quarter:
    ld32 $m0, $mvertex_base, $mzero, 0
    ld32 $m1, $mvertex_base, $mzero, 1
    ldz16 $m2, $mvertex_base, $mzero, 4
    ld32 $a6, $mvertex_base, $mzero, 3
    uput CSR_W_FP_SCL__INDEX & CSR_UPPER_MASK, $a6
    shr $m3, $m2, 8
    ldconst $m4, (12 << CHIP_STRIDE) | 6
    tapack $m6:7, $m0, $mzero, $m1
    .set CHIP_STRIDE, 10
    ld64step $a0:1, $mzero, $m0+=, 1
    ld64 $a2:3, $m0, $mzero, 0
    .align 8
    {rpt $m3, (2f - 1f) / 8 - 1; fnop}
1:
    {nop; f16v8tof8 $a4:5, $a0:3}
    {ldst64pace $a0:1, $a4:5, $m6:7+=, $m4, 0b0110; fnop}
2:
    exitz $mzero
