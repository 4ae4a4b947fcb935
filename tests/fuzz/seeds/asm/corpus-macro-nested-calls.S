.macro one r
    add \r, \r, 1
.endm
.macro two r
    one \r
    one \r
.endm
.macro four r
    two \r
    two \r
.endm
    four $m0
