.worker
    {nop; fnop}
    { nop
      fnop }
    {
        nop
        fnop
    }
    label: { ld32 $a0, $m0, 0 ; f32add $a1, $a0, $a0 }; { nop ; fnop }
