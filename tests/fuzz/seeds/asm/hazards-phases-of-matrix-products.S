    .worker
    f8v8hihov4amp $azeros, $azeros, $azeros, 1
    f8v8hihov4amp $azeros, $azeros, $azeros, 1
    f8v8hihov4amp $azeros, $azeros, $azeros, 0
    f8v8hihov4amp $azeros, $azeros, $azeros, 1
    f8v8hihov4amp $azeros, $azeros, $azeros, 2
    f8v8hihov4amp $azeros, $azeros, $azeros, 3
    f8v8hihov4amp $azeros, $azeros, $azeros, 0
    f8v8hihov4amp $azeros, $azeros, $azeros, 2
    f16v4hihoamp $a0, $azeros, $a1, 4
    f16v4hihoamp $a0, $azeros, $a1, 4
    f32sisoamp $a0:1, $a2, $a4:5, 6
    f32sisoamp $a0:1, $a2, $a4:5, 7
    f32sisoamp $a0:1, $a2, $a4:5, 0
    f32sisoamp $a0:1, $a2, $a4:5, 5
