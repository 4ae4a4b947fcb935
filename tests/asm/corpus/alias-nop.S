    .worker
    nop
    fnop
    {nop; fnop}
    setzi $m14, 0
    setzi $a13, 0
