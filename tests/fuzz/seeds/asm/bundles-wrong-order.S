.worker
    {fnop; nop}
