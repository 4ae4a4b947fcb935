/* Cast F16 to F143 in place: limits, operands, cycles and reference of cast_in_place.S. */
#include "kernel/launch.h"

#include "num/f8.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    VECTOR = 8,      /* values converted at once */
    FIRST_MOST = 12, /* vectors of worker 0 alone */
    NFMT_F143 = 2,
    SOURCE_BYTES = 2 /* of a value */
};

typedef struct Body {
    uint32_t first, doubling, rest; /* vectors; launches; vectors */
    uint32_t vectors, tail;         /* whole ones; values after them */
} Body;

static Body body_of(const KernelCast *cast) {
    Body body = {.vectors = cast->count / VECTOR, .tail = cast->count % VECTOR};
    body.first = MIN_OF(body.vectors, (uint32_t)FIRST_MOST);
    uint32_t done = body.first;
    for (; done == (uint32_t)FIRST_MOST << body.doubling && 2 * done <= body.vectors;
         body.doubling++)
        done *= 2;
    body.rest = body.vectors - done;
    return body;
}

static Status cast_check(const KernelSpec *spec, Diag *diag) {
    return check_operand_bytes("cast", "values", SOURCE_BYTES * (uint64_t)spec->cast.count, diag);
}

static void cast_interface(const KernelSpec *spec, KernelInterface *result) {
    Body body = body_of(&spec->cast);
    result->operand_count = 1;
    result->operands[0] =
        (KernelOperand){.name = "values",
                        .bytes = SOURCE_BYTES * spec->cast.count,
                        .alignment = 8,
                        .tail = body.tail ? SOURCE_BYTES * (VECTOR - body.tail) : 0,
                        .read = true,
                        .written = true};
    static const char *const names[] = {"scale exponent", "first", "doubling launches", "share",
                                        "tail"};
    for (uint32_t i = 0; i < COUNT_OF(names); i++)
        result->scalars[i] = names[i];
    result->free_scalars = 1;
    result->scalar_count = COUNT_OF(names);
}

static void cast_scalars(const KernelSpec *spec, int32_t scalars[]) {
    Body body = body_of(&spec->cast);
    scalars[1] = (int32_t)body.first;
    scalars[2] = (int32_t)body.doubling - 1;
    scalars[3] = run_share(body.rest);
    scalars[4] = pack_halves(body.vectors, body.tail);
}

/* ---- cycles */

/* Cycles from the runall at cycle `at` of a launch to the join, where the first worker executes
 * `longest` bundles and the others `others`. */
static uint64_t joined(uint64_t at, uint64_t longest, uint64_t others) {
    uint64_t first = at + CHIP_RUNALL_LATENCY, last = 0;
    for (unsigned worker = 0; worker < WORKERS; worker++) {
        uint64_t wait =
            (worker + CHIP_WORKER_SLOTS - first % CHIP_WORKER_SLOTS) % CHIP_WORKER_SLOTS;
        uint64_t bundles = worker ? others : longest;
        last = MAX_OF(last, wait + CHIP_WORKER_BUNDLE * (bundles - 1));
    }
    return first + last + CHIP_EXIT_TO_RESUME;
}

static uint64_t many_bundles(uint32_t vectors) {
    return 16 + 3 * (uint64_t)vectors;
}

static uint64_t cast_cycles(const KernelSpec *spec, unsigned start) {
    static const uint8_t tail_bundles[VECTOR] = {0, 25, 25, 25, 20, 29, 29, 29};
    Body body = body_of(&spec->cast);
    bool first = body.first > 0;
    enum {
        BRANCH_DELAY = 1 + CHIP_SUP_TAKEN_BRANCH + CHIP_SYNC_PASSED - CHIP_EXIT_TO_RESUME,
        STORED = CHIP_SUP_RESULT_LATENCY + 2
    }; /* from a join to the runall */
    uint64_t now =
        start + CHIP_SUP_TAKEN_BRANCH + CHIP_SUP_RESULT_LATENCY + 3 + first + (body.tail > 0);
    if (first)
        now = joined(now, many_bundles(body.first) + (body.doubling || body.rest ? 5 : 1), 6);
    for (uint32_t i = 0; i < body.doubling; i++) {
        now = joined(now + STORED, many_bundles(2u << i), many_bundles(2u << i));
        now += i + 1 < body.doubling ? BRANCH_DELAY : 0;
    }
    if (body.rest) {
        uint64_t bundles = many_bundles(run_length(body.rest));
        now = joined(now + STORED, bundles, bundles);
    }
    if (body.tail)
        now = joined(now + (first ? 2 : 0), tail_bundles[body.tail], 6);
    return now + CHIP_SUP_TAKEN_BRANCH - start;
}

/* ---- source */

static void cast_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    Body body = body_of(&spec->cast);
    snprintf(text, KERNEL_NAME_SIZE, "cast_in_place%s%s%s%s", body.first ? "" : "_none",
             body.doubling ? "_doubling" : "", body.rest ? "_rest" : "", body.tail ? "_tail" : "");
}

static void cast_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    snprintf(text, KERNEL_NAME_SIZE, "cast_in_place_%" PRIu32, spec->cast.count);
}

static void cast_defines(const KernelSpec *spec, KernelSource *source) {
    Body body = body_of(&spec->cast);
    source_define(source, "FIRST", body.first > 0);
    source_define(source, "DOUBLING", body.doubling > 0);
    source_define(source, "REST", body.rest > 0);
    source_define(source, "TAIL", body.tail > 0);
    source_define(source, "NFMT_F143", NFMT_F143);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

/* ---- reference */

static void cast_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    const F16 *source = operands[0];
    uint8_t *output = operands[0];
    for (uint32_t i = 0; i < spec->cast.count; i++)
        output[i] = f8_from_f16(source[i], F8_F143, scalars[0], F8_DEVICE_SATURATE);
}

static bool cast_equal(const KernelSpec *a, const KernelSpec *b) {
    return a->cast.order == b->cast.order && a->cast.count == b->cast.count;
}

const FamilyInfo family_cast_in_place = {
    .file = "cast_in_place.S",
    .check = cast_check,
    .interface = cast_interface,
    .cycles = cast_cycles,
    .scalars = cast_scalars,
    .name = cast_name,
    .entry = cast_entry,
    .defines = cast_defines,
    .reference = cast_reference,
    .equal = cast_equal,
};
