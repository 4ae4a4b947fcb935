start: nop
    .int . - start
    .int .
    .size start, . - start
