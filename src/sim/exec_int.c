/* Semantics of integer, permute and bitwise instructions of both register files, and of branches.
 * Each function is one form of isa.def; s, t are its sources in the order of the form. */
#include "sim/internal.h"

/* d = f(s, t), f(s, imm), f(s) in main (m) or arithmetic (a) registers. */
#define OP_REG_REG(name, file, expression)                                                         \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t s = c->file[h->r[1]], t = c->file[h->r[2]];                                       \
        c->file[h->r[0]] = (uint32_t)(expression);                                                 \
    }                                                                                              \
    GROUP(name)
#define OP_REG_IMM(name, file, expression)                                                         \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t s = c->file[h->r[1]], t = (uint32_t)h->imm;                                       \
        c->file[h->r[0]] = (uint32_t)(expression);                                                 \
    }                                                                                              \
    GROUP(name)
#define OP_REG(name, file, expression)                                                             \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t s = c->file[h->r[1]];                                                             \
        c->file[h->r[0]] = (uint32_t)(expression);                                                 \
    }                                                                                              \
    GROUP(name)
/* The same on pairs of arithmetic registers, word by word. */
#define OP_PAIR(name, expression)                                                                  \
    static void name(Context *c, const Half *h) {                                                  \
        for (unsigned i = 0; i < 2; i++) {                                                         \
            uint32_t s = c->a[h->r[1] + i], t = c->a[h->r[2] + i];                                 \
            c->a[h->r[0] + i] = (expression);                                                      \
        }                                                                                          \
    }                                                                                              \
    GROUP(name)
#define OP_BOTH_SOURCES(name, expression)                                                          \
    OP_REG_REG(name, m, expression)                                                                \
    OP_REG_IMM(name##_imm, m, expression)

static inline int32_t as_signed(uint32_t value) {
    return (int32_t)value;
}
static inline uint32_t shift_left(uint32_t s, uint32_t t) {
    return t < CHIP_SHIFT_LIMIT ? s << t : 0;
}
static inline uint32_t shift_right(uint32_t s, uint32_t t) {
    return t < CHIP_SHIFT_LIMIT ? s >> t : 0;
}
static inline uint32_t shift_signed(uint32_t s, uint32_t t) {
    return (uint32_t)(as_signed(s) >> MIN_OF(t, 31u));
}
/* Byte i of s, placed as byte j. */
static inline uint32_t byte_to(uint32_t s, unsigned i, unsigned j) {
    return (s >> 8 * i & 0xFF) << 8 * j;
}
static inline uint32_t halves(uint32_t low, uint32_t high) {
    return low | high << 16;
}

OP_BOTH_SOURCES(add, s + t)
OP_REG_REG(sub, m, s - t)
OP_BOTH_SOURCES(mul, s *t)
OP_BOTH_SOURCES(and, s &t)
OP_BOTH_SOURCES(andc, s & ~t)
OP_BOTH_SOURCES(or, s | t)
OP_REG_REG(xor, m, s ^ t)
OP_REG_REG(xnor, m, ~(s ^ t))
OP_BOTH_SOURCES(shl, shift_left(s, t))
OP_BOTH_SOURCES(shr, shift_right(s, t))
OP_BOTH_SOURCES(shrs, shift_signed(s, t))
OP_BOTH_SOURCES(cmpeq, s == t)
OP_REG_REG(cmpne, m, s != t)
OP_BOTH_SOURCES(cmpslt, as_signed(s) < as_signed(t))
OP_BOTH_SOURCES(cmpult, s < t)
OP_BOTH_SOURCES(min, as_signed(s) < as_signed(t) ? s : t)
OP_BOTH_SOURCES(max, as_signed(s) > as_signed(t) ? s : t)
OP_REG(abs_value, m, as_signed(s) < 0 ? 0 - s : s)
OP_REG(clz, m, s ? __builtin_clz(s) : 32)
OP_REG(cms, m, __builtin_clrsb(as_signed(s)))
OP_REG(popc, m, __builtin_popcount(s))
OP_REG(swap16, m, s << 16 | s >> 16)
OP_REG(sort8, m, byte_to(s, 0, 0) | byte_to(s, 2, 1) | byte_to(s, 1, 2) | byte_to(s, 3, 3))
OP_REG(swap8, m, (s << 8 & 0xFF00FF00) | (s >> 8 & 0x00FF00FF))

static uint32_t reverse_bits_in_bytes(uint32_t s) {
    s = (s >> 1 & 0x55555555) | (s & 0x55555555) << 1;
    s = (s >> 2 & 0x33333333) | (s & 0x33333333) << 2;
    return (s >> 4 & 0x0F0F0F0F) | (s & 0x0F0F0F0F) << 4;
}
OP_REG(bitrev8, m, reverse_bits_in_bytes(s))

/* Operand order of the immediate forms of sub: d, imm, t. */
static void sub_imm(Context *c, const Half *h) {
    c->m[h->r[0]] = (uint32_t)h->imm - c->m[h->r[1]];
}
GROUP(sub_imm)

static void setzi(Context *c, const Half *h) {
    c->m[h->r[0]] = (uint32_t)h->imm;
}
GROUP(setzi)
static void setzi_a(Context *c, const Half *h) {
    c->a[h->r[0]] = (uint32_t)h->imm;
}
GROUP(setzi_a)
static void atom(Context *c, const Half *h) {
    c->m[h->r[0]] = c->a[h->r[1]];
}
GROUP(atom)

/* d is also read, so that its number is not a spare one. */
static void move_if(Context *c, const Half *h, bool condition) {
    if (condition && h->r[0] < 12)
        c->m[h->r[0]] = c->m[h->r[2]];
}
static void movz(Context *c, const Half *h) {
    move_if(c, h, c->m[h->r[1]] == 0);
}
GROUP(movz)
static void movnz(Context *c, const Half *h) {
    move_if(c, h, c->m[h->r[1]] != 0);
}
GROUP(movnz)

/* Permutes that exist on both files. */
#define PERMUTE(name, expression)                                                                  \
    OP_REG_REG(name, m, expression)                                                                \
    OP_REG_REG(name##_a, a, expression)

PERMUTE(roll8r, s >> 8 | t << 24)
PERMUTE(roll8l, t << 8 | s >> 24)
PERMUTE(roll16, halves(s >> 16, t & 0xFFFF))
PERMUTE(sort4x16lo, halves(s & 0xFFFF, t & 0xFFFF))
PERMUTE(sort4x16hi, halves(s >> 16, t >> 16))
PERMUTE(shuf8x8lo, byte_to(s, 0, 0) | byte_to(t, 0, 1) | byte_to(s, 1, 2) | byte_to(t, 1, 3))
PERMUTE(shuf8x8hi, byte_to(s, 2, 0) | byte_to(t, 2, 1) | byte_to(s, 3, 2) | byte_to(t, 3, 3))
PERMUTE(sort8x8lo, byte_to(s, 0, 0) | byte_to(s, 2, 1) | byte_to(t, 0, 2) | byte_to(t, 2, 3))
PERMUTE(sort8x8hi, byte_to(s, 1, 0) | byte_to(s, 3, 1) | byte_to(t, 1, 2) | byte_to(t, 3, 3))
OP_REG_REG(sort4x16lo_a_bu, a, halves(s >> 16, t & 0xFFFF))
OP_REG_REG(sort4x16hi_a_bl, a, halves(s & 0xFFFF, t >> 16))

/* Arithmetic registers as bits. */
OP_REG_REG(and_a, a, s &t)
OP_REG_IMM(and_a_imm, a, s &t)
OP_REG_REG(andc_a, a, s & ~t)
OP_REG_IMM(andc_a_imm, a, s & ~t)
OP_REG_REG(or_a, a, s | t)
OP_REG_IMM(or_a_imm, a, s | t)
OP_REG(not_a, a, ~s)
OP_PAIR(and64, s &t)
OP_PAIR(andc64, s & ~t)
OP_PAIR(or64, s | t)

static void not64(Context *c, const Half *h) {
    for (unsigned i = 0; i < 2; i++)
        c->a[h->r[0] + i] = ~c->a[h->r[1] + i];
}
GROUP(not64)

/* d = {s[i], t[j]}; d may be s or t. */
static void pair_of(Context *c, const Half *h, unsigned i, unsigned j) {
    uint32_t low = c->a[h->r[1] + i], high = c->a[h->r[2] + j];
    c->a[h->r[0]] = low;
    c->a[h->r[0] + 1] = high;
}
static void sort4x32lo(Context *c, const Half *h) {
    pair_of(c, h, 0, 0);
}
GROUP(sort4x32lo)
static void sort4x32hi(Context *c, const Half *h) {
    pair_of(c, h, 1, 1);
}
GROUP(sort4x32hi)
static void roll32(Context *c, const Half *h) {
    pair_of(c, h, 1, 0);
}
GROUP(roll32)

/* tapack: three 21-bit addresses in a pair; the third is split over the upper bits. */
static void tapack(Context *c, const Half *h) {
    const uint32_t mask = (1u << CHIP_ADDRESS_BITS) - 1;
    const uint32_t low_mask = (1u << CHIP_TAPACK_A2_LOW_BITS) - 1;
    uint32_t third = c->m[h->r[3]] & mask;
    uint32_t low = (c->m[h->r[1]] & mask) | (third & low_mask) << CHIP_ADDRESS_BITS;
    uint32_t high = (c->m[h->r[2]] & mask) | third >> CHIP_TAPACK_A2_LOW_BITS << CHIP_ADDRESS_BITS;
    c->m[h->r[0]] = low;
    c->m[h->r[0] + 1] = high;
}
GROUP(tapack)

/* Branches -------------------------------------------------------------------------------------*/

static void take(Context *c, uint32_t target) {
    context_jump(c, target);
    if (c->index == SUPERVISOR)
        c->tile->supervisor.next = c->cycle + c->tile->machine->options.timing.taken_branch;
}

#define BRANCH_IF(name, condition)                                                                 \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t s = c->m[h->r[0]];                                                                \
        if (condition)                                                                             \
            take(c, (uint32_t)h->imm);                                                             \
    }
BRANCH_IF(brz, s == 0)
BRANCH_IF(brnz, s != 0)
BRANCH_IF(brneg, as_signed(s) < 0)
BRANCH_IF(brpos, as_signed(s) >= 0)

static void brnzdec(Context *c, const Half *h) {
    uint32_t s = c->m[h->r[0]];
    if (s == 0)
        return;
    if (h->r[0] < 12)
        c->m[h->r[0]] = s - 1;
    take(c, (uint32_t)h->imm);
}

static void br(Context *c, const Half *h) {
    uint32_t target = c->m[h->r[0]];
    take(c, target);
    if (c->index == SUPERVISOR)
        tile_event(c->tile, c->cycle, EVENT_RETURN, target);
}

static void bri(Context *c, const Half *h) {
    take(c, (uint32_t)h->imm);
}

static void call(Context *c, const Half *h) {
    c->m[h->r[0]] = context_next_pc(c);
    take(c, (uint32_t)h->imm);
    if (c->index == SUPERVISOR) {
        tile_event(c->tile, c->cycle, EVENT_CALL, (uint32_t)h->imm);
        row_called(c, (uint32_t)h->imm);
    }
}

#define FORMS(ROW)                                                                                 \
    ROW(ADD, add)                                                                                  \
    ROW(ADD_I16, add_imm)                                                                          \
    ROW(ADD_Z16, add_imm)                                                                          \
    ROW(SUB, sub)                                                                                  \
    ROW(SUB_I16, sub_imm)                                                                          \
    ROW(SUB_Z16, sub_imm)                                                                          \
    ROW(MUL, mul)                                                                                  \
    ROW(MUL_I16, mul_imm)                                                                          \
    ROW(AND, and)                                                                                  \
    ROW(AND_U12, and_imm)                                                                          \
    ROW(ANDC, andc)                                                                                \
    ROW(ANDC_U12, andc_imm)                                                                        \
    ROW(OR, or)                                                                                    \
    ROW(OR_U12, or_imm)                                                                            \
    ROW(OR_HI12, or_imm)                                                                           \
    ROW(XOR, xor)                                                                                  \
    ROW(XNOR, xnor)                                                                                \
    ROW(SHL, shl)                                                                                  \
    ROW(SHL_U12, shl_imm)                                                                          \
    ROW(SHR, shr)                                                                                  \
    ROW(SHR_U12, shr_imm)                                                                          \
    ROW(SHRS, shrs)                                                                                \
    ROW(SHRS_U12, shrs_imm)                                                                        \
    ROW(CMPEQ, cmpeq)                                                                              \
    ROW(CMPEQ_Z16, cmpeq_imm)                                                                      \
    ROW(CMPEQ_I16, cmpeq_imm)                                                                      \
    ROW(CMPNE, cmpne)                                                                              \
    ROW(CMPSLT, cmpslt)                                                                            \
    ROW(CMPSLT_I16, cmpslt_imm)                                                                    \
    ROW(CMPULT, cmpult)                                                                            \
    ROW(CMPULT_Z16, cmpult_imm)                                                                    \
    ROW(MIN, min)                                                                                  \
    ROW(MIN_I16, min_imm)                                                                          \
    ROW(MIN_Z16, min_imm)                                                                          \
    ROW(MAX, max)                                                                                  \
    ROW(MAX_I16, max_imm)                                                                          \
    ROW(MAX_Z16, max_imm)                                                                          \
    ROW(ABS, abs_value)                                                                            \
    ROW(CLZ, clz)                                                                                  \
    ROW(CMS, cms)                                                                                  \
    ROW(POPC, popc)                                                                                \
    ROW(MOVZ, movz)                                                                                \
    ROW(MOVNZ, movnz)                                                                              \
    ROW(SETZI, setzi)                                                                              \
    ROW(ATOM, atom)                                                                                \
    ROW(ROLL8R, roll8r)                                                                            \
    ROW(ROLL8L, roll8l)                                                                            \
    ROW(ROLL16, roll16)                                                                            \
    ROW(SORT4X16LO, sort4x16lo)                                                                    \
    ROW(SORT4X16HI, sort4x16hi)                                                                    \
    ROW(SHUF8X8LO, shuf8x8lo)                                                                      \
    ROW(SHUF8X8HI, shuf8x8hi)                                                                      \
    ROW(SORT8X8LO, sort8x8lo)                                                                      \
    ROW(SORT8X8HI, sort8x8hi)                                                                      \
    ROW(SWAP16, swap16)                                                                            \
    ROW(SORT8, sort8)                                                                              \
    ROW(SWAP8, swap8)                                                                              \
    ROW(BITREV8, bitrev8)                                                                          \
    ROW(TAPACK, tapack)                                                                            \
    ROW(AND_A, and_a)                                                                              \
    ROW(AND_A_U12, and_a_imm)                                                                      \
    ROW(AND_A_HI12, and_a_imm)                                                                     \
    ROW(ANDC_A, andc_a)                                                                            \
    ROW(ANDC_A_U12, andc_a_imm)                                                                    \
    ROW(ANDC_A_HI12, andc_a_imm)                                                                   \
    ROW(OR_A, or_a)                                                                                \
    ROW(OR_A_U12, or_a_imm)                                                                        \
    ROW(OR_A_HI12, or_a_imm)                                                                       \
    ROW(NOT_A, not_a)                                                                              \
    ROW(AND64, and64)                                                                              \
    ROW(ANDC64, andc64)                                                                            \
    ROW(OR64, or64)                                                                                \
    ROW(NOT64, not64)                                                                              \
    ROW(SETZI_A, setzi_a)                                                                          \
    ROW(SORT4X16LO_A, sort4x16lo_a)                                                                \
    ROW(SORT4X16HI_A, sort4x16hi_a)                                                                \
    ROW(ROLL16_A, roll16_a)                                                                        \
    ROW(SORT4X16LO_A_BU, sort4x16lo_a_bu)                                                          \
    ROW(SORT4X16HI_A_BL, sort4x16hi_a_bl)                                                          \
    ROW(SORT4X32LO, sort4x32lo)                                                                    \
    ROW(SORT4X32HI, sort4x32hi)                                                                    \
    ROW(ROLL32, roll32)                                                                            \
    ROW(ROLL8R_A, roll8r_a)                                                                        \
    ROW(ROLL8L_A, roll8l_a)                                                                        \
    ROW(SORT8X8LO_A, sort8x8lo_a)                                                                  \
    ROW(SORT8X8HI_A, sort8x8hi_a)                                                                  \
    ROW(SHUF8X8LO_A, shuf8x8lo_a)                                                                  \
    ROW(SHUF8X8HI_A, shuf8x8hi_a)

ExecTable exec_int = {
    /* Branches. */
    [ISA_BR] = br,       [ISA_BRI] = bri,         [ISA_CALL] = call,
    [ISA_BRZ] = brz,     [ISA_BRNZ] = brnz,       [ISA_BRNEG] = brneg,
    [ISA_BRPOS] = brpos, [ISA_BRNZDEC] = brnzdec, FORMS(EXEC_ROW)};
GroupTable group_int = {FORMS(GROUP_ROW)};
