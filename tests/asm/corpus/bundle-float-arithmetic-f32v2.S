// float arithmetic f32v2 in bundles
    .worker
target:
1:
    {nop
     f32v2add $a2:3, $a4:5, $a6:7}
    {nop
     f32v2add $a6:7, $a4:B, $a2:3}
    {nop
     f32v2sub $a6:7, $a4:5, $a2:3}
    {nop
     f32v2sub $a4:5, $a6:B, $a4:5}
    {nop
     f32v2mul $a6:7, $a2:3, $a6:7}
    {nop
     f32v2mul $a0:1, $a4:B, $a4:5}
