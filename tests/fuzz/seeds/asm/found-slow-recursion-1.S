.macro COUNT n
    .if \n
        .int \n
        COUNT \n - 0
    .endif
.endm
    COUNT 3
