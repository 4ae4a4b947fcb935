.worker
    nop
    rpt $m0, (2f - 1f) / 8 - 1
1:  .rept 257
    {nop; fnop}
    .endr
2:
