// exit and repeat: every form, registers and immediates at their ends
    .worker
target:
1:
    exitz        $m0
    exitz        $m10
    exitz        $sp
    exitnz       $m0
    exitnz       $fp
    exitnz       $fp
    exitneg      $m0
    exitneg      $sp
    exitneg      $bp
    exitpos      $m0
    exitpos      $lr
    exitpos      $bp
    .align 8
    nop
    rpt $m0, 0
    {nop; fnop}
    .align 8
    nop
    rpt $mzero, 0
    {nop; fnop}
    .align 8
    nop
    rpt $sp, 0
    {nop; fnop}
    .align 8
    nop
    rpt.u12 0x518, 0
    {nop; fnop}
    .align 8
    nop
    rpt.u12 4095, 0
    {nop; fnop}
    .align 8
    nop
    rpt.u12 0, 0
    {nop; fnop}
