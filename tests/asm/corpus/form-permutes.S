// permutes: every form, registers and immediates at their ends
    .worker
target:
1:
    roll8r       $m0, $m1, $m2
    roll8r       $bp, $fp, $lr
    roll8r       $lr, $fp, $lr
    roll8l       $m0, $m1, $m2
    roll8l       $m6, $fp, $sp
    roll8l       $bp, $sp, $sp
    roll16       $m0, $m1, $m2
    roll16       $bp, $m0, $lr
    roll16       $bp, $lr, $sp
    sort4x16lo   $m0, $m1, $m2
    sort4x16lo   $mzero, $sp, $lr
    sort4x16lo   $m9, $sp, $sp
    sort4x16hi   $m0, $m1, $m2
    sort4x16hi   $fp, $lr, $bp
    sort4x16hi   $m3, $fp, $m10
    shuf8x8lo    $m0, $m1, $m2
    shuf8x8lo    $mzero, $sp, $mzero
    shuf8x8lo    $mzero, $sp, $lr
    shuf8x8hi    $m0, $m1, $m2
    shuf8x8hi    $lr, $bp, $mzero
    shuf8x8hi    $lr, $m8, $mzero
    sort8x8lo    $m0, $m1, $m2
    sort8x8lo    $mzero, $bp, $sp
    sort8x8lo    $sp, $m10, $fp
    sort8x8hi    $m0, $m1, $m2
    sort8x8hi    $fp, $mzero, $fp
    sort8x8hi    $m6, $bp, $lr
    swap16       $m0, $m1
    swap16       $sp, $sp
    swap16       $fp, $fp
    sort8        $m0, $m1
    sort8        $bp, $m10
    sort8        $lr, $sp
    swap8        $m0, $m1
    swap8        $m11, $fp
    swap8        $bp, $lr
    bitrev8      $m0, $m1
    bitrev8      $bp, $fp
    bitrev8      $fp, $m7
