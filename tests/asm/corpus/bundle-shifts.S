// shifts in bundles
    .worker
target:
1:
    {shl $m10, $bp, $fp; fnop}
    {shl.u12 $m4, $lr, (1 << 11) - 1; fnop}
    {shr $fp, $bp, $mzero; fnop}
    {shr.u12 $bp, $m3, 4095; fnop}
    {shrs $mzero, $fp, $m8; fnop}
    {shrs.u12 $mzero, $fp, 0x64b; fnop}
