// accumulators read in bundles
    .worker
target:
1:
    {nop
     f16v2gina $a6, $a6, (1 << 3) - 1}
    {nop
     f32v2gina $a6:7, $a0:1, 0}
    {nop
     f16v4gacc $a2:3}
    {nop
     f32v2axpy $a6:7, $a2:3, $a0:1}
    {nop
     f16v4mix $a4:5, $a0:1, $a0:1}
    {nop
     f16v4istacc $a0:1, $a2:3, $a0:1, TISTACC_P0}
    {nop
     f16v4stacc $a2:3, TSTACC_P1}
