// bit fields by macros, as headers define them
.macro FIELD name, low, width
    .set \name\()__SHIFT, \low
    .set \name\()__MASK, (1 << \width) - 1
.endm
.macro EXTRACT d, s, name
    shr \d, \s, \name\()__SHIFT
    and \d, \d, \name\()__MASK
.endm
    FIELD LENGTH, 0, 11
    FIELD STRIDE, 11, 10
    FIELD KIND, 21, 3
    EXTRACT $m1, $m0, LENGTH
    EXTRACT $m2, $m0, STRIDE
    EXTRACT $m3, $m0, KIND
    .if LENGTH__MASK != 2047 || STRIDE__SHIFT + 10 != KIND__SHIFT
    .error "fields overlap"
    .endif
