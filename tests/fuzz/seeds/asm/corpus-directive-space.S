    .space 3
    .space 2, 0xAA
    .skip 4
    .zero 1
    .fill 3
    .fill 2, 4, 0x11223344
    .fill 1, 8, -1
