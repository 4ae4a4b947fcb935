// compare and select in bundles
    .worker
target:
1:
    {cmpeq $fp, $lr, $fp; fnop}
    {cmpeq.z16 $lr, $sp, (1 << 15) - 1; fnop}
    {cmpeq.i16 $m6, $fp, 32767; fnop}
    {cmpne $lr, $m3, $mzero; fnop}
    {cmpslt $m6, $lr, $sp; fnop}
    {cmpslt.i16 $mzero, $m2, -1694; fnop}
    {cmpult $fp, $m6, $bp; fnop}
    {cmpult.z16 $fp, $mzero, 0x4ab1; fnop}
    {min $mzero, $mzero, $m1; fnop}
    {min.i16 $lr, $sp, -32768; fnop}
    {min.z16 $sp, $bp, 0; fnop}
    {max $bp, $mzero, $mzero; fnop}
    {max.i16 $lr, $mzero, -32768; fnop}
    {max.z16 $mzero, $lr, (1 << 15) - 1; fnop}
    {movz $m5, $mzero, $mzero; fnop}
    {movnz $bp, $m10, $sp; fnop}
