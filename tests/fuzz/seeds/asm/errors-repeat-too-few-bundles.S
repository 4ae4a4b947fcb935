.worker
    nop
    rpt 5, 2
    {nop; fnop}
    {nop; fnop}
