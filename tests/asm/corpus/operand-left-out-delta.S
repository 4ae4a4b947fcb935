    .worker
    ld32 $m0, $m1, 5
    ld32 $m0, $m1, $mzero, 5
    ld32 $a0, $m1, $m2
    ld64 $a0:1, $m1, 0
    st64 $a0:1, $m1, 3
    st32 $a0, $m1, $m2
    ldz16 $m0, $m1, 4095
    ld32step $m0, $m1+=, -128
