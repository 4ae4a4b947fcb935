    .worker
    and $m0, $m0, CSR_W_WSR__CTXTID_M1__MASK
    get $m0, CSR_W_WSR__INDEX
    setzi $a0, CSR_W_FP_CLR__ZAACC__MASK << CSR_W_FP_CLR__ZAACC__SHIFT
    uput CSR_W_FP_CTL__INDEX & CSR_UPPER_MASK, $a0
    setzi $m1, TMEM_REGION0_BASE_ADDR
    shr $m2, $m2, TMEM_BYTE_MAX_ADDRESS_WIDTH
    f32int $a0, $a0, TFPU_ROUND_ZERO
    setzi $a1, TFPU_FP16_TRUE
    cmpult $m3, $m3, CTXT_WORKERS
    min $m3, $m3, CSR_W_REPEAT_COUNT__VALUE__MASK
    .supervisor
    sync TEXCH_SYNCZONE_LOCAL
    put CSR_S_FP_ISCL__INDEX, $m0
    put CSR_S_FP_INFMT__INDEX, $m0
    put CSR_S_CCCSLOAD__INDEX, $m0
