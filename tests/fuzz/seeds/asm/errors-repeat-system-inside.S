.worker
    nop
    rpt 5, 1
    {nop; fnop}
    {nop; uput $FP_CLR, $a0}
