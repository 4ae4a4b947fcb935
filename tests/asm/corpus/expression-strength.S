// as GNU assemblers: | & ^ before + -, and all before comparisons
    .int 1 + 2 | 4
    .int 8 - 3 & 1
    .int 2 * 3 << 1
    .int 1 + 1 == 2
    .int 1 | 2 == 3
    .int -1 + 2 * -3
