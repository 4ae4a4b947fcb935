// load narrow: every form, registers and immediates at their ends
    .worker
target:
1:
    ld128        $a4:7, $m1, $m2, 0
    ld128        $a4:7, $sp, $fp, (1 << 11) - 1
    ld128        $a4:7, $lr, 4095
    ld128        $a4:7, $m1, $m2, $m3
    ld128        $a4:7, $lr, $fp, $bp
    ld128        $a0:3, $m7, $lr
    ldz8         $m0, $m1, $m2, 4095
    ldz8         $bp, $m9, $fp, 0xa9b
    ldz8         $bp, $sp, 0x461
    ldz8         $m0, $m1, $m2, $m3
    ldz8         $bp, $m10, $mzero, $fp
    ldz8         $fp, $mzero, $bp
    lds8         $m0, $m1, $m2, 0xd52
    lds8         $mzero, $lr, $sp, 4095
    lds8         $mzero, $fp, 0
    lds8         $m0, $m1, $m2, $m3
    lds8         $bp, $sp, $lr, $bp
    lds8         $mzero, $bp, $bp
    ldz16        $m0, $m1, $m2, (1 << 11) - 1
    ldz16        $m10, $mzero, $bp, 0
    ldz16        $fp, $bp, 0
    ldz16        $m0, $m1, $m2, $m3
    ldz16        $sp, $m9, $mzero, $sp
    ldz16        $m0, $bp, $m4
    lds16        $m0, $m1, $m2, (1 << 11) - 1
    lds16        $bp, $bp, $fp, 4095
    lds16        $fp, $fp, 0
    lds16        $m0, $m1, $m2, $m3
    lds16        $sp, $fp, $sp, $lr
    lds16        $bp, $m5, $bp
    ldb16        $a0, $m1, $m2, 0
    ldb16        $a3, $sp, $fp, 0
    ldb16        $a7, $m1, 0x25c
    ldb16        $a0, $m1, $m2, $m3
    ldb16        $a2, $bp, $fp, $lr
    ldb16        $a2, $sp, $lr
    ldb8         $a0, $m1, $m2, 0
    ldb8         $a5, $lr, $lr, 0
    ldb8         $a1, $bp, (1 << 11) - 1
    ldb8         $a0, $m1, $m2, $m3
    ldb8         $a2, $lr, $mzero, $bp
    ldb8         $a1, $sp, $mzero
