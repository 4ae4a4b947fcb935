1:
    nop
    bri 1b
    bri 1f
1:
    bri 1b
2:  brz $m0, 2b
    brz $m0, 2f
    brz $m0, 1b
2:
    setzi $m0, 2b - 1b
10: bri 10b
