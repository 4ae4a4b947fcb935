// the wrong order is put right
    .allow_optimizations
    .worker
    {fnop; nop}
    {f32add $a0, $a1, $a2
     add $m0, $m0, 1}
    {nop; fnop}
