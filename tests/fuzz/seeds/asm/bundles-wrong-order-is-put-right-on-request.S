.worker
.allow_optimizations
    {fnop; nop}
