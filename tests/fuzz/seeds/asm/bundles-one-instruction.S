.worker
    {nop}
    {}
