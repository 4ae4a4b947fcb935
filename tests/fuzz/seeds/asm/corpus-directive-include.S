    .include "parts/constants.inc"
    .worker
    setzi $m0, FROM_PARTS
    .include "parts/chain.inc"
    PART $m1
