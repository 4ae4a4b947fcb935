    .worker
    mov $m0, $m1
    mov $m0, $mzero
    mov $a0, $a1
    mov $a0:1, $a2:3
    mov $m2, $a3
    {mov $m0, $m1; mov $a0:1, $azeros}
