// float compare f32 in bundles
    .worker
target:
1:
    {nop
     f32cmpeq $a7, $a2, $a7}
    {nop
     f32cmpne $a2, $a4, $a6}
    {nop
     f32cmplt $a6, $a3, $a2}
    {nop
     f32cmple $a0, $a4, $a4}
    {nop
     f32cmpgt $a5, $a2, $a4}
    {nop
     f32cmpge $a7, $a1, $a5}
