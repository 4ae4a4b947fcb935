    .worker
    f32v2add $a0:1, $a2:B, $a4:5
    f16v2mul $a0, $a2:BL, $a4
    f16v2mul $a0, $a2:BU, $a4
    f16v4sub $a0:1, $a2:BL, $a4:5
    f16v4cmplt $a0:1, $a2:BU, $a4:5
    sort4x16lo $a0, $a1:BU, $a2
    sort4x16hi $a0, $a1:BL, $a2
