// float arithmetic f32: every form, registers and immediates at their ends
    .worker
target:
1:
    f32add       $a0, $a1, $a2
    f32add       $a6, $a5, $a4
    f32add       $a1, $a6, $a3
    f32sub       $a0, $a1, $a2
    f32sub       $a6, $a2, $a4
    f32sub       $a6, $a7, $a7
    f32mul       $a0, $a1, $a2
    f32mul       $a0, $a6, $a2
    f32mul       $a5, $a0, $a6
