    .WORKER
    .ALIGN 8
    ADD $m0, $m1, $m2
    Nop
    .Set X, 3
    SETZI $m0, X
    {LD64STEP $a0:1, $mzero, $m1+=, 1; F32V2ADD $a2:3, $a0:1, $a2:3}
