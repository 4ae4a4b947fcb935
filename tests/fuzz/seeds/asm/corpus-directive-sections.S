    .text
    nop
    .data
    .int 1
    .rodata
    .int 2
    .bss
    .space 16
    .section .text.hot, "ax", @progbits
    nop
    .section .rodata.names, "a"
    .string "x"
    .section .data.table,"aw",@progbits
    .int 3
    .section .bss.scratch, "aw", @nobits
    .skip 8
    .section ".text.quoted", "ax"
    nop
    .section .comment
    .asciz "not loaded"
