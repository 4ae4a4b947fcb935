.macro TWO a, b
    .int \a
    .int \b
.endm
    TWO "1, 2", (3 + 4) * (5 + 6)
    TWO 1 + 2, 3
.macro TEXT t
    .ascii "\t"
.endm
    TEXT "a b"
