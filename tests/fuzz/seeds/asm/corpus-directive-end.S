    nop
    .end
    this is not read
