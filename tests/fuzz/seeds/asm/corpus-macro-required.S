.macro must value:req, other
    setzi $m0, \value
    .ifnb \other
    setzi $m1, \other
    .endif
.endm
    must 1
    must 2, 3
