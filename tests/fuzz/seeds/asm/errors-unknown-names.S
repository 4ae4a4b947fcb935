    frobnicate $m0
    ad $m0, $m1, $m2
    f16v4ad $a0:1, $a2:3, $a4:5
    $m0
    +
    5
