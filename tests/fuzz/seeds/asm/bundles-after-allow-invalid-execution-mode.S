.supervisor
.allow_invalid_execution_mode
    {nop; fnop}
.error_on_invalid_execution_mode
    fnop
