// float random: every form, registers and immediates at their ends
    .worker
target:
1:
    urand32      $a0
    urand32      $a2
    urand32      $a7
    urand64      $a0:1
    urand64      $a4:5
    urand64      $a2:3
    f32sufromui  $a0, $a1
    f32sufromui  $a3, $a6
    f32sufromui  $a1, $a2
    f32v2sufromui $a0:1, $a2:3
    f32v2sufromui $a2:3, $a0:1
    f32v2sufromui $a0:1, $a0:1
    f16v2sufromui $a0, $a1
    f16v2sufromui $a1, $a2
    f16v2sufromui $a7, $a7
    f16v4sufromui $a0:1, $a2:3
    f16v4sufromui $a6:7, $a0:1
    f16v4sufromui $a0:1, $a4:5
    f16v2grand   $a0
    f16v2grand   $a2
    f16v2grand   $a3
    f32v2grand   $a0:1
    f32v2grand   $a4:5
    f32v2grand   $a4:5
    f32v2rmask   $a0:1, $a2:3, $a2
    f32v2rmask   $a2:3, $a0:1, $a4
    f32v2rmask   $a0:1, $a0:1, $a5
    f16v4rmask   $a0:1, $a2:3, $a2
    f16v4rmask   $a2:3, $a6:7, $a6
    f16v4rmask   $a0:1, $a0:1, $a3
