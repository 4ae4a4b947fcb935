    .allow_invalid_execution_mode
    .supervisor
    f32add $a0, $a1, $a2
    {nop; fnop}
    .worker
    sync 2
    .error_on_invalid_execution_mode
    nop
