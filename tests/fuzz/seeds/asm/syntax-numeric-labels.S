1:  nop
    bri 1b
    bri 1f
1:  bri 1b
    .int 1b - 1f
1:
