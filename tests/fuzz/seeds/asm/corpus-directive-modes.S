    nop
    .worker
    f32add $a0, $a1, $a2
    exitz $mzero
    .supervisor
    sync 2
    br $lr
    .worker
    {nop; fnop}
