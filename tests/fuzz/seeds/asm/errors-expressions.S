    .int 1 / 0
    .int 5 % 0
    .int (1
    .int 1 +
    .int 08
    .int 12abc
    .int 0x
    .int 99999999999999999999
    .int 1b
    .int 'ab'
    .int x@foo
    .int far * 2
    .int far + far
    .int far | 1
    .int -far
far:
    add $m0, $m0, far
    .set loop, loop + 1
    .int loop
    bri 9f
