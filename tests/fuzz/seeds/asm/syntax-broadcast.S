.worker
    f32v2mul $a0:1, $a2:B, $a4:5
    f16v4sub $a0:1, $a2:BL, $a4:5
    f16v2cmplt $a0, $a2:BU, $a4
    sort4x16lo $a0, $a2:BU, $a4
