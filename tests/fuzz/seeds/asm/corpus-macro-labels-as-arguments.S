.macro branch_if op, r, to
    \op \r, \to
.endm
.macro table labels:vararg
    .irp l, \labels
    .int \l
    .endr
.endm
start:
    branch_if brz, $m0, start
    branch_if brnz, $m0, 1f
    branch_if brneg $m1 .Lend
1:
.Lend:
    br $lr
    table start, .Lend
