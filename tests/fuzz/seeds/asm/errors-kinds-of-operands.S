    add $m0, $m1
    add $m0, $m1, $a2
    add $m0, 1, 2
    f16v4add $a0:1, $a2, $a4:5
    ld64step $a0:1, $mzero, $m0, 1
    ld64step $a0:1, $mzero, $m0++, 1
    ld32 $m0, $m1+=, 1
    st32 $m0, $m1, $m2, $m3
    f32add $a0, $a1:B, $a2
    f16v4add $a0:1, $a2:B, $a4:5
    nop 1
    mov $m0, 5
    zero 5
    ldconst 5, 5
    cmpeqz $m0, $m1, $m2
    add $m0, $m1, $m2, $m3, $m4, $m5, $m6, $m7
    add $m0, $m1,
    add $m0 $m1
    br
