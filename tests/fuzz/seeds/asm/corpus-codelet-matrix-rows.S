// rows of a matrix product: 32 quarters into 16 halves; the shape of a loop over blocks
.macro STEP phase, load=1
    .if \load
    {ld2xst64pace $a0:3, $a6:7, $m4:5+=, $m6, 0b100110
     f8v8hihov4amp $a6:7, $a0:1, $a2:3, TAMP_F8V8_E4_P\phase}
    .else
    {nop
     f8v8hihov4amp $a6:7, $azeros, $azeros, TAMP_F8V8_E4_P\phase}
    .endif
.endm
.macro BLOCK load
    STEP 0, \load
    STEP 1, \load
    STEP 2, \load
    STEP 3, \load
.endm
    .section .text.rows, "ax", @progbits
    .global matrix_rows
    .worker
    .align 8
matrix_rows:
    ld64 $a0:1, $mvertex_base, $mzero, 0
    atom $m0, $a0
    atom $m1, $a1
    ld32 $m2, $mvertex_base, $mzero, 2
    ld32 $m6, $mvertex_base, $mzero, 3
    ldz16 $m3, $mvertex_base, $mzero, 8
    tapack $m4:5, $m0, $m1, $m2
    .irp phase, 1, 1, 1, 1
    {nop; f8v8hihov4amp $azeros, $azeros, $azeros, \phase}
    .endr
    rpt $m3, (2f - 1f) / 8 - 1
1:
    BLOCK 1
2:
    BLOCK 0
    exitz $mzero
    .size matrix_rows, . - matrix_rows
