// arithmetic in bundles
    .worker
target:
1:
    {add $m2, $sp, $fp; fnop}
    {add.i16 $bp, $bp, -4285; fnop}
    {add.z16 $bp, $m8, 65535; fnop}
    {sub $m9, $mzero, $lr; fnop}
    {sub.i16 $fp, -3944, $sp; fnop}
    {sub.z16 $bp, 0, $m8; fnop}
    {mul $mzero, $m4, $bp; fnop}
    {mul.i16 $bp, $m0, 32767; fnop}
    {abs $bp, $bp; fnop}
    {clz $fp, $lr; fnop}
    {cms $bp, $bp; fnop}
    {popc $fp, $sp; fnop}
