// matrix in bundles
    .worker
target:
1:
    {nop
     f16v4hihoamp $a1, $a6:7, $a6, TAMP_F16V4_E2_P0}
    {nop
     f16v4sihoamp $a0, $a2:3, $a2:3, TAMP_F16V4_E2_P1}
    {nop
     f16v4sisoamp $a4:5, $a4:5, $a6:7, TAMP_F16V4_E4_P0}
    {nop
     f16v4hihov4amp $a2:3, $a0:1, $a0:1, TAMP_F16V4_E4_P0}
    {nop
     f8v8hihov4amp $a2:3, $a6:7, $a0:1, TAMP_F16V4_E4_P3}
    {nop
     f32sisoamp $a0:1, $a6, $a2:3, TAMP_F32_E4_P2}
    {nop
     f32sisov2amp $a4:5, $a5, $a2:3, TAMP_F32_E2_P1}
