    nop
    setzi $m0, .
    bri .
    bri . + 8
    nop
    .int . - start
start:
    .int .
