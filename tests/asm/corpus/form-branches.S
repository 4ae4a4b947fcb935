// branches: every form, registers and immediates at their ends
    .worker
target:
1:
    br           $m0
    br           $mzero
    br           $lr
    bri          1b
    bri          target + 8
    bri          0x4C100
    call         $m0, target
    call         $sp, 0x4C100
    call         $fp, 0x4C100
    brz          $m0, target + 8
    brz          $sp, target
    brz          $lr, target + 8
    brnz         $m0, 1b
    brnz         $mzero, 0x4C100
    brnz         $sp, 1b
    brneg        $m0, target
    brneg        $lr, target + 8
    brneg        $lr, 0x4C100
    brpos        $m0, target
    brpos        $mzero, 0x4C100
    brpos        $mzero, target
    brnzdec      $m0, target + 8
    brnzdec      $m6, target
    brnzdec      $lr, 0x4C100
