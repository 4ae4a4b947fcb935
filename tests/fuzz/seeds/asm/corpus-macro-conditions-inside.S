.macro type_of t
    .ifc \t, half
    setzi $m0, 2
    .else
    .ifc \t, float
    setzi $m0, 4
    .else
    .ifc \t, quarter
    setzi $m0, 1
    .else
    .error "unknown type"
    .endif
    .endif
    .endif
.endm
    type_of half
    type_of float
    type_of quarter
