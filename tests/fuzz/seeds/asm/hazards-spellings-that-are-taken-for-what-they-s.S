    .worker
    add $m0, $m0, 0xFFFFFFFC
    {ldconst $m0, 0x3F800000; fnop}
    cmpslt $m0, $m1, 0xFFFF8000
    add $m0, $m0, 0xFFFF7FFF
    DEF_STACK_USAGE 0 function
    DEF_STACK_SIZE_OWN (8 * 2), function
