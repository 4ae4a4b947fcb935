    nop
.data
    .int 1
.bss
    .space 8
.rodata
    .int 2
.section .text.two, "ax", @progbits
    nop
.section .mine, "a"
    .int 3
.section .mine.bss, "aw", @nobits
    .space 4
.section .comment, "", @progbits
    .ascii "not loaded"
.pushsection .data
    .int 4
.popsection
.previous
    .int 5
.text
    nop
.section .text.two, "ax"
    nop
