// matrix slim in bundles
    .worker
target:
1:
    {nop
     f16v4hihoslic $a2, $a2:3, $a6, TSLIC_F16V4_1x4_W1}
    {nop
     f16v4sihoslic $a2, $a4:5, $a2:3, TSLIC_F16V4_1x4_W1}
    {nop
     f16v4sisoslic $a2:3, $a2:3, $a6:7, TSLIC_F16V4_1x4_W0}
    {nop
     f16v4hihov4slic $a0:1, $a4:5, $a0:1, TSLIC_F16V4_1x4_W1}
    {nop
     f8v8hihov4slic $a6:7, $a4:5, $a0:1, TSLIC_F16V4_1x4_W0}
    {nop
     f32sisoslic $a6:7, $a4, $a4:5, TSLIC_F16V4_1x4_W0}
