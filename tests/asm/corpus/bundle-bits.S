// bits in bundles
    .worker
target:
1:
    {and $bp, $mzero, $lr; fnop}
    {and.u12 $lr, $fp, (1 << 11) - 1; fnop}
    {andc $lr, $sp, $mzero; fnop}
    {andc.u12 $sp, $fp, (1 << 11) - 1; fnop}
    {or $m5, $m2, $fp; fnop}
    {or.u12 $sp, $mzero, 0; fnop}
    {or.hi12 $lr, $fp, 0x80000000; fnop}
    {xor $mzero, $sp, $lr; fnop}
    {xnor $mzero, $lr, $sp; fnop}
    {setzi $sp, 1048575; fnop}
    {atom $sp, $a3; fnop}
