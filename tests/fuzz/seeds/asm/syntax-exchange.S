.supervisor
    delay 22
    delaypic 51, 0, 0x18000
    delayxpic 112, 0, 1024
    send 2, 0, 1
    sendoff 4095, 0, 2
    sendpic 7, 0, 1600
    sans 0
    sync 3
    sendpicp 51, 0, 0, 0, 0, 192, 0x14048
    sendpicp 42, 0x14021, 1, 0, 0, 1600, 0x15000
    br $m10
