// float arithmetic f32 in bundles
    .worker
target:
1:
    {nop
     f32add $a7, $a1, $a0}
    {nop
     f32sub $a4, $a3, $a2}
    {nop
     f32mul $a3, $a5, $a1}
