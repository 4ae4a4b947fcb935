.globl start, outside
.global start
.extern other
.type start, @function
.type table, %object
start:
    call $m10, outside
    call $m10, other + 4
    setzi $m0, table
    or $m0, $m0, table
table:
    .int start, start + 4, outside - 4, later - start
    .half later - start
later:
.size start, table - start
.size table, 8
local_constant = 7
.globl shown
shown = 9
