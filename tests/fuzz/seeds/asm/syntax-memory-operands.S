.worker
    ld32 $m0, $m1, 5
    ld32 $m0, $m1, $m2, 5
    ld32 $m0, $m1, $m2
    ld32 $m0, $m1, $m2, $m3
    ld32 $a0, $m1, $m2, $m3
    ld128 $a0:3, $m0, $m0, $m0
    ld32step $a0, $m2+=, 1
    ld32step $a0, $m1, $m2+=, -128
    ld32step $a0, $m1, $m2+=, $m3
    st32 $m0, $m1, 4095
    st32 $a0, $m1, $m2, $m3
    stm32 $m0, $m1, $m2
    stm32step $m0, $m1+=, $m2
    ldd16a32 $a0, $m1++, $m2, $m3@
    ldb16b16 $a0:1, $m1, $m2@, $m3>>
    ld2xst64pace $a0:3, $a4:5, $m2:3+=, $m4, 0b110110
