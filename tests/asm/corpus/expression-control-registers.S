    .worker
    get $m0, $WSR
    setzi $m1, $WSR
    uput $FP_CLR, $a0
    uget $a0, $FP_STS
    uput $PRNG_SEED, $a0
    put 9, $a0
    get $a1, $FP_CTL
    .supervisor
    put $FP_ICTL, $m0
    put $CCCSLOAD, $m1
    get $m2, $SSR
    get $m2, 0x60
