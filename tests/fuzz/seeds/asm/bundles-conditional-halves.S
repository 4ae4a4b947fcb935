.worker
    { ld32 $m0, $m1, 0
    .if DEFINED == 3
      fnop
    .else
      f32add $a0, $a1, $a2
    .endif }
