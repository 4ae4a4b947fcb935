// branches in bundles
    .worker
target:
1:
    {br $sp; fnop}
    {bri target; fnop}
    {call $mzero, 1b; fnop}
    {brz $mzero, 0x4C100; fnop}
    {brnz $sp, 0x4C100; fnop}
    {brneg $sp, 0x4C100; fnop}
    {brpos $m2, target; fnop}
    {brnzdec $sp, target; fnop}
