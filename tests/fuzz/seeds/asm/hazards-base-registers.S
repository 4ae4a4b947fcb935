    .worker
    ld32 $m0, $mvertex_base, $mzero, 0
    add $mvertex_base, $m0, 4
    .supervisor
    ld32 $m0, $mvertex_base, $mzero, 0
    add $m0, $mworker_base, 4
    .allow_invalid_operands
    add $m0, $mworker_base, 4
