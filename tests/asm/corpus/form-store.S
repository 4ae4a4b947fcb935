// store: every form, registers and immediates at their ends
    .worker
target:
1:
    st32         $m0, $m1, $m2, 0x670
    st32         $m11, $fp, $fp, 0
    st32         $mzero, $m6, 0x870
    st32         $a0, $m1, $m2, 0x53c
    st32         $a5, $m4, $fp, 0x59b
    st32         $a6, $fp, 0
    st32         $a0, $m1, $m2, $m3
    st32         $a2, $lr, $m7, $sp
    st32         $a7, $m2, $bp
    st64         $a0:1, $m1, $m2, 4095
    st64         $a4:5, $fp, $mzero, (1 << 11) - 1
    st64         $a6:7, $lr, 0
    st64         $a0:1, $m1, $m2, $m3
    st64         $a2:3, $bp, $lr, $m0
    st64         $a0:1, $m7, $m8
    st32step     $m0, $m1, $m5+=, -44
    st32step     $lr, $fp, $m3+=, -128
    st32step     $sp, $m1+=, -128
    st32step     $a0, $m1, $m7+=, -59
    st32step     $a7, $bp, $m11+=, 127
    st32step     $a2, $m10+=, -31
    st32step     $a0, $m1, $m10+=, $m3
    st32step     $a7, $lr, $m9+=, $m2
    st32step     $a7, $m1+=, $mzero
    st64step     $a0:1, $m1, $m3+=, 127
    st64step     $a2:3, $fp, $m11+=, -128
    st64step     $a0:1, $m0+=, -128
    st64step     $a0:1, $m1, $m6+=, $m3
    st64step     $a2:3, $fp, $m0+=, $fp
    st64step     $a6:7, $m2+=, $m7
    stm32        $m0, $m1, $m2
    stm32        $m7, $m11, $mzero
    stm32        $mzero, $bp, $m5
    stm32step    $m0, $m8+=, $m2
    stm32step    $m6, $m1+=, $bp
    stm32step    $m10, $m8+=, $bp
