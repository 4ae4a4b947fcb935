.macro tree depth, r
    .if \depth > 0
    tree (\depth - 1), \r
    add \r, \r, \depth
    tree (\depth - 1), \r
    .endif
.endm
    tree 3, $m0
