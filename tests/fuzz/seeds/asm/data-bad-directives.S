    .frobnicate 1
    .type x
    .size x
    .globl
    .set
    .set x
    .equiv A, 1
    .equiv A, 2
    .worker x
