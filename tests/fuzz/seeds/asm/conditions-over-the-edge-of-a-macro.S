.macro OPEN
.if 1
.endm
.macro CLOSE
.endif
.endm
    OPEN
.if 1
    CLOSE
.endif
