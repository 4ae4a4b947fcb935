.if
.endif
.ifc a
.endif
.ifdef
.endif
.ifeqs "a"
.endif
.ifeq 1 2
.endif
