/* Conversions that keep the order of values: limits, operands, cycles and reference of convert.S.
 */
#include "kernel/launch.h"

#include "num/f8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    OUTPUT = 0,
    SOURCE = 1,
    NFMT_F143 = 2,   /* $FP_NFMT: the arithmetic registers' side is F143 */
    SHIFT_MOST = 31, /* a difference of two scales */
    STICKY_BITS = 15 /* of an F32 mantissa below what decides the rounding to F143 */
};

static uint32_t value_bytes(PrecisionKind kind) {
    return precision_bytes((Precision){.kind = kind});
}

typedef struct Body {
    uint32_t from, to;      /* bytes of a value */
    uint32_t vector;        /* values converted at once */
    uint32_t vectors, tail; /* whole ones, values after them */
    bool fast;
} Body;

static bool is_rescale(const Body *body) {
    return body->from == 1 && body->to == 1;
}
static bool is_encode(const Body *body) {
    return body->from == 4 && body->to == 1;
}
static bool is_narrow(const Body *body) {
    return body->from == 4 && body->to == 2;
}

static Body body_of(const KernelConvert *convert) {
    Body body = {.from = value_bytes(convert->from), .to = value_bytes(convert->to)};
    body.vector = body.from == 1 ? 8 : 4;
    body.vectors = convert->count / body.vector;
    body.tail = convert->count % body.vector;
    if (convert->fast && !is_rescale(&body) && !is_encode(&body))
        body.fast = run_length(body.vectors) >= (is_narrow(&body) ? 2 : 1);
    return body;
}

static Status convert_check(const KernelSpec *spec, Diag *diag) {
    const KernelConvert *convert = &spec->convert;
    uint32_t from = value_bytes(convert->from), to = value_bytes(convert->to);
    if ((from == to && from != 1) || (from == 2 && to == 1) || (from == 1 && to == 4)) {
        char a[PRECISION_TEXT_SIZE], b[PRECISION_TEXT_SIZE];
        return diag_error(diag, ERR_KERNEL_PRECISION, DIAG_NOWHERE,
                          "there is no conversion kernel from %s to %s",
                          precision_print((Precision){.kind = convert->from}, a),
                          precision_print((Precision){.kind = convert->to}, b));
    }
    if (from == to && (convert->shift > SHIFT_MOST || convert->shift < -SHIFT_MOST))
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a conversion kernel that shifts by %d; two scales differ by at most %d",
                          convert->shift, SHIFT_MOST);
    Status status =
        check_operand_bytes("conversion", "output", (uint64_t)to * convert->count, diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("conversion", "source", (uint64_t)from * convert->count, diag);
    return status;
}

static bool has_scale(const Body *body) {
    return body->from + body->to == 3 || is_encode(body);
}

static void convert_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelConvert *convert = &spec->convert;
    Body body = body_of(convert);
    result->operand_count = 2;
    result->operands[OUTPUT] = (KernelOperand){.name = "output",
                                               .bytes = body.to * convert->count,
                                               .alignment = 8,
                                               .tail = -(body.to * convert->count) % 4,
                                               .read = body.to * body.tail % 4 > 0,
                                               .written = true,
                                               .apart = body.fast ? 1u << SOURCE : 0};
    result->operands[SOURCE] = (KernelOperand){
        .name = "source",
        .bytes = body.from * convert->count,
        .alignment = 8,
        .tail = body.tail ? body.from * (body.vector - body.tail) : 0,
        .memory_class = body.fast && is_narrow(&body) ? MEMORY_INTERLEAVED : MEMORY_STANDARD,
        .read = true,
        .apart = body.fast ? 1u << OUTPUT : 0};
    uint32_t count = 0;
    if (has_scale(&body))
        result->scalars[count++] = "scale exponent";
    result->free_scalars = count;
    result->scalars[count++] = "share";
    if (body.tail)
        result->scalars[count++] = "tail";
    result->scalar_count = count;
}

static void convert_scalars(const KernelSpec *spec, int32_t scalars[]) {
    Body body = body_of(&spec->convert);
    uint32_t first = has_scale(&body);
    scalars[first] = run_share(body.vectors);
    if (body.tail)
        scalars[first + 1] = pack_halves(body.vectors, body.tail);
}

/* ---- cycles */

/* Bundles of an odd shift beyond those of an even one, a vector. */
static uint64_t doubling(const KernelConvert *convert) {
    return convert->shift & 1 ? 2 : 0;
}

static uint64_t loop_bundles(const KernelConvert *convert, const Body *body) {
    uint64_t more = run_length(body->vectors) - 1;
    if (is_encode(body))
        return 9 + 6 + (more ? 3 + 12 * more : 0) + 13 + (body->tail > 0);
    if (is_rescale(body))
        return 9 + 3 + doubling(convert) + 1 + (3 + doubling(convert)) * more + 2;
    if (is_narrow(body))
        return body->fast ? 9 + 7 + more - 1 + 2 : 9 + 2 + 1 + 3 * more + 2;
    return body->fast ? 9 + 3 + 1 + 2 * more + 2 : 9 + 2 + 1 + 3 * more + 2;
}

/* From the test of the worker to the end, of the one that does it. */
static uint64_t tail_bundles(const KernelConvert *convert, const Body *body) {
    uint64_t sum = 2 + 2 + 2 + (body->from == 4) + 1; /* to the address in output */
    uint32_t bytes = body->to * body->tail;
    if (is_encode(body))
        return sum + 2 + 12 + 1 + 9;
    if (is_rescale(body))
        sum += 3 + doubling(convert);
    else
        sum += is_narrow(body) ? 1 : 2;
    sum += body->to > 1; /* bytes that count */
    if (body->to == 4)
        return sum + 3 * body->tail - (body->tail == 3 ? 2 : 0);
    for (uint32_t word = 0; bytes >= 4; word++) {
        sum += 6;
        bytes -= 4;
        if (bytes == 0)
            return sum;
    }
    uint32_t words = body->to * body->tail / 4, last = body->vector * body->to / 4 - 1;
    return sum + (words == last ? 1 : 3) + 9;
}

static uint64_t worker_bundles(const KernelConvert *convert, const Body *body, uint32_t worker) {
    uint64_t sum = 4 + 1;
    if (body->vectors)
        sum += loop_bundles(convert, body);
    if (body->tail)
        sum += worker == WORKERS - 1 ? tail_bundles(convert, body) : 2;
    return sum;
}

static uint64_t convert_cycles(const KernelSpec *spec, unsigned start) {
    Body body = body_of(&spec->convert);
    uint64_t bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++)
        bundles[w] = worker_bundles(&spec->convert, &body, w);
    unsigned before = 8u + (body.from == 1) + (body.vectors > 0) + (body.tail > 0);
    if (is_encode(&body))
        before = 16; /* 2^-scale takes three steps */
    return launch_cycles(start, before, bundles);
}

/* ---- source */

static void convert_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    static const char *const names[] = {
        [PRECISION_F8F143] = "f8", [PRECISION_F16] = "f16", [PRECISION_F32] = "f32"};
    const KernelConvert *convert = &spec->convert;
    Body body = body_of(convert);
    char shift[16] = "";
    if (is_rescale(&body))
        snprintf(shift, sizeof shift, "_%s%d", convert->shift < 0 ? "down" : "up",
                 convert->shift < 0 ? -convert->shift : convert->shift);
    snprintf(text, KERNEL_NAME_SIZE, "convert_%s_%s%s%s%s%s", names[convert->from],
             names[convert->to], shift, body.fast ? "_fast" : "", body.vectors ? "" : "_none",
             body.tail ? "_tail" : "");
}

static void convert_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelConvert *convert = &spec->convert;
    convert_entry(spec, text);
    size_t length = strlen(text);
    snprintf(text + length, KERNEL_NAME_SIZE - length, "%s_%" PRIu32, convert->fast ? "_apart" : "",
             convert->count);
}

static void convert_defines(const KernelSpec *spec, KernelSource *source) {
    Body body = body_of(&spec->convert);
    source_define(source, "FROM", body.from);
    source_define(source, "TO", body.to);
    source_define(source, "LOOP", body.vectors > 0);
    source_define(source, "TAIL", body.tail > 0);
    source_define(source, "FAST", body.fast);
    source_define(source, "SHIFT", spec->convert.shift);
    source_define(source, "NFMT_F143", NFMT_F143);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

/* ---- reference */

static uint8_t reference_encode(float value, int scale) {
    float scaled = value * f32_from_bits((uint32_t)(127 - scale) << 23);
    uint32_t bits = f32_bits(scaled), low = (1u << STICKY_BITS) - 1;
    bool sticky = bits & low || scaled != scaled;
    bits = (bits & ~low) | (sticky ? 1u << STICKY_BITS : 0);
    F16 half = f32_to_f16(f32_from_bits(bits), F16_OVERFLOW_SATURATE);
    return f8_from_f16(half, F8_F143, 0, F8_DEVICE_SATURATE);
}

static uint8_t reference_rescale(uint8_t code, int shift) {
    int odd = shift & 1, half = (shift - odd) / 2;
    F16 value = f8_to_f16(code, F8_F143, half, F16_OVERFLOW_SATURATE);
    if (odd)
        value = f32_to_f16(2 * f16_to_f32(value), F16_OVERFLOW_SATURATE);
    return f8_from_f16(value, F8_F143, -half, F8_DEVICE_SATURATE);
}

static void convert_reference(const KernelSpec *spec, void *const operands[],
                              const int32_t scalars[]) {
    const KernelConvert *convert = &spec->convert;
    Body body = body_of(convert);
    const void *source = operands[SOURCE];
    void *output = operands[OUTPUT];
    size_t count = convert->count;
    if (is_encode(&body)) {
        const float *values = source;
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)output)[i] = reference_encode(values[i], scalars[0]);
    } else if (is_rescale(&body)) {
        const uint8_t *codes = source;
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)output)[i] = reference_rescale(codes[i], convert->shift);
    } else if (is_narrow(&body)) {
        f16_narrow_all(output, source, count, F16_OVERFLOW_SATURATE);
    } else if (body.from == 1) {
        f8_decode_f16(output, source, count, F8_F143, scalars[0], F16_OVERFLOW_SATURATE);
    } else {
        f16_widen_all(output, source, count);
    }
}

static bool convert_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelConvert *x = &a->convert, *y = &b->convert;
    bool rescale = x->from == PRECISION_F8F143 && x->to == PRECISION_F8F143;
    return x->panels == y->panels && x->from == y->from && x->to == y->to && x->fast == y->fast &&
           x->count == y->count && (!rescale || x->shift == y->shift);
}

const FamilyInfo family_convert = {
    .file = "convert.S",
    .check = convert_check,
    .interface = convert_interface,
    .cycles = convert_cycles,
    .scalars = convert_scalars,
    .name = convert_name,
    .entry = convert_entry,
    .defines = convert_defines,
    .reference = convert_reference,
    .equal = convert_equal,
};
