.worker
.allow_invalid_repeat
    rpt 5, 0
    nop
