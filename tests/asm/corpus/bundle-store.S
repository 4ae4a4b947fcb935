// store in bundles
    .worker
target:
1:
    {st32 $bp, $m8, $m11, (1 << 11) - 1; fnop}
    {st32 $a6, $m10, $fp, 0; fnop}
    {st32 $a2, $lr, $m3, $fp; fnop}
    {st64 $a2:3, $lr, $bp, 0x2c3; fnop}
    {st64 $a0:1, $fp, $m3, $sp; fnop}
    {st32step $sp, $sp, $m2+=, -64; fnop}
    {st32step $a5, $m3, $m1+=, -128; fnop}
    {st32step $a1, $fp, $m9+=, $bp; fnop}
    {st64step $a6:7, $lr, $m9+=, -27; fnop}
    {st64step $a0:1, $m0, $m11+=, $m11; fnop}
    {stm32 $fp, $lr, $mzero; fnop}
    {stm32step $sp, $m7+=, $fp; fnop}
