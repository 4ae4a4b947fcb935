// accumulators read: every form, registers and immediates at their ends
    .worker
target:
1:
    f16v2gina    $a0, $a1, (1 << 3) - 1
    f16v2gina    $a1, $a1, (1 << 3) - 1
    f16v2gina    $a1, $a0, (1 << 3) - 1
    f32v2gina    $a0:1, $a2:3, (1 << 3) - 1
    f32v2gina    $a4:5, $a0:1, 0xe
    f32v2gina    $a2:3, $a0:1, 0
    f16v4gacc    $a0:1
    f16v4gacc    $a2:3
    f16v4gacc    $a4:5
    f32v2axpy    $a0:1, $a2:3, $a4:5
    f32v2axpy    $a2:3, $a2:3, $a6:7
    f32v2axpy    $a6:7, $a6:7, $a0:1
    f16v4mix     $a0:1, $a2:3, $a4:5
    f16v4mix     $a2:3, $a6:7, $a6:7
    f16v4mix     $a4:5, $a2:3, $a6:7
    f16v4istacc  $a0:1, $a2:3, $a4:5, TISTACC_P1
    f16v4istacc  $a6:7, $a2:3, $a2:3, TISTACC_P0
    f16v4istacc  $a2:3, $a2:3, $a0:1, TISTACC_P1
    f16v4stacc   $a0:1, TSTACC_P0
    f16v4stacc   $a6:7, TSTACC_P0
    f16v4stacc   $a0:1, TSTACC_P1
