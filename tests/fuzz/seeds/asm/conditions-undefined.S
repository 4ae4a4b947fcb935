.if later
.endif
.ifdef later
    .error "not yet"
.endif
later:
.ifdef later
    .int 1
.endif
.if later
.endif
.if . - later == 4
    .int 2
.endif
