.set A, 2
.if A == 2
    .int 1
.else
    .error "1"
.endif
.ifeq A - 2
    .int 2
.endif
.ifne A
    .int 3
.endif
.ifgt A
    .int 4
.endif
.ifge A - 2
    .int 5
.endif
.iflt -A
    .int 6
.endif
.ifle A - 2
    .int 7
.endif
.ifdef A
    .int 8
.endif
.ifndef B
    .int 9
.endif
.ifnotdef B
    .int 10
.endif
.ifc abc, abc
    .int 11
.endif
.ifnc abc, abd
    .int 12
.endif
.ifeqs "a b", "a b"
    .int 13
.endif
.ifnes "a", "b"
    .int 14
.endif
.ifb
    .int 15
.endif
.ifnb x
    .int 16
.endif
