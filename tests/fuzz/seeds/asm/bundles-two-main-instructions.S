.worker
    {nop; nop}
