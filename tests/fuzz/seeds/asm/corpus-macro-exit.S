.macro maybe n
    setzi $m0, \n
    .if \n < 2
    .exitm
    .endif
    setzi $m1, \n
.endm
    maybe 1
    maybe 2
