// shifts: every form, registers and immediates at their ends
    .worker
target:
1:
    shl          $m0, $m1, $m2
    shl          $lr, $sp, $m11
    shl          $bp, $sp, $mzero
    shl.u12      $m0, $m1, 0x729
    shl.u12      $sp, $bp, 0x284
    shl.u12      $fp, $m8, 0x3e6
    shr          $m0, $m1, $m2
    shr          $m3, $fp, $lr
    shr          $bp, $lr, $bp
    shr.u12      $m0, $m1, 0
    shr.u12      $lr, $lr, 0x72e
    shr.u12      $sp, $bp, 4095
    shrs         $m0, $m1, $m2
    shrs         $mzero, $bp, $fp
    shrs         $mzero, $m2, $sp
    shrs.u12     $m0, $m1, 0xd90
    shrs.u12     $fp, $fp, 0
    shrs.u12     $lr, $bp, 4095
