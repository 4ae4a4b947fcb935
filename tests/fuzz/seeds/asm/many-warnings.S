.rept 100000000
.warning "x"
.endr
