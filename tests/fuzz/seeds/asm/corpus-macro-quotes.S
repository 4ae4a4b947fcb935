.macro say text, flag
    .ascii "\text"
    .ifc "\flag","yes"
    .byte 1
    .endif
    .ifc \flag, no
    .byte 2
    .endif
.endm
    say "a b, c", yes
    say x "no"
