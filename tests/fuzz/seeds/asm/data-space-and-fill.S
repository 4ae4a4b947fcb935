.data
    .space 3
    .skip 2, 0xFF
    .zero 1
    .fill 2, 2, 0x1234
    .fill 3
