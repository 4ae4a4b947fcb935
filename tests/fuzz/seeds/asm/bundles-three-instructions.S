.worker
    {nop; fnop; fnop}
