.worker
    {nop
x:   fnop}
