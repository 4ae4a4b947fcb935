    .ifc a, a
    setzi $m0, 1
    .endif
    .ifnc a, b
    setzi $m0, 2
    .endif
    .ifc two words , two words
    setzi $m0, 3
    .endif
    .ifeqs "a", "a"
    setzi $m0, 4
    .endif
    .ifnes "a", "b"
    setzi $m0, 5
    .endif
    .ifb
    setzi $m0, 6
    .endif
    .ifnb x
    setzi $m0, 7
    .endif
