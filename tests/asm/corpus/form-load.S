// load: every form, registers and immediates at their ends
    .worker
target:
1:
    ld32         $m0, $m1, $m2, (1 << 11) - 1
    ld32         $fp, $m3, $fp, 4095
    ld32         $sp, $sp, 4095
    ld32         $m0, $m1, $m2, $m3
    ld32         $fp, $bp, $mzero, $fp
    ld32         $bp, $lr, $sp
    ld32         $a0, $m1, $m2, 0x65
    ld32         $a7, $m3, $sp, 4095
    ld32         $a1, $sp, 0x529
    ld32         $a0, $m1, $m2, $m3
    ld32         $a7, $bp, $sp, $bp
    ld32         $a1, $m0, $fp
    ld64         $a0:1, $m1, $m2, 0xa9d
    ld64         $a0:1, $lr, $lr, 0x612
    ld64         $a0:1, $m5, 4095
    ld64         $a0:1, $m1, $m2, $m3
    ld64         $a0:1, $fp, $m0, $mzero
    ld64         $a4:5, $mzero, $mzero
