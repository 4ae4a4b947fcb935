// float functions: every form, registers and immediates at their ends
    .worker
target:
1:
    f16v2exp     $a0, $a1
    f16v2exp     $a7, $a4
    f16v2exp     $a7, $a7
    f32exp       $a0, $a1
    f32exp       $a4, $a0
    f32exp       $a3, $a5
    f16v2exp2    $a0, $a1
    f16v2exp2    $a3, $a3
    f16v2exp2    $a6, $a6
    f32exp2      $a0, $a1
    f32exp2      $a0, $a5
    f32exp2      $a2, $a3
    f16v2ln      $a0, $a1
    f16v2ln      $a5, $a5
    f16v2ln      $a7, $a4
    f32ln        $a0, $a1
    f32ln        $a4, $a3
    f32ln        $a4, $a0
    f16v2log2    $a0, $a1
    f16v2log2    $a0, $a2
    f16v2log2    $a1, $a5
    f32log2      $a0, $a1
    f32log2      $a7, $a0
    f32log2      $a6, $a7
    f16v2tanh    $a0, $a1
    f16v2tanh    $a5, $a1
    f16v2tanh    $a3, $a2
    f32tanh      $a0, $a1
    f32tanh      $a6, $a5
    f32tanh      $a5, $a2
    f16v2sigm    $a0, $a1
    f16v2sigm    $a3, $a4
    f16v2sigm    $a1, $a7
    f32sigm      $a0, $a1
    f32sigm      $a4, $a2
    f32sigm      $a6, $a1
    f32div       $a0, $a1, $a2
    f32div       $a0, $a6, $a1
    f32div       $a7, $a6, $a2
    f32sqrt      $a0, $a1
    f32sqrt      $a6, $a4
    f32sqrt      $a1, $a6
    f32oox       $a0, $a1
    f32oox       $a7, $a7
    f32oox       $a4, $a5
    f32oorx      $a0, $a1
    f32oorx      $a4, $a5
    f32oorx      $a6, $a6
