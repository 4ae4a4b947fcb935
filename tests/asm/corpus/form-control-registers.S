// control registers: every form, registers and immediates at their ends
    .worker
target:
1:
    get          $m0, $WSR
    get          $bp, 1
    get          $fp, $COUNT_L
    put          $REPEAT_COUNT, $m1
    put          $REPEAT_COUNT, $lr
    put          $REPEAT_COUNT, $bp
    trap         (1 << 3) - 1
    trap         0xc
    trap         (1 << 3) - 1
    uget         $a0, $FP_CTL
    uget         $a0, $FP_CLR
    uget         $a7, 9
    uput         $FP_CTL, $a1
    uput         9, $a7
    uput         $FP_CTL, $a7
