    .allow_invalid_operands
    .worker
    ld2x64pace $a0:1, $a0:1, $m2:3+=, $m4, 0
    get $m0, 99
    .error_on_invalid_operands
