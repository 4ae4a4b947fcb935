.worker
    ld2x64pace $a0:1, $a0:1, $m0:1+=, $m2, 0
    ld2x64pace $a0:1, $azeros, $m0:1+=, $m2, 0
    ld64a32pace $a0:1, $a1, $m0:1+=, $m2, 0
    ld64b16pace $a0:1, $a2, $m0:1+=, $m2, 0
