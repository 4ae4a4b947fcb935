// float compare f16v2 in bundles
    .worker
target:
1:
    {nop
     f16v2cmpeq $a0, $a6, $a2}
    {nop
     f16v2cmpeq $a1, $a3:BL, $a0}
    {nop
     f16v2cmpeq $a7, $a2:BU, $a1}
    {nop
     f16v2cmpne $a2, $a0, $a6}
    {nop
     f16v2cmpne $a1, $a0:BL, $a5}
    {nop
     f16v2cmpne $a2, $a4:BU, $a4}
    {nop
     f16v2cmplt $a4, $a2, $a6}
    {nop
     f16v2cmplt $a0, $a5:BL, $a0}
    {nop
     f16v2cmplt $a6, $a0:BU, $a7}
    {nop
     f16v2cmple $a0, $a1, $a6}
    {nop
     f16v2cmple $a6, $a7:BL, $a1}
    {nop
     f16v2cmple $a0, $a6:BU, $a2}
    {nop
     f16v2cmpgt $a7, $a6, $a1}
    {nop
     f16v2cmpgt $a1, $a7:BL, $a3}
    {nop
     f16v2cmpgt $a2, $a0:BU, $a6}
    {nop
     f16v2cmpge $a0, $a0, $a1}
    {nop
     f16v2cmpge $a1, $a3:BL, $a1}
    {nop
     f16v2cmpge $a2, $a7:BU, $a0}
