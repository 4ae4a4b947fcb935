.section
.section .x, "ax", progbits
.popsection
.section .data, "ax"
.bss
    .int 0
    .int 1
