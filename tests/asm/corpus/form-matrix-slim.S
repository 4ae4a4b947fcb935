// matrix slim: every form, registers and immediates at their ends
    .worker
target:
1:
    f16v4hihoslic $a0, $a2:3, $a2, TSLIC_F16V4_1x4_W0
    f16v4hihoslic $a5, $a6:7, $a4, TSLIC_F16V4_1x4_W1
    f16v4hihoslic $a0, $a4:5, $a4, TSLIC_F16V4_1x4_W1
    f16v4sihoslic $a0, $a2:3, $a4:5, TSLIC_F16V4_1x4_W0
    f16v4sihoslic $a2, $a0:1, $a2:3, TSLIC_F16V4_1x4_W1
    f16v4sihoslic $a2, $a4:5, $a4:5, TSLIC_F16V4_1x4_W0
    f16v4sisoslic $a0:1, $a2:3, $a4:5, TSLIC_F16V4_1x4_W0
    f16v4sisoslic $a6:7, $a4:5, $a0:1, TSLIC_F16V4_1x4_W1
    f16v4sisoslic $a4:5, $a2:3, $a2:3, TSLIC_F16V4_1x4_W1
    f16v4hihov4slic $a0:1, $a2:3, $a4:5, TSLIC_F16V4_1x4_W0
    f16v4hihov4slic $a2:3, $a6:7, $a0:1, TSLIC_F16V4_1x4_W0
    f16v4hihov4slic $a6:7, $a2:3, $a0:1, TSLIC_F16V4_1x4_W0
    f8v8hihov4slic $a0:1, $a2:3, $a4:5, TSLIC_F16V4_1x4_W0
    f8v8hihov4slic $a2:3, $a2:3, $a0:1, TSLIC_F16V4_1x4_W0
    f8v8hihov4slic $a0:1, $a0:1, $a6:7, TSLIC_F16V4_1x4_W1
    f32sisoslic  $a0:1, $a1, $a4:5, TSLIC_F16V4_1x4_W0
    f32sisoslic  $a2:3, $a0, $a2:3, TSLIC_F16V4_1x4_W0
    f32sisoslic  $a4:5, $a2, $a4:5, TSLIC_F16V4_1x4_W0
