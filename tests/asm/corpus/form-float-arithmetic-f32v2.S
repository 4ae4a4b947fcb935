// float arithmetic f32v2: every form, registers and immediates at their ends
    .worker
target:
1:
    f32v2add     $a0:1, $a2:3, $a4:5
    f32v2add     $a6:7, $a2:3, $a6:7
    f32v2add     $a0:1, $a4:5, $a4:5
    f32v2add     $a0:1, $a6:B, $a4:5
    f32v2add     $a6:7, $a3:B, $a2:3
    f32v2add     $a6:7, $a1:B, $a4:5
    f32v2sub     $a0:1, $a2:3, $a4:5
    f32v2sub     $a0:1, $a4:5, $a4:5
    f32v2sub     $a6:7, $a6:7, $a0:1
    f32v2sub     $a0:1, $a0:B, $a4:5
    f32v2sub     $a0:1, $a6:B, $a6:7
    f32v2sub     $a4:5, $a4:B, $a0:1
    f32v2mul     $a0:1, $a2:3, $a4:5
    f32v2mul     $a2:3, $a4:5, $a6:7
    f32v2mul     $a2:3, $a6:7, $a6:7
    f32v2mul     $a0:1, $a3:B, $a4:5
    f32v2mul     $a2:3, $a2:B, $a0:1
    f32v2mul     $a2:3, $a7:B, $a2:3
