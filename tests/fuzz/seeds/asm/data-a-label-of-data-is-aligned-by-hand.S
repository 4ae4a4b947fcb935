.data
    .byte 1
    .int 2
