.supervisor
    add $bp, $fp, $lr
    add $sp, $mzero, $m15
    add $m14, $m1, $m2
.worker
    ld32 $m0, $mvertex_base, $mworker_base, 0
    ld64 $azeros, $m0, 0
    ld128 $azeroq, $m0, 0
    ld128 $aq0, $m0, 0
    f32add $azero, $a15, $a1
