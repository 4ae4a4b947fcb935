    .supervisor
    runall $m0, $m1, 0
    add $m1, $m1, 4
    put $FP_ISCL, $m1
    ld64putcs 0
    ld128putcs 2
    runall $m0, $m1, 0
    sync 2
    put $FP_ISCL, $m1
    runall $m0, $m1, 0
    sync TEXCH_SYNCZONE_LOCAL
    run $m0, $m1, 0
    put $FP_ICTL, $m1
elsewhere:
    put $FP_ICTL, $m1
    .set TEXCH_SYNCZONE_LOCAL, 2
