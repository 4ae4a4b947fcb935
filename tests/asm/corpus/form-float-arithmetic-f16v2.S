// float arithmetic f16v2: every form, registers and immediates at their ends
    .worker
target:
1:
    f16v2add     $a0, $a1, $a2
    f16v2add     $a3, $a4, $a3
    f16v2add     $a6, $a1, $a2
    f16v2add     $a0, $a2:BL, $a2
    f16v2add     $a0, $a0:BL, $a1
    f16v2add     $a1, $a2:BL, $a5
    f16v2add     $a0, $a2:BU, $a2
    f16v2add     $a0, $a0:BU, $a0
    f16v2add     $a2, $a0:BU, $a1
    f16v2sub     $a0, $a1, $a2
    f16v2sub     $a0, $a1, $a5
    f16v2sub     $a3, $a1, $a6
    f16v2sub     $a0, $a1:BL, $a2
    f16v2sub     $a3, $a3:BL, $a3
    f16v2sub     $a1, $a0:BL, $a0
    f16v2sub     $a0, $a1:BU, $a2
    f16v2sub     $a4, $a7:BU, $a1
    f16v2sub     $a2, $a1:BU, $a3
    f16v2mul     $a0, $a1, $a2
    f16v2mul     $a4, $a5, $a5
    f16v2mul     $a6, $a4, $a0
    f16v2mul     $a0, $a5:BL, $a2
    f16v2mul     $a4, $a4:BL, $a0
    f16v2mul     $a5, $a5:BL, $a7
    f16v2mul     $a0, $a4:BU, $a2
    f16v2mul     $a0, $a6:BU, $a0
    f16v2mul     $a6, $a1:BU, $a5
