/* Names that hand-written kernels of the public libraries take from the SDK's headers, for sources
 * that are assembled with `tilework asm` (C preprocessor) and for C. Their values are those of
 * `tilework isa --evidence`; the phase immediates are assumed. `tilework asm` knows the names
 * without this file too: it is needed where the preprocessor itself has to know them. */
#ifndef TILEWORK_ASM_IPU21_H
#define TILEWORK_ASM_IPU21_H

#ifndef CTXT_WORKERS
#define CTXT_WORKERS 6
#endif
#ifndef TAMP_F16V4_E4_P0
#define TAMP_F16V4_E4_P0 0
#endif
#ifndef TAMP_F16V4_E4_P1
#define TAMP_F16V4_E4_P1 1
#endif
#ifndef TAMP_F16V4_E4_P2
#define TAMP_F16V4_E4_P2 2
#endif
#ifndef TAMP_F16V4_E4_P3
#define TAMP_F16V4_E4_P3 3
#endif
#ifndef TAMP_F16V4_E2_P0
#define TAMP_F16V4_E2_P0 4
#endif
#ifndef TAMP_F16V4_E2_P1
#define TAMP_F16V4_E2_P1 5
#endif
#ifndef TAMP_F16V4_E1_P0
#define TAMP_F16V4_E1_P0 6
#endif
#ifndef TAMP_F8V8_E4_P0
#define TAMP_F8V8_E4_P0 0
#endif
#ifndef TAMP_F8V8_E4_P1
#define TAMP_F8V8_E4_P1 1
#endif
#ifndef TAMP_F8V8_E4_P2
#define TAMP_F8V8_E4_P2 2
#endif
#ifndef TAMP_F8V8_E4_P3
#define TAMP_F8V8_E4_P3 3
#endif
#ifndef TAMP_F32_E4_P0
#define TAMP_F32_E4_P0 0
#endif
#ifndef TAMP_F32_E4_P1
#define TAMP_F32_E4_P1 1
#endif
#ifndef TAMP_F32_E4_P2
#define TAMP_F32_E4_P2 2
#endif
#ifndef TAMP_F32_E4_P3
#define TAMP_F32_E4_P3 3
#endif
#ifndef TAMP_F32_E4_P4
#define TAMP_F32_E4_P4 4
#endif
#ifndef TAMP_F32_E4_P5
#define TAMP_F32_E4_P5 5
#endif
#ifndef TAMP_F32_E4_P6
#define TAMP_F32_E4_P6 6
#endif
#ifndef TAMP_F32_E4_P7
#define TAMP_F32_E4_P7 7
#endif
#ifndef TAMP_F32_E2_P0
#define TAMP_F32_E2_P0 8
#endif
#ifndef TAMP_F32_E2_P1
#define TAMP_F32_E2_P1 9
#endif
#ifndef TAMP_F32_E2_P2
#define TAMP_F32_E2_P2 10
#endif
#ifndef TAMP_F32_E2_P3
#define TAMP_F32_E2_P3 11
#endif
#ifndef TAMP_F32_E1_P0
#define TAMP_F32_E1_P0 12
#endif
#ifndef TAMP_F32_E1_P2
#define TAMP_F32_E1_P2 14
#endif
#ifndef TSLIC_F16V4_1x4_W0
#define TSLIC_F16V4_1x4_W0 0
#endif
#ifndef TSLIC_F16V4_1x4_W1
#define TSLIC_F16V4_1x4_W1 1
#endif
#ifndef TISTACC_P0
#define TISTACC_P0 0
#endif
#ifndef TISTACC_P1
#define TISTACC_P1 1
#endif
#ifndef TSTACC_P0
#define TSTACC_P0 0
#endif
#ifndef TSTACC_P1
#define TSTACC_P1 1
#endif
#ifndef CSR_W_WSR__INDEX
#define CSR_W_WSR__INDEX 1
#endif
#ifndef CSR_W_WSR__CTXTID_M1__MASK
#define CSR_W_WSR__CTXTID_M1__MASK 7
#endif
#ifndef CSR_W_FP_CLR__INDEX
#define CSR_W_FP_CLR__INDEX 257
#endif
#ifndef CSR_W_FP_CLR__ZAACC__SHIFT
#define CSR_W_FP_CLR__ZAACC__SHIFT 3
#endif
#ifndef CSR_W_FP_CLR__ZAACC__MASK
#define CSR_W_FP_CLR__ZAACC__MASK 1
#endif
#ifndef CSR_W_REPEAT_COUNT__VALUE__MASK
#define CSR_W_REPEAT_COUNT__VALUE__MASK 0xFFFF
#endif
#ifndef CSR_W_FP_CTL__INDEX
#define CSR_W_FP_CTL__INDEX 258
#endif
#ifndef CSR_W_FP_NFMT__INDEX
#define CSR_W_FP_NFMT__INDEX 265
#endif
#ifndef CSR_W_FP_SCL__INDEX
#define CSR_W_FP_SCL__INDEX 266
#endif
#ifndef CSR_UPPER_MASK
#define CSR_UPPER_MASK 255
#endif
#ifndef CSR_S_FP_ICTL__INDEX
#define CSR_S_FP_ICTL__INDEX 32
#endif
#ifndef CSR_S_CCCSLOAD__INDEX
#define CSR_S_CCCSLOAD__INDEX 80
#endif
#ifndef CSR_S_FP_INFMT__INDEX
#define CSR_S_FP_INFMT__INDEX 49
#endif
#ifndef CSR_S_FP_ISCL__INDEX
#define CSR_S_FP_ISCL__INDEX 51
#endif
#ifndef CSR_S_FP_ICTL__OFLO__SHIFT
#define CSR_S_FP_ICTL__OFLO__SHIFT 2
#endif
#ifndef CSR_S_FP_ICTL__OFLO__MASK
#define CSR_S_FP_ICTL__OFLO__MASK 1
#endif
#ifndef CSR_S_FP_ICTL__ESR__SHIFT
#define CSR_S_FP_ICTL__ESR__SHIFT 19
#endif
#ifndef CSR_S_FP_ICTL__ESR__MASK
#define CSR_S_FP_ICTL__ESR__MASK 1
#endif
#ifndef CSR_S_FP_ICTL__NANOO__SHIFT
#define CSR_S_FP_ICTL__NANOO__SHIFT 20
#endif
#ifndef CSR_S_FP_ICTL__NANOO__MASK
#define CSR_S_FP_ICTL__NANOO__MASK 1
#endif
#ifndef TEXCH_SYNCZONE_LOCAL
#define TEXCH_SYNCZONE_LOCAL 2
#endif
#ifndef TMEM_REGION0_BASE_ADDR
#define TMEM_REGION0_BASE_ADDR 0x4C000
#endif
#ifndef TMEM_BYTE_MAX_ADDRESS_WIDTH
#define TMEM_BYTE_MAX_ADDRESS_WIDTH 21
#endif
#ifndef TMEM_FULL_ADDRESS_MASK
#define TMEM_FULL_ADDRESS_MASK 0x1FFFFF
#endif
#ifndef TMEM_ELEMSIZE
#define TMEM_ELEMSIZE 0x4000
#endif
#ifndef TFPU_FP32_TRUE
#define TFPU_FP32_TRUE 0xFFFFFFFF
#endif
#ifndef TFPU_FP32_FALSE
#define TFPU_FP32_FALSE 0
#endif
#ifndef TFPU_FP16_TRUE
#define TFPU_FP16_TRUE 0xFFFF
#endif
#ifndef TFPU_FP16_FALSE
#define TFPU_FP16_FALSE 0
#endif
#ifndef TFPU_ROUND_ZERO
#define TFPU_ROUND_ZERO 3
#endif

#endif
