// float random in bundles
    .worker
target:
1:
    {nop
     urand32 $a6}
    {nop
     urand64 $a0:1}
    {nop
     f32sufromui $a7, $a0}
    {nop
     f32v2sufromui $a2:3, $a2:3}
    {nop
     f16v2sufromui $a3, $a0}
    {nop
     f16v4sufromui $a2:3, $a2:3}
    {nop
     f16v2grand $a5}
    {nop
     f32v2grand $a0:1}
    {nop
     f32v2rmask $a6:7, $a4:5, $a6}
    {nop
     f16v4rmask $a4:5, $a6:7, $a1}
