.worker
    {fnop; fnop}
