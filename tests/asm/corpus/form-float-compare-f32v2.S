// float compare f32v2: every form, registers and immediates at their ends
    .worker
target:
1:
    f32v2cmpeq   $a0:1, $a2:3, $a4:5
    f32v2cmpeq   $a6:7, $a6:7, $a0:1
    f32v2cmpeq   $a2:3, $a0:1, $a2:3
    f32v2cmpeq   $a0:1, $a7:B, $a4:5
    f32v2cmpeq   $a4:5, $a1:B, $a4:5
    f32v2cmpeq   $a2:3, $a5:B, $a6:7
    f32v2cmpne   $a0:1, $a2:3, $a4:5
    f32v2cmpne   $a4:5, $a2:3, $a2:3
    f32v2cmpne   $a0:1, $a6:7, $a4:5
    f32v2cmpne   $a0:1, $a6:B, $a4:5
    f32v2cmpne   $a2:3, $a0:B, $a4:5
    f32v2cmpne   $a2:3, $a0:B, $a6:7
    f32v2cmplt   $a0:1, $a2:3, $a4:5
    f32v2cmplt   $a4:5, $a2:3, $a6:7
    f32v2cmplt   $a0:1, $a4:5, $a2:3
    f32v2cmplt   $a0:1, $a5:B, $a4:5
    f32v2cmplt   $a6:7, $a0:B, $a6:7
    f32v2cmplt   $a2:3, $a4:B, $a2:3
    f32v2cmple   $a0:1, $a2:3, $a4:5
    f32v2cmple   $a2:3, $a2:3, $a2:3
    f32v2cmple   $a2:3, $a2:3, $a0:1
    f32v2cmple   $a0:1, $a1:B, $a4:5
    f32v2cmple   $a6:7, $a4:B, $a2:3
    f32v2cmple   $a2:3, $a2:B, $a2:3
    f32v2cmpgt   $a0:1, $a2:3, $a4:5
    f32v2cmpgt   $a4:5, $a2:3, $a0:1
    f32v2cmpgt   $a0:1, $a6:7, $a0:1
    f32v2cmpgt   $a0:1, $a5:B, $a4:5
    f32v2cmpgt   $a4:5, $a4:B, $a6:7
    f32v2cmpgt   $a0:1, $a0:B, $a6:7
    f32v2cmpge   $a0:1, $a2:3, $a4:5
    f32v2cmpge   $a6:7, $a2:3, $a4:5
    f32v2cmpge   $a2:3, $a2:3, $a4:5
    f32v2cmpge   $a0:1, $a0:B, $a4:5
    f32v2cmpge   $a2:3, $a5:B, $a0:1
    f32v2cmpge   $a4:5, $a7:B, $a0:1
