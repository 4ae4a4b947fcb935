    ADD $m0, $m1, $m2
    .WORKER
    { NOP ; FNOP }
