// exchange: every form, registers and immediates at their ends
    .supervisor
target:
1:
    delay        524287
    delay        0x150db
    delay        0
    sans         524287
    sans         0
    sans         524287
    delaypic     (1 << 6) - 1, 1, 0
    delaypic     0x59, 0x0, (1 << 17) - 1
    delaypic     0x24, 1, 262143
    delayxpic    0xa35, 1, (1 << 12) - 1
    delayxpic    0x528, (1 << 0) - 1, 0xacc
    delayxpic    0, (1 << 0) - 1, 0x6b1
    send         0x32, (1 << 17) - 1, 7
    send         0x2e, (1 << 17) - 1, 7
    send         0x6, 0x2077a, 0
    sendoff      4095, 0x263, (1 << 2) - 1
    sendoff      0, (1 << 10) - 1, 0
    sendoff      0, 0xa, 0
    sendpic      63, 0x3, 262143
    sendpic      (1 << 5) - 1, 3, 262143
    sendpic      (1 << 5) - 1, 0, 0x12854
    .align 8
    sendpicp     0x33, 0, (1 << 2) - 1, 1, 0, 0, (1 << 17) - 1
    .align 8
    sendpicp     63, 0, 0, 1, 1, 8191, 0
    .align 8
    sendpicp     0, 0, (1 << 2) - 1, 0, 1, 0, 262143
