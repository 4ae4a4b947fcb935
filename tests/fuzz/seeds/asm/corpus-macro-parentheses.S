.macro scaled o, n
    ld32 $m0, $m1, $mzero, ((\o)+((\n)-1))/(\n)
.endm
    scaled 8, 4
    scaled (8 + 4), (2 * 2)
