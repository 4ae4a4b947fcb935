// load narrow in bundles
    .worker
target:
1:
    {ld128 $a0:3, $mzero, $fp, 0xef7; fnop}
    {ld128 $a4:7, $sp, $m5, $bp; fnop}
    {ldz8 $sp, $m3, $lr, 4095; fnop}
    {ldz8 $fp, $sp, $sp, $bp; fnop}
    {lds8 $sp, $bp, $bp, 0; fnop}
    {lds8 $m8, $lr, $bp, $m10; fnop}
    {ldz16 $sp, $mzero, $m10, 0x9ba; fnop}
    {ldz16 $sp, $fp, $sp, $fp; fnop}
    {lds16 $sp, $fp, $fp, (1 << 11) - 1; fnop}
    {lds16 $sp, $mzero, $mzero, $mzero; fnop}
    {ldb16 $a0, $lr, $lr, 0xcac; fnop}
    {ldb16 $a2, $m9, $sp, $sp; fnop}
    {ldb8 $a4, $bp, $fp, 0; fnop}
    {ldb8 $a3, $m9, $mzero, $bp; fnop}
