    .warning "old interface"
    .warning
    nop
