// float compare f32: every form, registers and immediates at their ends
    .worker
target:
1:
    f32cmpeq     $a0, $a1, $a2
    f32cmpeq     $a4, $a6, $a1
    f32cmpeq     $a5, $a7, $a6
    f32cmpne     $a0, $a1, $a2
    f32cmpne     $a2, $a7, $a3
    f32cmpne     $a2, $a0, $a7
    f32cmplt     $a0, $a1, $a2
    f32cmplt     $a3, $a0, $a2
    f32cmplt     $a3, $a1, $a5
    f32cmple     $a0, $a1, $a2
    f32cmple     $a2, $a7, $a1
    f32cmple     $a6, $a0, $a1
    f32cmpgt     $a0, $a1, $a2
    f32cmpgt     $a7, $a5, $a5
    f32cmpgt     $a3, $a7, $a1
    f32cmpge     $a0, $a1, $a2
    f32cmpge     $a5, $a2, $a5
    f32cmpge     $a3, $a0, $a2
