.worker
    {ld64step $a0:1, $mzero, $m0+=, 1; f16v4add $a2:3, $a0:1, $a0:1}
    {brnzdec $m0, next; f32mul $a0, $a1, $a2}
    {st64step $a0:1, $mzero, $m0+=, 1; f16v4add $a0:1, $a0:1, $a0:1}
    {rpt $m0, 0; fnop}
next: {nop; fnop}
