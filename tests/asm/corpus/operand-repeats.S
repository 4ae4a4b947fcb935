    .worker
    .align 8
    {rpt $m0, 1; fnop}
    {nop; fnop}
    {nop; fnop}
    nop
    rpt 4095, (2f - 1f) / 8 - 1
1:
    {ld64step $a0:1, $mzero, $m1+=, 1; fnop}
    {nop; f32v2add $a2:3, $a0:1, $a2:3}
2:
    nop
    rpt $mzero, 0
    {nop; fnop}
