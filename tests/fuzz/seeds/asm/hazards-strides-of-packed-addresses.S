    .worker
    ldconst $m4, 0x3FF805
    ld2x64pace $a0:1, $a2:3, $m2:3+=, $m4, 0b0110
    ldconst $m4, 0x40000000
    ld2x64pace $a0:1, $a2:3, $m2:3+=, $m4, 0b0110
    ldconst $m4, 0x80000000
    {st64pace $a0:1, $m2:3+=, $m4, 1; fnop}
    ldconst $m4, -512
    ldst64pace $a0:1, $a2:3, $m2:3+=, $m4, 0
