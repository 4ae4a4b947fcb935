    .worker
    setzi $m0, 0x60000
    ld128 $a0:3, $m0, $mzero, 0
    ld128step $a0:3, $mzero, $m0+=, 1
    ld128 $a0:3, $m0, $mzero, 0
    setzi $m1, 0x80000
    setzi $m2, 2
    ld128 $a0:3, $m1, $mzero, $m2
    ld128 $a0:3, $m0, $mzero, $m2
    setzi $m3, 0x7000
    shl $m3, $m3, 4
    ld128 $a0:3, $m3, $m2, $mzero
here:
    ld128 $a0:3, $m3, $mzero, 0
    .supervisor
    setzi $m0, 0x7FFF0
    put $CCCSLOAD, $m0
    ld128putcs 0
    add $m0, $m0, 16
    put $CCCSLOAD, $m0
    ld128putcs 0
