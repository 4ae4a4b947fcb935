/* Between row-major and packed orders: limits, operands, cycles and reference of lines.S (lines run
 * along the rows) and transpose.S. */
#include "kernel/launch.h"

#include "tensor/order.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    OUTPUT = 0,
    SOURCE = 1,
    WORD = 8,
    QUAD = 4,          /* columns that are transposed together */
    STRIDE_MOST = 511, /* of a packed stride, in words */
    GROUPS_MOST = 4096,
};

static uint32_t value_bytes(const KernelPack *pack) {
    return precision_bytes((Precision){.kind = pack->precision});
}

/* ---- geometry */

static bool is_lines(const KernelPack *pack) {
    return pack->order == PACK_LEFT || pack->order == PACK_TRANSPOSED_RIGHT;
}

static bool is_right(const KernelPack *pack) {
    return pack->order == PACK_RIGHT || pack->order == PACK_TRANSPOSED_RIGHT;
}

typedef struct Body {
    uint32_t line, words;  /* bytes and words of a line */
    uint32_t group;        /* values of a line */
    uint32_t inner, outer; /* extents along a line, and across, without padding */
    uint32_t panels, tail; /* full ones, values of the last line beyond them */
    uint32_t all_panels;
    uint32_t all_outer;   /* with padding */
    uint32_t panel_lines; /* lines of a panel */
    bool bytes;           /* one byte a value */
    bool fast;
} Body;

static Body body_of(const KernelPack *pack) {
    Body body = {.line = pack->half ? 16 : 32,
                 .inner = is_lines(pack) ? pack->columns : pack->rows,
                 .outer = is_lines(pack) ? pack->rows : pack->columns,
                 .bytes = value_bytes(pack) == 1};
    body.words = body.line / WORD;
    body.group = body.line / value_bytes(pack);
    body.panels = body.inner / body.group;
    body.tail = body.inner % body.group;
    body.all_panels = body.panels + (body.tail > 0);
    body.panel_lines = is_right(pack) ? COEFFICIENT_COLUMNS : body.outer;
    body.all_outer = (uint32_t)align_up(body.outer, is_right(pack) ? COEFFICIENT_COLUMNS : 1);
    if (is_lines(pack)) {
        body.fast = pack->fast && (body.panel_lines - 1) * body.words + 1 <= STRIDE_MOST;
    } else {
        uint64_t jump = (uint64_t)body.panel_lines * body.words - QUAD * body.words + 1;
        body.fast = pack->fast && !body.bytes && jump <= STRIDE_MOST &&
                    pack->pitch * value_bytes(pack) / WORD <= STRIDE_MOST;
    }
    return body;
}

uint64_t kernel_pack_row_bytes(const KernelPack *pack) {
    uint64_t rows = (uint64_t)pack->rows * pack->groups;
    return ((rows - 1) * pack->pitch + pack->columns) * value_bytes(pack);
}

static uint64_t matrix_bytes(const KernelPack *pack) {
    Body body = body_of(pack);
    return (uint64_t)body.all_outer * body.all_panels * body.line;
}

uint64_t kernel_pack_packed_bytes(const KernelPack *pack) {
    return matrix_bytes(pack) * pack->groups;
}

/* ---- limits */

static Status pack_check(const KernelSpec *spec, Diag *diag) {
    const KernelPack *pack = &spec->pack;
    if (pack->precision == PRECISION_F32)
        return diag_error(diag, ERR_KERNEL_PRECISION, DIAG_NOWHERE,
                          "there is no kernel that packs f32 values");
    if (pack->rows == 0 || pack->columns == 0 || pack->groups == 0)
        return check_operand_bytes("packing", "source", 0, diag);
    const uint32_t most = OPERAND_BYTES_MOST;
    uint32_t grain = is_lines(pack) ? WORD / value_bytes(pack) : QUAD;
    if (pack->rows > most || pack->pitch > most || pack->columns % grain || pack->pitch % grain ||
        pack->columns > pack->pitch || pack->groups > (is_lines(pack) ? 1 : GROUPS_MOST) ||
        (pack->half && pack->precision != PRECISION_F8F143))
        return diag_error(
            diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
            "a packing kernel of %" PRIu32 " matrices of %" PRIu32 " x %" PRIu32 " values, %" PRIu32
            " from row to row%s; columns are multiples of %" PRIu32
            " and fit a row, matrices at most %d, half panels of F143",
            pack->groups, pack->rows, pack->columns, pack->pitch,
            pack->half ? ", in half panels" : "", grain, is_lines(pack) ? 1 : GROUPS_MOST);
    Status status = check_operand_bytes("packing", "row-major", kernel_pack_row_bytes(pack), diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("packing", "packed", kernel_pack_packed_bytes(pack), diag);
    return status;
}

static void pack_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelPack *pack = &spec->pack;
    bool fast = body_of(pack).fast;
    uint64_t bytes[2] = {kernel_pack_packed_bytes(pack), kernel_pack_row_bytes(pack)};
    result->operand_count = 2;
    for (int i = 0; i < 2; i++)
        result->operands[i] = (KernelOperand){.name = i == OUTPUT ? "output" : "source",
                                              .bytes = (uint32_t)bytes[pack->unpack ? 1 - i : i],
                                              .alignment = WORD,
                                              .read = i == SOURCE,
                                              .written = i == OUTPUT,
                                              .apart = fast ? 1u << (1 - i) : 0};
}

/* ---- cycles: what transpose.S and lines.S do, counted */

static uint64_t add_bytes(uint64_t bytes) {
    return bytes <= INT16_MAX ? 1 : 2;
}

/* A block of the last panel of which `rows` rows exist. */
static uint64_t tail_block(const KernelPack *pack, const Body *body, uint32_t rows) {
    if (pack->unpack)
        return rows == 0 ? 0 : (body->bytes ? 7 : 6) + (uint64_t)rows;
    if (rows == 0)
        return QUAD;
    if (!body->bytes)
        return 7 + (uint64_t)rows;
    return 7 + rows + 4 * 2;
}

static uint64_t quad_bundles(const KernelPack *pack, const Body *body) {
    uint64_t blocks = (uint64_t)body->words * body->panels, sum = 1;
    if (body->panels) {
        if (body->fast)
            sum += 4 * blocks + 8 + 1 + (body->tail > 0);
        else if (!body->bytes)
            sum += 8 * blocks + 1;
        else
            sum += pack->unpack ? 16 * blocks + 5 : 12 * blocks + 7;
    }
    if (body->tail == 0)
        return sum;
    if (body->fast) {
        uint64_t row = (uint64_t)pack->pitch * value_bytes(pack);
        if (body->panels)
            sum += add_bytes(body->panels * body->group * row) +
                   add_bytes((uint64_t)body->panels * body->panel_lines * body->line);
        sum++;
    }
    uint32_t step = body->bytes && !pack->unpack ? 8 : 4, left = body->tail;
    for (uint32_t block = 0; block < body->group / step; block++) {
        uint32_t rows = MIN_OF(left, step);
        sum += tail_block(pack, body, rows);
        left -= rows;
    }
    return sum;
}

static uint64_t transpose_bundles(const KernelPack *pack, const Body *body, uint32_t worker) {
    uint32_t full_quads = pack->columns / QUAD;
    uint32_t all_quads = pack->unpack ? full_quads : body->all_outer / QUAD;
    uint64_t quads = dealt_units(all_quads, worker), full = dealt_units(full_quads, worker);
    bool few = all_quads < WORKERS;
    uint64_t sum = 4 + (few ? 2 : 0);
    if (quads == 0)
        return sum + 1;
    sum += (body->fast ? 4u : 2u) + (pack->groups > 1 ? 2 : 0) + 1;
    uint64_t matrix = 1 + (!few && all_quads % WORKERS ? 2 : 1) + 2;
    matrix += quads * ((is_right(pack) ? 6u : 1u) + 1 + (all_quads > full_quads ? 2 : 0) + 3);
    matrix += full * quad_bundles(pack, body);
    matrix += (quads - full) * (2 + (uint64_t)body->all_panels * QUAD * body->words);
    if (pack->groups > 1)
        matrix += add_bytes((uint64_t)pack->rows * pack->pitch * value_bytes(pack)) +
                  add_bytes(matrix_bytes(pack)) + 2;
    return sum + pack->groups * matrix;
}

/* Of one row, between what is done for rows of zeros too. */
static uint64_t row_bundles(const KernelPack *pack, const Body *body) {
    uint64_t tail = body->tail * value_bytes(pack) / WORD, full = body->panels;
    uint64_t words = full * body->words + tail;
    uint64_t sum = body->fast ? (pack->unpack ? 2 : 3) + words : 1 + 2 * words;
    sum += full > 0;
    if (tail && !pack->unpack)
        sum += body->words - tail;
    return sum;
}

static uint64_t lines_bundles(const KernelPack *pack, const Body *body, uint32_t worker) {
    uint32_t rows = pack->unpack ? body->outer : body->all_outer, run = run_length(rows);
    bool right = is_right(pack), padded = rows > body->outer;
    uint32_t first = MIN_OF(worker * run, rows - run);
    uint32_t full = first < body->outer ? MIN_OF(run, body->outer - first) : 0;
    uint64_t sum = 10 + (right ? 6u : 1u) + 2 + body->fast + 1;
    sum += run * (1 + (padded ? 2u : 0) + add_bytes((uint64_t)pack->pitch * value_bytes(pack)) +
                  (right ? 4u : 1u) + 1);
    sum += full * row_bundles(pack, body);
    sum += (run - full) * (2 + (uint64_t)body->all_panels * body->words);
    if (right) {
        uint64_t block = (uint64_t)(body->all_panels - 1) * COEFFICIENT_COLUMNS * body->line;
        sum +=
            ((first + run) / COEFFICIENT_COLUMNS - first / COEFFICIENT_COLUMNS) * add_bytes(block);
    }
    return sum + 1;
}

static uint64_t pack_cycles(const KernelSpec *spec, unsigned start) {
    Body body = body_of(&spec->pack);
    uint64_t bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++)
        bundles[w] = is_lines(&spec->pack) ? lines_bundles(&spec->pack, &body, w)
                                           : transpose_bundles(&spec->pack, &body, w);
    return launch_cycles(start, 8, bundles);
}

/* ---- source */

static void pack_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelPack *pack = &spec->pack;
    static const char *const orders[] = {[PACK_LEFT] = "left",
                                         [PACK_TRANSPOSED_RIGHT] = "tright",
                                         [PACK_TRANSPOSED_LEFT] = "tleft",
                                         [PACK_RIGHT] = "right"};
    const char *precision = pack->half ? "h8" : value_bytes(pack) == 1 ? "f8" : "f16";
    snprintf(text, KERNEL_NAME_SIZE, "%spack_%s_%s%s_%" PRIu32 "x%" PRIu32 "x%" PRIu32 "_%" PRIu32,
             pack->unpack ? "un" : "", orders[pack->order], precision, pack->fast ? "_fast" : "",
             pack->groups, pack->rows, pack->columns, pack->pitch);
}

static void pack_defines(const KernelSpec *spec, KernelSource *source) {
    const KernelPack *pack = &spec->pack;
    Body body = body_of(pack);
    source_define(source, "UNPACK", pack->unpack);
    source_define(source, "FAST", body.fast);
    source_define(source, "LINE", body.line);
    source_define(source, "ROWS", pack->rows);
    source_define(source, "PITCH", (int64_t)pack->pitch * value_bytes(pack));
    if (is_lines(pack)) {
        source_define(source, "BLOCKS16", is_right(pack));
        source_define(source, "ROW", (int64_t)pack->columns * value_bytes(pack));
    } else {
        source_define(source, "F8", body.bytes);
        source_define(source, "RIGHT", is_right(pack));
        source_define(source, "COLUMNS", pack->columns);
        source_define(source, "GROUPS", pack->groups);
        source_define(source, "TISTACC_P0", CHIP_TISTACC_P0);
        source_define(source, "TSTACC_P0", CHIP_TSTACC_P0);
    }
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

/* ---- reference */

static void pack_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    (void)scalars;
    const KernelPack *pack = &spec->pack;
    static const OrderKind kinds[] = {[PACK_LEFT] = ORDER_LEFT,
                                      [PACK_TRANSPOSED_RIGHT] = ORDER_TRANSPOSED_RIGHT,
                                      [PACK_TRANSPOSED_LEFT] = ORDER_TRANSPOSED_LEFT,
                                      [PACK_RIGHT] = ORDER_RIGHT};
    Body body = body_of(pack);
    uint32_t bytes = value_bytes(pack);
    uint32_t inner = body.all_panels * body.group;
    uint32_t dims[2] = {is_lines(pack) ? body.all_outer : inner,
                        is_lines(pack) ? inner : body.all_outer};
    Layout layout;
    Order order = {.kind = kinds[pack->order], .half = pack->half};
    bool made = layout_make(&layout, order, (Precision){.kind = pack->precision}, 2, dims);
    assert(made);
    (void)made;
    uint8_t *packed = operands[pack->unpack ? SOURCE : OUTPUT];
    uint8_t *row_major = operands[pack->unpack ? OUTPUT : SOURCE];
    for (uint32_t group = 0; group < pack->groups; group++) {
        if (!pack->unpack)
            memset(packed, 0, matrix_bytes(pack));
        for (uint32_t index[2] = {0, 0}; index[0] < pack->rows; index[0]++)
            for (index[1] = 0; index[1] < pack->columns; index[1]++) {
                uint8_t *line = packed + bytes * layout_offset(&layout, index);
                uint8_t *row = row_major + bytes * ((size_t)index[0] * pack->pitch + index[1]);
                memcpy(pack->unpack ? row : line, pack->unpack ? line : row, bytes);
            }
        packed += matrix_bytes(pack);
        row_major += (size_t)pack->rows * pack->pitch * bytes;
    }
}

static bool pack_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelPack *x = &a->pack, *y = &b->pack;
    return x->order == y->order && x->precision == y->precision && x->half == y->half &&
           x->unpack == y->unpack && x->fast == y->fast && x->rows == y->rows &&
           x->columns == y->columns && x->pitch == y->pitch && x->groups == y->groups;
}

#define FAMILY(source)                                                                             \
    {                                                                                              \
        .file = source, .check = pack_check, .interface = pack_interface, .cycles = pack_cycles,   \
        .name = pack_name, .defines = pack_defines, .reference = pack_reference,                   \
        .equal = pack_equal,                                                                       \
    }

const FamilyInfo family_pack = FAMILY("transpose.S"), family_lines = FAMILY("lines.S");
