    .worker
    ld64step $a0:1, $mzero, $m1+=, 1
    ld64step $a0:1, $m1+=, 1
    ld64step $a0:1, $m2, $m1+=, $m3
    stm32step $m0, $m1+=, $m2
    ldd16a64 $a0:1, $m1++, $m2, $m3@
    ldb16b16 $a0:1, $m1, $m2@, $m3>>
    ld2x64pace $a0:1, $a2:3, $m2:3+=, $m4, 0b0110
    ldst64pace $a0:1, $a2:3, $m2:3+= , $mzero, 0
    st64pace $a0:1, $m2:3+=, $m4, 3
