.macro what
    setzi $m0, 1
.endm
    what
.purgem what
.macro what
    setzi $m0, 2
.endm
    what
.purgem what
