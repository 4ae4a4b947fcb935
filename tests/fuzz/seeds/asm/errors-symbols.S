a:  nop
a:  nop
    .set a, 5
    .set b, 5
b:  nop
    .Lx: .Lx:
