// float arithmetic f16v2 in bundles
    .worker
target:
1:
    {nop
     f16v2add $a7, $a0, $a3}
    {nop
     f16v2add $a1, $a4:BL, $a2}
    {nop
     f16v2add $a6, $a0:BU, $a3}
    {nop
     f16v2sub $a4, $a0, $a0}
    {nop
     f16v2sub $a5, $a7:BL, $a1}
    {nop
     f16v2sub $a7, $a2:BU, $a7}
    {nop
     f16v2mul $a5, $a4, $a2}
    {nop
     f16v2mul $a4, $a3:BL, $a3}
    {nop
     f16v2mul $a7, $a2:BU, $a1}
