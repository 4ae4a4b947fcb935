// float lateral: every form, registers and immediates at their ends
    .worker
target:
1:
    f32class     $a0, $a1
    f32class     $a7, $a0
    f32class     $a1, $a3
    f32v2class   $a0, $a2:3
    f32v2class   $a1, $a6:7
    f32v2class   $a5, $a6:7
    f16v2class   $a0, $a1
    f16v2class   $a2, $a3
    f16v2class   $a6, $a7
    f16v4class   $a0, $a2:3
    f16v4class   $a6, $a6:7
    f16v4class   $a5, $a0:1
    f16v2maxc    $a0, $a1
    f16v2maxc    $a2, $a5
    f16v2maxc    $a5, $a5
    f16v4maxc    $a0, $a2:3
    f16v4maxc    $a1, $a4:5
    f16v4maxc    $a2, $a0:1
    f16v2sum     $a0, $a1
    f16v2sum     $a4, $a5
    f16v2sum     $a6, $a2
    f16v4sum     $a0:1, $a2:3
    f16v4sum     $a4:5, $a2:3
    f16v4sum     $a2:3, $a6:7
