// packed addresses in bundles
    .worker
target:
1:
    {tapack $m2:3, $m6, $mzero, $fp; fnop}
    {ld2x64pace $a0:1, $azeros, $m2:3+=, $mzero, 0; fnop}
    {ldst64pace $a0:1, $a6:7, $m4:5+=, $sp, 0; fnop}
    {ld2xst64pace $a0:3, $a0:1, $m4:5+=, $fp, 63; fnop}
    {st64pace $a6:7, $m6:7+=, $mzero, 0x2; fnop}
    {ld64a32pace $a0:1, $a5, $m6:7+=, $lr, 0xc; fnop}
    {ld64b16pace $a0:1, $a5, $m2:3+=, $mzero, 15; fnop}
