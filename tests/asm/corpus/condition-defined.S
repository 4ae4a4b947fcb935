    .set here, 1
    .ifdef here
    setzi $m0, 1
    .endif
    .ifndef there
    setzi $m0, 2
    .endif
    .ifnotdef there
    setzi $m0, 3
    .endif
label:
    .ifdef label
    setzi $m0, 4
    .endif
    .ifdef CTXT_WORKERS
    setzi $m0, CTXT_WORKERS
    .endif
