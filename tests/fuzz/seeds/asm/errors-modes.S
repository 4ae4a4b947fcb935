.supervisor
    fnop
    ld32 $a0, $m0, 0
    rpt $m0, 0
    exitz $m0
    get $m0, $WSR
    get $m0, 0x32
    uget $a0, $FP_CLR
    tapack $m0:1, $m2, $m3, $m4
.worker
    run $m0, $m1, 0
    runall $m0, $m1, 0
    sync 2
    ld64putcs 0
    delay 1
    put $FP_ICTL, $m0
    put $CCCSLOAD, $m0
    put 0x50, $m0
    get $m0, 0x20
    put $CWEI_1_1, $m0
    uput 0x20, $a0
.allow_invalid_operands
    put 0x50, $m0
