.macro LOOP n
    setzi $m0, \n
.Lloop\@:
    brnzdec $m0, .Lloop\@
.endm
    LOOP 3
    LOOP 4
.macro NAMED base, suffix
\base\()_\suffix: nop
x\()y: nop
.endm
    NAMED foo, bar
