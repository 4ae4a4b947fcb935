// matrix: every form, registers and immediates at their ends
    .worker
target:
1:
    f16v4hihoamp $a0, $a2:3, $a2, TAMP_F16V4_E4_P1
    f16v4hihoamp $a1, $a4:5, $a3, TAMP_F16V4_E4_P1
    f16v4hihoamp $a2, $a2:3, $a7, TAMP_F16V4_E4_P2
    f16v4sihoamp $a0, $a2:3, $a4:5, TAMP_F16V4_E1_P0
    f16v4sihoamp $a6, $a0:1, $a6:7, TAMP_F16V4_E4_P3
    f16v4sihoamp $a1, $a4:5, $a4:5, TAMP_F16V4_E2_P1
    f16v4sisoamp $a0:1, $a2:3, $a4:5, TAMP_F16V4_E4_P3
    f16v4sisoamp $a4:5, $a6:7, $a0:1, TAMP_F16V4_E2_P1
    f16v4sisoamp $a2:3, $a2:3, $a0:1, TAMP_F16V4_E4_P3
    f16v4hihov4amp $a0:1, $a2:3, $a4:5, TAMP_F16V4_E2_P0
    f16v4hihov4amp $a4:5, $a6:7, $a4:5, TAMP_F16V4_E4_P0
    f16v4hihov4amp $a4:5, $a0:1, $a2:3, TAMP_F16V4_E4_P2
    f8v8hihov4amp $a0:1, $a2:3, $a4:5, TAMP_F16V4_E4_P2
    f8v8hihov4amp $a6:7, $a0:1, $a6:7, TAMP_F16V4_E4_P1
    f8v8hihov4amp $a6:7, $a4:5, $a4:5, TAMP_F16V4_E4_P3
    f32sisoamp   $a0:1, $a1, $a4:5, TAMP_F32_E4_P4
    f32sisoamp   $a6:7, $a6, $a4:5, TAMP_F32_E4_P6
    f32sisoamp   $a2:3, $a3, $a4:5, TAMP_F32_E4_P5
    f32sisov2amp $a0:1, $a1, $a4:5, TAMP_F32_E4_P7
    f32sisov2amp $a6:7, $a6, $a6:7, TAMP_F32_E4_P1
    f32sisov2amp $a6:7, $a7, $a6:7, TAMP_F32_E4_P2
