    .set X, 0x4C104
    .int X@abs19@s2, X@s2@abs19, 0x123456@abs8
far: .int far@abs19@s2
