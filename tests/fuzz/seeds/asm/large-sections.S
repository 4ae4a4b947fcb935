.macro S
.section s\@
.space 4000000
.endm
.rept 60000
S
.endr
