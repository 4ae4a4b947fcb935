// float arithmetic f16v4: every form, registers and immediates at their ends
    .worker
target:
1:
    f16v4add     $a0:1, $a2:3, $a4:5
    f16v4add     $a0:1, $a6:7, $a0:1
    f16v4add     $a4:5, $a4:5, $a0:1
    f16v4add     $a0:1, $a6:BL, $a4:5
    f16v4add     $a6:7, $a1:BL, $a6:7
    f16v4add     $a0:1, $a5:BL, $a2:3
    f16v4add     $a0:1, $a4:BU, $a4:5
    f16v4add     $a4:5, $a6:BU, $a2:3
    f16v4add     $a6:7, $a3:BU, $a6:7
    f16v4sub     $a0:1, $a2:3, $a4:5
    f16v4sub     $a2:3, $a0:1, $a4:5
    f16v4sub     $a4:5, $a2:3, $a6:7
    f16v4sub     $a0:1, $a5:BL, $a4:5
    f16v4sub     $a2:3, $a7:BL, $a6:7
    f16v4sub     $a4:5, $a3:BL, $a2:3
    f16v4sub     $a0:1, $a5:BU, $a4:5
    f16v4sub     $a6:7, $a3:BU, $a2:3
    f16v4sub     $a4:5, $a4:BU, $a2:3
    f16v4mul     $a0:1, $a2:3, $a4:5
    f16v4mul     $a2:3, $a2:3, $a4:5
    f16v4mul     $a4:5, $a2:3, $a2:3
    f16v4mul     $a0:1, $a5:BL, $a4:5
    f16v4mul     $a2:3, $a4:BL, $a0:1
    f16v4mul     $a2:3, $a1:BL, $a2:3
    f16v4mul     $a0:1, $a6:BU, $a4:5
    f16v4mul     $a2:3, $a2:BU, $a4:5
    f16v4mul     $a4:5, $a6:BU, $a4:5
