.macro loop n
    setzi $m0, \n
.Lloop\@:
    nop
    brnzdec $m0, .Lloop\@
.endm
    loop 3
    loop 4
