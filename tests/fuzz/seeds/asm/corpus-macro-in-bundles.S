// a half of a bundle may be a macro, also the last one before the brace
.macro FM r
    f32add \r, \r, \r
.endm
.macro LM r
    ld32 \r, $m0, 0
.endm
.macro NOTHING
.endm
    .worker
    {nop; FM $a0}
    {
        LM $a1
        FM $a0
    }
    {LM $a1
     FM $a0 }
    {LM $a1; FM $a0}
    {NOTHING
     LM $a1; FM $a0; NOTHING}
    {.if 1
     nop
     .endif
     fnop}
.macro LEAVES n
    f32mul $a\n, $a\n, $a\n
    .if \n
    .exitm
    .endif
    no instruction
.endm
    {LM $a1; LEAVES 3}
    LM $m1 ; nop
after: LM $m1
