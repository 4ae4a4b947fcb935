    .worker
    add $bp, $fp, $lr
    add $sp, $sp, -16
    ld32 $m0, $mvertex_base, $mzero, 0
    ld32 $m1, $mworker_base, $mzero, 1
    or64 $a0:1, $azeros, $azeros
    or $a2, $azero, $a3
    ld128 $azeroq, $m0, $mzero, 0
    f32v4acc $aq0
    f32v4acc $aq1
    or $m0, $m15, $m14
