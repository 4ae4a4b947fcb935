.supervisor
    nop
    sendpicp 0, 0, 0, 0, 0, 0, 0
