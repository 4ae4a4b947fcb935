// load step in bundles
    .worker
target:
1:
    {ld32step $fp, $mzero, $m10+=, -15; fnop}
    {ld32step $lr, $sp, $m3+=, $fp; fnop}
    {ld32step $a1, $fp, $m2+=, 127; fnop}
    {ld32step $a4, $m1, $m3+=, $m8; fnop}
    {ld64step $a6:7, $sp, $m4+=, 127; fnop}
    {ld64step $a0:1, $lr, $m8+=, $bp; fnop}
    {ld128step $a4:7, $lr, $m11+=, 127; fnop}
    {ld128step $a4:7, $bp, $m6+=, $mzero; fnop}
    {ldz8step $lr, $mzero, $m10+=, -128; fnop}
    {ldz8step $bp, $fp, $m9+=, $lr; fnop}
    {lds8step $mzero, $m10, $m1+=, -5; fnop}
    {lds8step $lr, $bp, $m5+=, $fp; fnop}
    {ldz16step $bp, $sp, $m7+=, 127; fnop}
    {ldz16step $fp, $bp, $m5+=, $bp; fnop}
    {lds16step $mzero, $fp, $m6+=, -46; fnop}
    {lds16step $lr, $sp, $m9+=, $fp; fnop}
    {ldb16step $a5, $fp, $m8+=, -29; fnop}
    {ldb16step $a4, $lr, $m11+=, $bp; fnop}
