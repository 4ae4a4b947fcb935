    .text
    nop
    .pushsection .rodata
    .int 1
    .pushsection .data, "aw"
    .int 2
    .popsection
    .int 3
    .popsection
    nop
    .section .data
    .int 4
    .previous
    nop
    .previous
    .int 5
