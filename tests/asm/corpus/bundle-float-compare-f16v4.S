// float compare f16v4 in bundles
    .worker
target:
1:
    {nop
     f16v4cmpeq $a4:5, $a6:7, $a0:1}
    {nop
     f16v4cmpeq $a6:7, $a2:BL, $a4:5}
    {nop
     f16v4cmpeq $a0:1, $a5:BU, $a2:3}
    {nop
     f16v4cmpne $a2:3, $a6:7, $a0:1}
    {nop
     f16v4cmpne $a0:1, $a0:BL, $a0:1}
    {nop
     f16v4cmpne $a4:5, $a7:BU, $a6:7}
    {nop
     f16v4cmplt $a0:1, $a6:7, $a0:1}
    {nop
     f16v4cmplt $a0:1, $a4:BL, $a4:5}
    {nop
     f16v4cmplt $a2:3, $a1:BU, $a6:7}
    {nop
     f16v4cmple $a2:3, $a6:7, $a2:3}
    {nop
     f16v4cmple $a4:5, $a3:BL, $a2:3}
    {nop
     f16v4cmple $a2:3, $a0:BU, $a4:5}
    {nop
     f16v4cmpgt $a4:5, $a0:1, $a0:1}
    {nop
     f16v4cmpgt $a0:1, $a4:BL, $a6:7}
    {nop
     f16v4cmpgt $a0:1, $a1:BU, $a2:3}
    {nop
     f16v4cmpge $a4:5, $a0:1, $a2:3}
    {nop
     f16v4cmpge $a4:5, $a7:BL, $a0:1}
    {nop
     f16v4cmpge $a6:7, $a5:BU, $a4:5}
