.worker
    nop
    rpt 5, 0
    {br $m0; fnop}
