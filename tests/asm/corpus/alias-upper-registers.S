    .worker
    put $FP_NFMT, $a0
    put 9, $a0
    uput $FP_NFMT, $a0
    uput 0x109, $a0
    get $a0, $FP_SCL
    uget $a0, 10
