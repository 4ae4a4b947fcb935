    .worker
    setzi $a0, 1.0h
    setzi $a0, -0.5h
    or $a0, $a0, (1.0h << 16) & 0xFFF00000
    setzi $a0, infh
    setzi $a0, -infh
    setzi $a0, nanh
    setzi $a0, 0.333h
    setzi $a0, 1e3h
