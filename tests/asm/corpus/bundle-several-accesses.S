// several accesses in bundles
    .worker
target:
1:
    {ldd16a32 $a5, $m10++, $lr, $m1@; fnop}
    {ldd16b16 $a0, $m9++, $mzero, $m9@; fnop}
    {ldd16a64 $a6:7, $m6++, $bp, $m11@; fnop}
    {ldd16v2a32 $a4, $m10++, $mzero, $m3@; fnop}
    {ld64a32 $a0:3, $m8++, $sp, $fp; fnop}
    {ldb16b16 $a6:7, $mzero, $m10@, $m11>>; fnop}
