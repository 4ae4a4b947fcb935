    setzi $m0, 0x100000
    setzi $m0, -1
    add $m0, $m1, 65536
    add $m0, $m1, -32769
    sub $m0, $m1, 40000
    and $m0, $m1, 4096
    and $m0, $m1, -1
    or $m0, $m1, 0x80000
    mul $m0, $m1, 32768
    ld32 $m0, $m1, 4096
    ld32step $m0, $m1, $m2+=, 128
    brz $m0, 2
    brz $m0, 0x200000
    trap 16
    ld128putcs 3
    ld64putcs 64
    rpt $m0, 256
    rpt 4096, 1
    ldconst $m0, 0x100000000
    delay 524288
