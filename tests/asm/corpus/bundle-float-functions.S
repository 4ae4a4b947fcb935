// float functions in bundles
    .worker
target:
1:
    {nop
     f16v2exp $a5, $a0}
    {nop
     f32exp $a7, $a6}
    {nop
     f16v2exp2 $a7, $a4}
    {nop
     f32exp2 $a2, $a4}
    {nop
     f16v2ln $a2, $a6}
    {nop
     f32ln $a6, $a3}
    {nop
     f16v2log2 $a1, $a5}
    {nop
     f32log2 $a5, $a3}
    {nop
     f16v2tanh $a5, $a3}
    {nop
     f32tanh $a6, $a0}
    {nop
     f16v2sigm $a0, $a0}
    {nop
     f32sigm $a4, $a7}
    {nop
     f32div $a4, $a4, $a6}
    {nop
     f32sqrt $a6, $a6}
    {nop
     f32oox $a7, $a5}
    {nop
     f32oorx $a0, $a5}
