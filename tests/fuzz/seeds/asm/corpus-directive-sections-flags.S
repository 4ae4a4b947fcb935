// flags that mean nothing here are read over
    .section .rodata.strings, "aMS", @progbits, 1
    .asciz "one"
    .section .text.group, "axG", @progbits, group, comdat
    nop
    .section .text.hot, "ax", %progbits
    nop
