// control registers in bundles
    .worker
target:
1:
    {get $m6, $WSR; fnop}
    {put $REPEAT_COUNT, $sp; fnop}
    {trap 0xd; fnop}
    {nop
     uget $a1, 9}
    {nop
     uput 0x10A, $a0}
