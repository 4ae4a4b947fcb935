// bits: every form, registers and immediates at their ends
    .worker
target:
1:
    and          $m0, $m1, $m2
    and          $mzero, $mzero, $m6
    and          $lr, $m5, $mzero
    and.u12      $m0, $m1, 0
    and.u12      $fp, $m4, 0x4f1
    and.u12      $sp, $lr, 0
    andc         $m0, $m1, $m2
    andc         $lr, $fp, $mzero
    andc         $lr, $lr, $lr
    andc.u12     $m0, $m1, 0x643
    andc.u12     $m5, $sp, 0x9f
    andc.u12     $lr, $fp, (1 << 11) - 1
    or           $m0, $m1, $m2
    or           $bp, $sp, $m8
    or           $mzero, $m1, $sp
    or.u12       $m0, $m1, 4095
    or.u12       $mzero, $fp, (1 << 11) - 1
    or.u12       $bp, $bp, 0xfd3
    or.hi12      $m0, $m1, 0xABC00000
    or.hi12      $m4, $mzero, -0x100000
    or.hi12      $sp, $fp, 0xABC00000
    xor          $m0, $m1, $m2
    xor          $m4, $mzero, $sp
    xor          $lr, $sp, $lr
    xnor         $m0, $m1, $m2
    xnor         $bp, $m2, $fp
    xnor         $m3, $sp, $mzero
    setzi        $m0, 0x674e2
    setzi        $sp, 0x6967f
    setzi        $bp, 0x5b15b
    atom         $m0, $a1
    atom         $m5, $a4
    atom         $m0, $a0
