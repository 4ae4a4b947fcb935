// a row of timed instructions
    .supervisor
    .align 8
row:
    delay 22
    delaypic 51, 0, 0x18000
    delayxpic 112, 0, 1024
    send 27, 0x14048, 1
    sendoff 64, 0, 3
    sendpic 7, 0, 1600
    nop
    .align 8
    sendpicp 42, 0x14021, 1, 0, 0, 1600, 0x15000
    put 0xA4, $mzero
    br $lr
