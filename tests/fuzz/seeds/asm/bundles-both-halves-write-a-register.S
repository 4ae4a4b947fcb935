.worker
    {ld32 $a0, $m0, 0; f32add $a0, $a1, $a2}
    {ld64 $a0:1, $m0, 0; setzi $a1, 5}
    {ld128 $a4:7, $m0, 0; f16v4add $a6:7, $a0:1, $a0:1}
    {ld64 $azeros, $m0, 0; f16v4add $azeros, $a0:1, $a0:1}
    {ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, 0; f32mul $a3, $a4, $a5}
    {ld64 $a0:1, $m0, 0; setzi $a2, 5}
