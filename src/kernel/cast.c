/* Casts F16 to F143: limits, operands, cycles and reference of cast.S. */
#include "kernel/launch.h"

#include "num/f8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    OUTPUT = 0,
    SOURCE = 1,
    VECTOR = 8,     /* values converted at once */
    ROW_BYTES = 32, /* of a panel row, 16 values of source or 32 of output */
    PANEL_COLUMNS = 16,
    NFMT_F143 = 2,    /* $FP_NFMT: the arithmetic registers' side is F143 */
    STRIDE_MOST = 511 /* of a packed stride, in units of 8 bytes */
};

/* ---- operands */

static uint64_t output_panels(const KernelCast *cast) {
    return (uint64_t)cast->groups * ((cast->panels + 1) / 2);
}

uint64_t kernel_cast_output_bytes(const KernelCast *cast) {
    if (cast->order == CAST_LINEAR || cast->order == CAST_IN_PLACE)
        return cast->count;
    return ROW_BYTES * cast->rows * output_panels(cast);
}

uint64_t kernel_cast_source_bytes(const KernelCast *cast) {
    switch (cast->order) {
    case CAST_LINEAR:
    case CAST_IN_PLACE: return 2 * (uint64_t)cast->count;
    case CAST_PANELS: return (uint64_t)ROW_BYTES * cast->rows * cast->panels * cast->groups;
    default:
        return 2 *
               ((uint64_t)cast->pitch * (cast->rows - 1) + (uint64_t)PANEL_COLUMNS * cast->panels);
    }
}

static Status check_panels(const KernelCast *cast, Diag *diag) {
    if (cast->rows == 0 || cast->panels == 0 || cast->groups == 0)
        return check_operand_bytes("cast", "source", 0, diag);
    const uint32_t most = OPERAND_BYTES_MOST / ROW_BYTES;
    if (cast->rows > most || cast->panels > most || cast->groups > most)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a cast kernel of %" PRIu32 " rows, %" PRIu32 " panels and %" PRIu32
                          " groups; at most %" PRIu32 " of each are possible",
                          cast->rows, cast->panels, cast->groups, most);
    if (cast->order == CAST_ROWS &&
        (cast->groups != 1 || cast->pitch % 4 || cast->pitch / PANEL_COLUMNS < cast->panels))
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a cast kernel of %" PRIu32 " groups with %" PRIu32
                          " values from row to row for rows of %" PRIu32
                          "; row-major sources have one group, and rows of a multiple of 4 values",
                          cast->groups, cast->pitch, PANEL_COLUMNS * cast->panels);
    return STATUS_OK;
}

static Status cast_check(const KernelSpec *spec, Diag *diag) {
    const KernelCast *cast = &spec->cast;
    Status status = cast->order == CAST_LINEAR ? STATUS_OK : check_panels(cast, diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("cast", "source", kernel_cast_source_bytes(cast), diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("cast", "output", kernel_cast_output_bytes(cast), diag);
    return status;
}

/* ---- which code, and how the work is split */

typedef enum LinearLoop { LOOP_NONE = 0, LOOP_PLAIN = 1, LOOP_FAST = 2 } LinearLoop;

typedef struct Body {
    LinearLoop loop;             /* linear */
    uint32_t vectors, tail;      /* linear: whole vectors, values after them */
    bool fast, odd, rows, pairs; /* panels: rows: row-major source; pairs: split by panel pairs */
    bool stream;                 /* panels: see cast.S */
    uint32_t group_pairs;        /* panels: pairs of source panels in a group */
    uint32_t groups;             /* panels */
} Body;

static Body linear_body(const KernelCast *cast) {
    Body body = {.vectors = cast->count / VECTOR, .tail = cast->count % VECTOR};
    if (body.vectors > 0)
        body.loop = cast->fast && run_length(body.vectors) > 1 ? LOOP_FAST : LOOP_PLAIN;
    return body;
}

/* Bundles of every worker; panels only. */
static uint64_t panel_bundles(const KernelCast *cast, const Body *body) {
    uint64_t rows = body->pairs ? cast->rows : run_length(cast->rows);
    uint64_t pairs = body->pairs ? run_length(body->group_pairs) : body->group_pairs;
    uint64_t half = body->fast ? 2 * rows + 4 : 6 * rows + 1, move = body->fast ? 3 : 2;
    uint64_t sum = 14 + (body->pairs ? 1 : body->rows ? 2 : 0);
    if (body->stream)
        return sum + 6 + pairs * (4 * rows + 3);
    sum += body->fast ? 3 : body->rows ? 8 : 5;
    if (!body->odd)
        return sum + 1 + pairs * (2 * half + move + 1) + (pairs - 1) * move + 1;
    uint64_t zeros = 2 * rows + (body->fast ? 2 : 1);
    uint64_t group = 2 + half + (body->fast ? 0 : move) + zeros;
    if (pairs > 0)
        group += pairs * (2 * half + 2 * move + 1) + 1;
    if (body->rows)
        return sum + group + 1;
    return sum + 1 + body->groups * (group + 1) + (body->groups - 1) * (body->fast ? 4 : 2) + 1;
}

/* From an output panel's last first half to its first second half, in units of 8 bytes. */
static int64_t stream_jump(const KernelCast *cast) {
    return 5 - 4 * (int64_t)cast->rows;
}

static Body panel_body(const KernelCast *cast) {
    Body body = {.fast = cast->fast,
                 .odd = cast->panels % 2,
                 .rows = cast->order == CAST_ROWS,
                 .group_pairs = cast->panels / 2,
                 .groups = cast->groups};
    if (body.rows && cast->pitch / 4 - 2 > STRIDE_MOST)
        body.fast = false;
    if (body.odd)
        return body;
    body.group_pairs *= body.groups; /* pairing never meets a border */
    body.groups = 1;
    Body other = body;
    other.pairs = true;
    other.stream = body.fast && !body.rows;
    if (other.stream && stream_jump(cast) < -STRIDE_MOST)
        return body;
    return panel_bundles(cast, &other) < panel_bundles(cast, &body) ? other : body;
}

static Body body_of(const KernelCast *cast) {
    return cast->order == CAST_LINEAR ? linear_body(cast) : panel_body(cast);
}

/* ---- interface */

static void cast_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelCast *cast = &spec->cast;
    Body body = body_of(cast);
    bool linear = cast->order == CAST_LINEAR;
    result->operand_count = 2;
    result->operands[OUTPUT] = (KernelOperand){.name = "output",
                                               .bytes = (uint32_t)kernel_cast_output_bytes(cast),
                                               .alignment = 8,
                                               .tail = linear ? -cast->count % 4 : 0,
                                               .read = linear && body.tail % 4,
                                               .written = true,
                                               .apart = cast->fast ? 1u << SOURCE : 0};
    result->operands[SOURCE] =
        (KernelOperand){.name = "source",
                        .bytes = (uint32_t)kernel_cast_source_bytes(cast),
                        .alignment = 8,
                        .tail = body.tail     ? 2 * (VECTOR - body.tail)
                                : body.stream ? ROW_BYTES
                                              : 0,
                        .memory_class = cast->fast ? MEMORY_INTERLEAVED : MEMORY_STANDARD,
                        .read = true,
                        .apart = cast->fast ? 1u << OUTPUT : 0};
    const char **scalars = result->scalars;
    uint32_t count = 0;
    scalars[count++] = "scale exponent";
    result->free_scalars = count;
    if (linear) {
        if (body.loop || body.tail)
            scalars[count++] = "share";
        if (body.tail)
            scalars[count++] = "tail";
    } else {
        scalars[count++] = "share";
        scalars[count++] = "output panel";
        scalars[count++] = "counts";
        if (body.odd || body.rows || body.stream)
            scalars[count++] = body.rows ? "source row" : body.odd ? "groups" : "strides";
        if (body.rows)
            scalars[count++] = "source step";
    }
    result->scalar_count = count;
}

static void cast_scalars(const KernelSpec *spec, int32_t scalars[]) {
    const KernelCast *cast = &spec->cast;
    Body body = body_of(cast);
    if (cast->order == CAST_LINEAR) {
        scalars[1] = run_share(body.vectors);
        if (body.tail)
            scalars[2] = pack_halves(body.vectors, body.tail);
        return;
    }
    uint32_t rows = body.pairs ? cast->rows : run_length(cast->rows);
    uint32_t pairs = body.pairs ? run_length(body.group_pairs) : body.group_pairs;
    scalars[1] = run_share(body.pairs ? body.group_pairs : cast->rows);
    scalars[2] = (int32_t)(ROW_BYTES * cast->rows);
    scalars[3] = pack_halves(rows - body.fast, pairs - !body.odd);
    if (body.rows) {
        int32_t row = (int32_t)cast->pitch / 4; /* 8 bytes each */
        scalars[4] = (int32_t)(2 * cast->pitch);
        scalars[5] = body.fast ? 2 | 3 << 10 | (row - 2) << 20 : row - 3;
    } else if (body.odd) {
        scalars[4] = (int32_t)body.groups - 1;
    } else if (body.stream) {
        scalars[4] = 2 | 3 << 10 | (int32_t)(stream_jump(cast) & 0x3FF) << 20;
    }
}

/* ---- cycles */

static uint64_t linear_bundles(const Body *body, uint32_t worker) {
    static const uint8_t owners_tail[VECTOR] = {0, 21, 21, 21, 16, 25, 25, 25};
    uint64_t units = run_length(body->vectors);
    uint64_t sum = body->loop == LOOP_FAST ? 20 + units : body->loop ? 16 + 3 * units : 5;
    if (body->tail)
        sum += worker == WORKERS - 1 ? owners_tail[body->tail] : 2;
    return sum;
}

static uint64_t cast_cycles(const KernelSpec *spec, unsigned start) {
    const KernelCast *cast = &spec->cast;
    Body body = body_of(cast);
    bool linear = cast->order == CAST_LINEAR;
    uint64_t bundles[WORKERS], panels = linear ? 0 : panel_bundles(cast, &body);
    for (uint32_t w = 0; w < WORKERS; w++)
        bundles[w] = linear ? linear_bundles(&body, w) : panels;
    unsigned stores = linear ? (unsigned)(body.loop > 0) + (body.tail > 0)
                             : 3u + (body.odd || body.rows || body.stream) + body.rows;
    return launch_cycles(start, 9 + stores, bundles);
}

/* ---- source */

static void cast_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelCast *cast = &spec->cast;
    Body body = body_of(cast);
    if (cast->order == CAST_LINEAR) {
        static const char *const loops[] = {"_none", "", "_fast"};
        snprintf(text, KERNEL_NAME_SIZE, "cast_linear%s%s", loops[body.loop],
                 body.tail ? "_tail" : "");
        return;
    }
    snprintf(text, KERNEL_NAME_SIZE, "cast_%s%s%s%s", body.rows ? "rows" : "panels",
             body.fast ? "_fast" : "", body.odd ? "_odd" : "", body.pairs ? "_by_pairs" : "");
}

static void cast_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelCast *cast = &spec->cast;
    const char *fast = cast->fast ? "_fast" : "";
    switch (cast->order) {
    case CAST_LINEAR:
        snprintf(text, KERNEL_NAME_SIZE, "cast_linear%s_%" PRIu32, fast, cast->count);
        break;
    case CAST_PANELS:
        snprintf(text, KERNEL_NAME_SIZE, "cast_panels%s_%" PRIu32 "x%" PRIu32 "x%" PRIu32, fast,
                 cast->rows, cast->panels, cast->groups);
        break;
    default:
        snprintf(text, KERNEL_NAME_SIZE, "cast_rows%s_%" PRIu32 "x%" PRIu32 "_%" PRIu32, fast,
                 cast->rows, cast->panels, cast->pitch);
        break;
    }
}

static void cast_defines(const KernelSpec *spec, KernelSource *source) {
    const KernelCast *cast = &spec->cast;
    Body body = body_of(cast);
    bool linear = cast->order == CAST_LINEAR;
    source_define(source, "LINEAR", linear);
    source_define(source, "LOOP", body.loop);
    source_define(source, "TAIL", body.tail > 0);
    source_define(source, "FAST", body.fast);
    source_define(source, "ODD", body.odd);
    source_define(source, "ROW_MAJOR", body.rows);
    source_define(source, "BY_PAIRS", body.pairs);
    source_define(source, "STREAM", body.stream);
    source_define(source, "NFMT_F143", NFMT_F143);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

/* ---- reference */

/* Values of one source panel, where it lies, to one half of the rows of an output panel. */
static void reference_half(const KernelCast *cast, const F16 *source, size_t pitch, uint8_t *output,
                           int scale) {
    for (size_t row = 0; row < cast->rows; row++)
        f8_encode_f16(output + row * ROW_BYTES, source + row * pitch, PANEL_COLUMNS, F8_F143, scale,
                      F8_DEVICE_SATURATE);
}

static void reference_zeros(const KernelCast *cast, uint8_t *output) {
    for (size_t row = 0; row < cast->rows; row++)
        memset(output + row * ROW_BYTES, 0, ROW_BYTES / 2);
}

static void cast_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    const KernelCast *cast = &spec->cast;
    const F16 *source = operands[SOURCE];
    uint8_t *output = operands[OUTPUT];
    if (cast->order == CAST_LINEAR) {
        f8_encode_f16(output, source, cast->count, F8_F143, scalars[0], F8_DEVICE_SATURATE);
        return;
    }
    bool rows = cast->order == CAST_ROWS;
    size_t pitch = rows ? cast->pitch : PANEL_COLUMNS;
    size_t panel = rows ? PANEL_COLUMNS : (size_t)PANEL_COLUMNS * cast->rows;
    for (size_t group = 0; group < cast->groups; group++)
        for (size_t i = 0; i < cast->panels + cast->panels % 2; i++) {
            uint8_t *half = output + i % 2 * (ROW_BYTES / 2);
            if (i < cast->panels) {
                reference_half(cast, source, pitch, half, scalars[0]);
                source += panel;
            } else {
                reference_zeros(cast, half);
            }
            output += i % 2 * ROW_BYTES * cast->rows;
        }
}

static bool cast_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelCast *x = &a->cast, *y = &b->cast;
    if (x->order != y->order || x->fast != y->fast)
        return false;
    if (x->order == CAST_LINEAR)
        return x->count == y->count;
    return x->rows == y->rows && x->panels == y->panels && x->groups == y->groups &&
           (x->order != CAST_ROWS || x->pitch == y->pitch);
}

const FamilyInfo family_cast = {
    .file = "cast.S",
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
