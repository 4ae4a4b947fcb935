.section .text.kernel, "ax", @progbits
.align 4
.globl kernel
.type kernel, @function
.supervisor
kernel:
    add $m11, $m11, -16
    st32 $m2, $m11, 0
    setzi $m0, kernel_worker
    runall $m0, $m11, 0
    sync TEXCH_SYNCZONE_LOCAL
    add $m11, $m11, 16
    br $m10
.size kernel, . - kernel
.set TEXCH_SYNCZONE_LOCAL, 2
.worker
kernel_worker:
    ld32 $m0, $mvertex_base, 0
    get $m1, $WSR
    and $m1, $m1, 7
    setzi $m2, 8
    .align 8
    nop
    rpt $m2, (2f - 1f) / 8 - 1
1:
    {ld64step $a0:1, $mzero, $m0+=, 1
     fnop}
    {nop; f16v4add $a2:3, $a2:3, $a0:1}
2:
    exitz $mzero
.size kernel_worker, . - kernel_worker
