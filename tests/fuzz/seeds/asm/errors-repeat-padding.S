.worker
    nop
    rpt 5, 1
    {nop; fnop}
    .space 8
    {nop; fnop}
