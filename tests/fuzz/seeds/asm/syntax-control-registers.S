.worker
    get $m0, $WSR
    put 1, $m0
    uput $FP_CLR, $a0
    uput 1, $a0
    put 9, $a0
    put $FP_NFMT, $a0
    get $a0, $FP_SCL
    uget $a1, 0x10A
    setzi $m0, $FP_CLR
.supervisor
    put $FP_ICTL, $m0
    put 0xA7, $m1
    get $m0, $SCOUNT_L
    ld64putcs $CWEI_10_1
    ld64putcs 41
    ld128putcs 62
