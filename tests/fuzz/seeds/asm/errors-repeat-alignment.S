.worker
    rpt $m0, 0
    {nop; fnop}
