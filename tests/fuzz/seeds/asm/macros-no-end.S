.macro M
    nop
