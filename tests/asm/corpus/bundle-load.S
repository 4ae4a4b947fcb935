// load in bundles
    .worker
target:
1:
    {ld32 $fp, $fp, $sp, 4095; fnop}
    {ld32 $sp, $mzero, $mzero, $sp; fnop}
    {ld32 $a4, $m3, $m0, 0; fnop}
    {ld32 $a3, $lr, $fp, $sp; fnop}
    {ld64 $a0:1, $fp, $mzero, (1 << 11) - 1; fnop}
    {ld64 $a6:7, $m1, $lr, $mzero; fnop}
