.worker
    nop
    rpt $m0, 1
    {nop; fnop}
    nop
    nop
