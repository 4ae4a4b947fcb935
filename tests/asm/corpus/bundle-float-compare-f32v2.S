// float compare f32v2 in bundles
    .worker
target:
1:
    {nop
     f32v2cmpeq $a0:1, $a4:5, $a2:3}
    {nop
     f32v2cmpeq $a4:5, $a6:B, $a0:1}
    {nop
     f32v2cmpne $a4:5, $a0:1, $a6:7}
    {nop
     f32v2cmpne $a6:7, $a0:B, $a2:3}
    {nop
     f32v2cmplt $a0:1, $a2:3, $a0:1}
    {nop
     f32v2cmplt $a2:3, $a2:B, $a2:3}
    {nop
     f32v2cmple $a0:1, $a4:5, $a4:5}
    {nop
     f32v2cmple $a0:1, $a0:B, $a0:1}
    {nop
     f32v2cmpgt $a2:3, $a4:5, $a0:1}
    {nop
     f32v2cmpgt $a6:7, $a3:B, $a6:7}
    {nop
     f32v2cmpge $a0:1, $a4:5, $a0:1}
    {nop
     f32v2cmpge $a2:3, $a0:B, $a4:5}
