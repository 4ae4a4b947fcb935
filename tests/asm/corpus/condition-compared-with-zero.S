    .ifeq 0
    setzi $m0, 0
    .endif
    .ifne 1
    setzi $m0, 1
    .endif
    .ifgt 1
    setzi $m0, 2
    .endif
    .ifge 0
    setzi $m0, 3
    .endif
    .iflt -1
    setzi $m0, 4
    .endif
    .ifle 0
    setzi $m0, 5
    .endif
    .ifeq 1
    no
    .endif
