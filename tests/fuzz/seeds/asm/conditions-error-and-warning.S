.warning "take care"
.warning
.error "stop \"here\""
.error
.err
