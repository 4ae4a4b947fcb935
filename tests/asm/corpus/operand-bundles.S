    .worker
    {nop; fnop}
    { nop
      fnop }
    {
      ld32 $a0, $m0, 0
      f32add $a1, $a2, $a3
    }
1:  { brz $m0, 1b ; fnop }
    {call $m10, 1b; f32mul $a0, $a1, $a2}
    {exitz $mzero; fnop}
