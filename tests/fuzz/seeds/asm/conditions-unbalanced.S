.else
.endif
.elseif 1
.if 1
.else
.else
.elseif 1
.endif
.if 1
