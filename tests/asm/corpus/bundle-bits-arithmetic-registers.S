// bits arithmetic registers in bundles
    .worker
target:
1:
    {nop
     and $a6, $a2, $a3}
    {nop
     and.u12 $a3, $a1, 0x597}
    {nop
     and.hi12 $a1, $a5, 1 << 20}
    {nop
     andc $a5, $a4, $a3}
    {nop
     andc.u12 $a0, $a6, (1 << 11) - 1}
    {nop
     andc.hi12 $a3, $a6, 0x80000000}
    {nop
     or $a5, $a0, $a7}
    {nop
     or.u12 $a4, $a5, 4095}
    {nop
     or.hi12 $a1, $a4, 1 << 20}
    {nop
     not $a6, $a6}
    {nop
     and64 $a6:7, $a6:7, $a4:5}
    {nop
     andc64 $a0:1, $a2:3, $a0:1}
    {nop
     or64 $a6:7, $a6:7, $a6:7}
    {nop
     not64 $a0:1, $a0:1}
    {nop
     setzi $a6, (1 << 19) - 1}
    {nop
     sort4x16lo $a3, $a1, $a3}
    {nop
     sort4x16hi $a2, $a2, $a1}
    {nop
     roll16 $a7, $a1, $a0}
    {nop
     sort4x16lo $a0, $a2:BU, $a3}
    {nop
     sort4x16hi $a0, $a4:BL, $a2}
    {nop
     sort4x32lo $a4:5, $a6:7, $a0:1}
    {nop
     sort4x32hi $a0:1, $a0:1, $a4:5}
    {nop
     roll32 $a2:3, $a6:7, $a4:5}
    {nop
     roll8r $a3, $a0, $a0}
    {nop
     roll8l $a4, $a7, $a4}
    {nop
     sort8x8lo $a5, $a3, $a7}
    {nop
     sort8x8hi $a3, $a3, $a0}
    {nop
     shuf8x8lo $a6, $a4, $a0}
    {nop
     shuf8x8hi $a0, $a3, $a7}
    {nop
     f16tof32 $a6, $a1}
