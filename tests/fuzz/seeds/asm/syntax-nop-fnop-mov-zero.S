.worker
    nop
    fnop
    mov $m0, $m1
    mov $m0, $a1
    mov $a0, $a1
    mov $a0:1, $a2:3
    zero $m3
    zero $a3
    zero $a2:3
