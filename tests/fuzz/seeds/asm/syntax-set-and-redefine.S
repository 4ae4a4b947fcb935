    .set A, 5
    .equ B, A + 1
    C = B * 2
    .set A, 100
    .int A, B, C, DEFINED
    .set LATE, END - START
START: nop
    nop
END:
    .int LATE, END - START
