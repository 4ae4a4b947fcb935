.worker
    {rpt $m0, 0; fnop}
    {nop; fnop}
