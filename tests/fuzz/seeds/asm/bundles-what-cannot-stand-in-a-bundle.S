.worker
    {ldconst $m0, 0x12345678; fnop}
    {ldconst $m0, 0x12345; fnop}
    {sub $m0, $m0, 4; fnop}
.supervisor
    {nop; fnop}
    {sendpicp 0, 0, 0, 0, 0, 0, 0; fnop}
