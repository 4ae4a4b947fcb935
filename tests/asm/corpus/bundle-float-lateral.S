// float lateral in bundles
    .worker
target:
1:
    {nop
     f32class $a2, $a0}
    {nop
     f32v2class $a1, $a4:5}
    {nop
     f16v2class $a0, $a6}
    {nop
     f16v4class $a0, $a0:1}
    {nop
     f16v2maxc $a4, $a0}
    {nop
     f16v4maxc $a4, $a6:7}
    {nop
     f16v2sum $a1, $a0}
    {nop
     f16v4sum $a0:1, $a2:3}
