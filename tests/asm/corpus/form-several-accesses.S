// several accesses: every form, registers and immediates at their ends
    .worker
target:
1:
    ldd16a32     $a0, $m4++, $m2, $m5@
    ldd16a32     $a6, $m5++, $lr, $m4@
    ldd16a32     $a1, $m3++, $lr, $m8@
    ldd16b16     $a0, $m6++, $m2, $m10@
    ldd16b16     $a2, $m5++, $mzero, $m4@
    ldd16b16     $a7, $m10++, $fp, $m6@
    ldd16a64     $a0:1, $m1++, $m2, $m4@
    ldd16a64     $a6:7, $m5++, $lr, $m8@
    ldd16a64     $a4:5, $m10++, $sp, $m7@
    ldd16v2a32   $a0, $m0++, $m2, $m0@
    ldd16v2a32   $a4, $m5++, $sp, $m4@
    ldd16v2a32   $a3, $m1++, $m8, $m9@
    ld64a32      $a4:7, $m11++, $m2, $m3
    ld64a32      $a0:3, $m4++, $fp, $fp
    ld64a32      $a0:3, $m6++, $fp, $lr
    ldb16b16     $a0:1, $m1, $m6@, $m7>>
    ldb16b16     $a4:5, $mzero, $m11@, $m2>>
    ldb16b16     $a6:7, $sp, $m2@, $m3>>
