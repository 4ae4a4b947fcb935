// accumulators: every form, registers and immediates at their ends
    .worker
target:
1:
    f32mac       $a0, $a1
    f32mac       $a5, $a2
    f32mac       $a6, $a0
    f32v2mac     $a0:1, $a2:3
    f32v2mac     $a0:1, $a0:1
    f32v2mac     $a4:5, $a0:1
    f16v2cmac    $a0, $a1
    f16v2cmac    $a3, $a0
    f16v2cmac    $a1, $a6
    f16v4cmac    $a0:1, $a2:3
    f16v4cmac    $a6:7, $a0:1
    f16v4cmac    $a2:3, $a0:1
    f16v4acc     $a0:1
    f16v4acc     $a6:7
    f16v4acc     $a0:1
    f16v4absacc  $a0:1
    f16v4absacc  $a0:1
    f16v4absacc  $a2:3
    f16v8acc     $a0:3
    f16v8acc     $a4:7
    f16v8acc     $a0:3
    f16v8absacc  $a0:3
    f16v8absacc  $a0:3
    f16v8absacc  $a0:3
    f16v8sqacc   $a4:7
    f16v8sqacc   $a4:7
    f16v8sqacc   $a0:3
    f32v4acc     $a0:3
    f32v4acc     $a4:7
    f32v4acc     $a0:3
    f32v4absacc  $a0:3
    f32v4absacc  $a0:3
    f32v4absacc  $a4:7
    f32v4sqacc   $a0:3
    f32v4sqacc   $a0:3
    f32v4sqacc   $a0:3
    f32v2aop     $a0:1, $a2:3, (1 << 7) - 1
    f32v2aop     $a6:7, $a4:5, (1 << 7) - 1
    f32v2aop     $a4:5, $a4:5, 255
