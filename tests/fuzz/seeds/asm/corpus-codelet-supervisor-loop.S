// a supervisor that loads weights block by block and launches workers
.macro WEIGHTS
    .irp first, 0, 32, 8, 40, 16, 48, 24, 56
    .set slot, \first
    .rept 4
    ld128putcs slot
    .set slot, slot + 2
    .endr
    .endr
.endm
    .section .text.run_blocks, "ax", @progbits
    .global run_blocks
    .type run_blocks, @function
    .supervisor
    .align 4
run_blocks:
    add $sp, $sp, -16
    st32 $lr, $sp, $mzero, 0
    ld32 $m1, $m0, $mzero, 0
    ld32 $m2, $m0, $mzero, 1
    ld32 $m3, $m0, $mzero, 2
    put $FP_INFMT, $m3
    ld32 $m3, $m0, $mzero, 3
    put $FP_ISCL, $m3
    setzi $m4, matrix_rows
    add $m5, $m0, 16
.Lblock:
    put $CCCSLOAD, $m1
    .rept 6
    nop
    .endr
    WEIGHTS
    runall $m4, $m5, 0
    add $m1, $m1, 512
    sync TEXCH_SYNCZONE_LOCAL
    brnzdec $m2, .Lblock
    ld32 $lr, $sp, $mzero, 0
    add $sp, $sp, 16
    br $lr
    .size run_blocks, . - run_blocks
    .extern matrix_rows
