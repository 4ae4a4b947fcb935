// accumulators in bundles
    .worker
target:
1:
    {nop
     f32mac $a3, $a1}
    {nop
     f32v2mac $a4:5, $a6:7}
    {nop
     f16v2cmac $a5, $a7}
    {nop
     f16v4cmac $a4:5, $a0:1}
    {nop
     f16v4acc $a0:1}
    {nop
     f16v4absacc $a6:7}
    {nop
     f16v8acc $a0:3}
    {nop
     f16v8absacc $a4:7}
    {nop
     f16v8sqacc $a0:3}
    {nop
     f32v4acc $a4:7}
    {nop
     f32v4absacc $a4:7}
    {nop
     f32v4sqacc $a0:3}
    {nop
     f32v2aop $a0:1, $a4:5, 0xae}
