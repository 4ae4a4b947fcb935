.worker
    nop }
    {nop; {fnop}}
    {nop
