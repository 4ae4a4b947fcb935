// float convert: every form, registers and immediates at their ends
    .worker
target:
1:
    f32int       $a0, $a1, (1 << 2) - 1
    f32int       $a7, $a4, 0
    f32int       $a1, $a6, 7
    f32toi32     $a0, $a1
    f32toi32     $a3, $a2
    f32toi32     $a7, $a6
    f32toui32    $a0, $a1
    f32toui32    $a2, $a0
    f32toui32    $a6, $a6
    f32fromi32   $a0, $a1
    f32fromi32   $a0, $a6
    f32fromi32   $a0, $a5
    f32fromui32  $a0, $a1
    f32fromui32  $a5, $a6
    f32fromui32  $a3, $a5
    f16v2tof32   $a0:1, $a1
    f16v2tof32   $a6:7, $a5
    f16v2tof32   $a6:7, $a0
    f32tof16     $a0, $a1
    f32tof16     $a5, $a2
    f32tof16     $a5, $a3
    f32v2tof16   $a0, $a2:3
    f32v2tof16   $a6, $a0:1
    f32v2tof16   $a5, $a0:1
    f32v4tof16   $a0:1, $a0:3
    f32v4tof16   $a0:1, $a4:7
    f32v4tof16   $a6:7, $a0:3
    f16v8tof8    $a0:1, $a0:3
    f16v8tof8    $a2:3, $a0:3
    f16v8tof8    $a6:7, $a4:7
    f16v2tof8    $a0, $a1
    f16v2tof8    $a7, $a0
    f16v2tof8    $a0, $a0
    f8v4tof16    $a0:1, $a1
    f8v4tof16    $a4:5, $a4
    f8v4tof16    $a0:1, $a1
    f8v2tof16    $a0, $a1
    f8v2tof16    $a4, $a1
    f8v2tof16    $a0, $a6
