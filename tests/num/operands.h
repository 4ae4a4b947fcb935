/* Random operands of the AMP step, of kinds that find different faults. */
#pragma once

#include "num/amp.h"
#include "numtest.h"

typedef enum OperandKind {
    OPERANDS_PLAIN,  /* bell-shaped, as in real layers */
    OPERANDS_WIDE,   /* any finite exponent: sums that a double cannot hold */
    OPERANDS_CANCEL, /* pairs that cancel, beside small ones */
    OPERANDS_SPARSE, /* mostly zeros of both signs */
    OPERANDS_TINY,   /* subnormals and their neighbours */
    OPERANDS_ANY,    /* any bit pattern, NaN and infinities included */
    OPERAND_KINDS
} OperandKind;

/* A half that goes with `pair`: the one before it in the same vector, negated in one operand of the
 * products and as it is in the other, so that they cancel. */
static inline F16 random_half(Random *random, OperandKind kind, F16 pair) {
    uint64_t bits = random_next(random);
    F16 any = (F16)bits, finite = (any & 0x7C00) == 0x7C00 ? (F16)(any ^ 0x2000) : any;
    switch (kind) {
    case OPERANDS_PLAIN: return f32_to_f16(random_d1(random, 1.0), F16_OVERFLOW_INFINITE);
    case OPERANDS_WIDE: return finite;
    case OPERANDS_CANCEL: return bits >> 20 & 1 ? pair : finite;
    case OPERANDS_SPARSE: return bits >> 20 & 3 ? (F16)(any & 0x8000) : finite;
    case OPERANDS_TINY: return (F16)(any & 0x87FF);
    default: return any;
    }
}

static inline uint8_t random_code(Random *random, OperandKind kind, uint8_t pair) {
    uint64_t bits = random_next(random);
    uint8_t any = (uint8_t)bits, finite = any == F8_NAN ? 0x7F : any;
    switch (kind) {
    case OPERANDS_PLAIN: return f8_from_f64((double)random_d1(random, 1.0), F8_F143, -4, F8_HOST);
    case OPERANDS_WIDE: return finite;
    case OPERANDS_CANCEL: return bits >> 8 & 1 ? pair : finite;
    case OPERANDS_SPARSE: return bits >> 8 & 3 ? 0 : finite;
    case OPERANDS_TINY: return finite & 0x8F;
    default: return any;
    }
}

static inline F16 negated_half(F16 half) {
    return half ^ 0x8000;
}

static inline uint8_t negated_code(uint8_t code) {
    return code == 0 ? 0 : code ^ 0x80;
}

/* An accumulator: a finite F16, or a float32 within some range of 1, or any bits at all. */
static inline float random_acc(Random *random, OperandKind kind) {
    uint64_t bits = random_next(random);
    uint32_t pattern = (uint32_t)bits;
    if (kind == OPERANDS_ANY && bits >> 32 & 1)
        return f32_from_bits(pattern);
    if (bits >> 33 & 1)
        return f16_to_f32(random_half(random, kind, 0));
    return f32_from_bits((pattern & 0x807FFFFFu) | (127 - 50 + (pattern >> 23 & 0xFF) % 100) << 23);
}
