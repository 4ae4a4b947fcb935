// arithmetic: every form, registers and immediates at their ends
    .worker
target:
1:
    add          $m0, $m1, $m2
    add          $bp, $lr, $m1
    add          $lr, $lr, $m4
    add.i16      $m0, $m1, -32768
    add.i16      $sp, $sp, -15684
    add.i16      $bp, $mzero, -32768
    add.z16      $m0, $m1, 0xdd8
    add.z16      $m10, $sp, 65535
    add.z16      $mzero, $bp, 65535
    sub          $m0, $m1, $m2
    sub          $mzero, $lr, $mzero
    sub          $bp, $sp, $m11
    sub.i16      $m0, 32767, $m2
    sub.i16      $sp, -6346, $sp
    sub.i16      $fp, 32767, $mzero
    sub.z16      $m0, 65535, $m2
    sub.z16      $mzero, 65535, $bp
    sub.z16      $m9, 0xf57d, $m10
    mul          $m0, $m1, $m2
    mul          $m10, $fp, $lr
    mul          $lr, $sp, $fp
    mul.i16      $m0, $m1, 32767
    mul.i16      $fp, $fp, -32768
    mul.i16      $m2, $bp, -15249
    abs          $m0, $m1
    abs          $bp, $lr
    abs          $sp, $bp
    clz          $m0, $m1
    clz          $mzero, $m0
    clz          $fp, $bp
    cms          $m0, $m1
    cms          $mzero, $mzero
    cms          $m3, $mzero
    popc         $m0, $m1
    popc         $bp, $bp
    popc         $sp, $lr
