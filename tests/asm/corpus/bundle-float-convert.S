// float convert in bundles
    .worker
target:
1:
    {nop
     f32int $a3, $a0, 0}
    {nop
     f32toi32 $a4, $a5}
    {nop
     f32toui32 $a2, $a1}
    {nop
     f32fromi32 $a0, $a4}
    {nop
     f32fromui32 $a1, $a7}
    {nop
     f16v2tof32 $a2:3, $a7}
    {nop
     f32tof16 $a1, $a2}
    {nop
     f32v2tof16 $a4, $a6:7}
    {nop
     f32v4tof16 $a4:5, $a4:7}
    {nop
     f16v8tof8 $a2:3, $a0:3}
    {nop
     f16v2tof8 $a4, $a7}
    {nop
     f8v4tof16 $a2:3, $a6}
    {nop
     f8v2tof16 $a3, $a5}
