.macro FOREVER
    FOREVER
.endm
    FOREVER
