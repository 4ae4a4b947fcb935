    .global exported
    .globl also, third
    .extern elsewhere
    .type exported, @function
    .type table, @object
    .type third, %function
    .local inner
    .hidden also
exported:
    call $m10, elsewhere
inner:
also:
    nop
third:
    br $lr
    .size exported, . - exported
    .size third, 4
    .data
table:
    .int exported, elsewhere + 8
    .size table, . - table
