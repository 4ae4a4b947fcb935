// float arithmetic f16v4 in bundles
    .worker
target:
1:
    {nop
     f16v4add $a2:3, $a0:1, $a0:1}
    {nop
     f16v4add $a4:5, $a3:BL, $a6:7}
    {nop
     f16v4add $a6:7, $a0:BU, $a0:1}
    {nop
     f16v4sub $a6:7, $a6:7, $a2:3}
    {nop
     f16v4sub $a4:5, $a7:BL, $a0:1}
    {nop
     f16v4sub $a2:3, $a4:BU, $a6:7}
    {nop
     f16v4mul $a0:1, $a2:3, $a6:7}
    {nop
     f16v4mul $a6:7, $a3:BL, $a2:3}
    {nop
     f16v4mul $a2:3, $a1:BU, $a6:7}
