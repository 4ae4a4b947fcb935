.macro COUNT n
    .if \n
        .int \n
        COUNT \n - 1
    .endif
.endm
    COUNT 3
