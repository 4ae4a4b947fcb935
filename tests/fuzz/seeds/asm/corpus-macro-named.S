.macro store reg, offset, base
    st32 \reg, \base, $mzero, \offset
.endm
    .worker
    store base=$m1, reg=$m2, offset=3
    store $m3, base=$m4, offset=5
    store offset=1 reg=$a0 base=$m5
