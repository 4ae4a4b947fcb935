    .float 1.5, -0.25, 1e10
    .single 3
    .double 0.1
    .half 1.5h, -2h, 0.1h, infh, -infh, 65504.0h, 6e-8h
