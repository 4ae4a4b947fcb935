    .allow_invalid_repeat
    .worker
    nop
    rpt 3, 0
    nop
    .error_on_invalid_repeat
