// bits arithmetic registers: every form, registers and immediates at their ends
    .worker
target:
1:
    and          $a0, $a1, $a2
    and          $a5, $a2, $a0
    and          $a5, $a6, $a1
    and.u12      $a0, $a1, 0xf30
    and.u12      $a3, $a3, 0
    and.u12      $a4, $a1, (1 << 11) - 1
    and.hi12     $a0, $a1, 0xABC00000
    and.hi12     $a6, $a0, 0x80000000
    and.hi12     $a4, $a3, 0xABC00000
    andc         $a0, $a1, $a2
    andc         $a2, $a6, $a5
    andc         $a7, $a2, $a4
    andc.u12     $a0, $a1, 0
    andc.u12     $a6, $a2, 4095
    andc.u12     $a1, $a0, 4095
    andc.hi12    $a0, $a1, 0x80000000
    andc.hi12    $a1, $a6, -0x100000
    andc.hi12    $a0, $a0, 1 << 20
    or           $a0, $a1, $a2
    or           $a7, $a4, $a0
    or           $a7, $a1, $a1
    or.u12       $a0, $a1, (1 << 11) - 1
    or.u12       $a4, $a1, 4095
    or.u12       $a3, $a3, (1 << 11) - 1
    or.hi12      $a0, $a1, -0x100000
    or.hi12      $a1, $a7, 0x80000000
    or.hi12      $a0, $a3, 0xABC00000
    not          $a0, $a1
    not          $a2, $a5
    not          $a4, $a4
    and64        $a0:1, $a2:3, $a4:5
    and64        $a2:3, $a0:1, $a6:7
    and64        $a0:1, $a6:7, $a4:5
    andc64       $a0:1, $a2:3, $a4:5
    andc64       $a0:1, $a2:3, $a6:7
    andc64       $a4:5, $a4:5, $a6:7
    or64         $a0:1, $a2:3, $a4:5
    or64         $a6:7, $a6:7, $a0:1
    or64         $a2:3, $a4:5, $a0:1
    not64        $a0:1, $a2:3
    not64        $a6:7, $a0:1
    not64        $a4:5, $a6:7
    setzi        $a0, (1 << 19) - 1
    setzi        $a4, 1048575
    setzi        $a3, 0
    sort4x16lo   $a0, $a1, $a2
    sort4x16lo   $a2, $a4, $a5
    sort4x16lo   $a2, $a4, $a1
    sort4x16hi   $a0, $a1, $a2
    sort4x16hi   $a5, $a3, $a7
    sort4x16hi   $a7, $a6, $a0
    roll16       $a0, $a1, $a2
    roll16       $a2, $a0, $a7
    roll16       $a7, $a6, $a4
    sort4x16lo   $a0, $a2:BU, $a2
    sort4x16lo   $a6, $a5:BU, $a6
    sort4x16lo   $a5, $a1:BU, $a5
    sort4x16hi   $a0, $a0:BL, $a2
    sort4x16hi   $a5, $a5:BL, $a6
    sort4x16hi   $a1, $a3:BL, $a0
    sort4x32lo   $a0:1, $a2:3, $a4:5
    sort4x32lo   $a4:5, $a4:5, $a4:5
    sort4x32lo   $a0:1, $a6:7, $a6:7
    sort4x32hi   $a0:1, $a2:3, $a4:5
    sort4x32hi   $a0:1, $a4:5, $a6:7
    sort4x32hi   $a4:5, $a0:1, $a4:5
    roll32       $a0:1, $a2:3, $a4:5
    roll32       $a0:1, $a0:1, $a4:5
    roll32       $a2:3, $a2:3, $a4:5
    roll8r       $a0, $a1, $a2
    roll8r       $a6, $a5, $a3
    roll8r       $a5, $a6, $a0
    roll8l       $a0, $a1, $a2
    roll8l       $a6, $a3, $a1
    roll8l       $a0, $a6, $a7
    sort8x8lo    $a0, $a1, $a2
    sort8x8lo    $a2, $a4, $a7
    sort8x8lo    $a0, $a2, $a2
    sort8x8hi    $a0, $a1, $a2
    sort8x8hi    $a7, $a6, $a5
    sort8x8hi    $a4, $a4, $a4
    shuf8x8lo    $a0, $a1, $a2
    shuf8x8lo    $a4, $a6, $a3
    shuf8x8lo    $a4, $a7, $a6
    shuf8x8hi    $a0, $a1, $a2
    shuf8x8hi    $a1, $a2, $a2
    shuf8x8hi    $a1, $a3, $a7
    f16tof32     $a0, $a1
    f16tof32     $a3, $a7
    f16tof32     $a5, $a7
