    .comm shared, 64, 8
    .lcomm own, 12
    setzi $m0, shared
    setzi $m1, own
