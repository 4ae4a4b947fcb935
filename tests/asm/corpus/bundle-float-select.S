// float select in bundles
    .worker
target:
1:
    {nop
     f32absadd $a0, $a2, $a6}
    {nop
     f32v2absadd $a2:3, $a4:5, $a2:3}
    {nop
     f16v2absadd $a6, $a0, $a4}
    {nop
     f16v4absadd $a2:3, $a2:3, $a6:7}
    {nop
     f32max $a4, $a6, $a5}
    {nop
     f32v2max $a0:1, $a0:1, $a4:5}
    {nop
     f16v2max $a0, $a0, $a3}
    {nop
     f16v4max $a0:1, $a0:1, $a4:5}
    {nop
     f32min $a3, $a5, $a1}
    {nop
     f32v2min $a6:7, $a6:7, $a2:3}
    {nop
     f16v2min $a4, $a1, $a5}
    {nop
     f16v4min $a6:7, $a6:7, $a4:5}
    {nop
     f32absmax $a7, $a0, $a3}
    {nop
     f32v2absmax $a6:7, $a2:3, $a6:7}
    {nop
     f16v2absmax $a3, $a0, $a4}
    {nop
     f16v4absmax $a2:3, $a2:3, $a2:3}
    {nop
     f32clamp $a4, $a3, $a0:1}
    {nop
     f32v2clamp $a2:3, $a4:5, $a4:5}
    {nop
     f16v2clamp $a6, $a1, $a3}
    {nop
     f16v4clamp $a4:5, $a2:3, $a2}
