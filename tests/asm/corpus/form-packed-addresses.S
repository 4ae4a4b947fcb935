// packed addresses: every form, registers and immediates at their ends
    .worker
target:
1:
    tapack       $m0:1, $m1, $m2, $m3
    tapack       $m2:3, $sp, $bp, $m4
    tapack       $m4:5, $bp, $m1, $mzero
    ld2x64pace   $a0:1, $a2:3, $m4:5+=, $m3, 15
    ld2x64pace   $a0:1, $azeros, $m2:3+=, $fp, 15
    ld2x64pace   $a0:1, $a2:3, $m6:7+=, $m7, 15
    ldst64pace   $a0:1, $a2:3, $m4:5+=, $m3, 0
    ldst64pace   $a0:1, $a0:1, $m6:7+=, $lr, (1 << 3) - 1
    ldst64pace   $a4:5, $a0:1, $m6:7+=, $fp, 0x5
    ld2xst64pace $a0:3, $a2:3, $m2:3+=, $m3, 0
    ld2xst64pace $a4:7, $a4:5, $m4:5+=, $m1, 0
    ld2xst64pace $a0:3, $a6:7, $m6:7+=, $m8, (1 << 5) - 1
    st64pace     $a0:1, $m2:3+=, $m2, 0x0
    st64pace     $a4:5, $m4:5+=, $bp, 3
    st64pace     $a2:3, $m6:7+=, $mzero, 0
    ld64a32pace  $a0:1, $a5, $m2:3+=, $m3, 15
    ld64a32pace  $a0:1, $a5, $m2:3+=, $m4, (1 << 3) - 1
    ld64a32pace  $a0:1, $a5, $m2:3+=, $fp, 15
    ld64b16pace  $a0:1, $a5, $m6:7+=, $m3, 15
    ld64b16pace  $a0:1, $a5, $m2:3+=, $bp, 0x5
    ld64b16pace  $a0:1, $a5, $m6:7+=, $m2, (1 << 3) - 1
