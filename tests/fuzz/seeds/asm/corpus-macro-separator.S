.macro op kind, type, n
    \type\()v\n\()\kind $a0:1, $a2:3, $a4:5
label_\kind\()_\n:
.endm
    .worker
    op add, f16, 4
    op mul, f32, 2
