    .set address, 0x4C120
    .int address@abs19@s2
    .int address@s4
    .int address@abs8
    .int function@abs19@s2
function:
    nop
