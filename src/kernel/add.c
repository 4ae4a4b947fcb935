/* Sums: limits, operands, cycles and reference of add.S. */
#include "kernel/launch.h"

#include "num/f16.h"

#include <inttypes.h>
#include <stdio.h>

enum { OUTPUT = 0, LEFT = 1, RIGHT = 2, QUAD = 4, LANES = 16, VECTOR = 8 };

/* What is dealt to the workers (`units`), and how often: rows or panels. */
typedef struct Body {
    KernelAddForm form;
    bool by_columns, loop;
    KernelAddApart apart;
    uint32_t units, rounds;
} Body;

static bool of_panels(const KernelAdd *add) {
    return add->form == KERNEL_ADD_COLUMNS || add->form == KERNEL_ADD_ROWS;
}

/* Bundles of a worker with `units` of them; those without any have 8. */
static uint64_t worker_bundles(const Body *body, uint64_t units) {
    uint64_t rounds = body->rounds, loop = body->loop, quads;
    if (units == 0)
        return 8;
    switch (body->form) {
    case KERNEL_ADD_COLUMNS: return 16 + 2 * loop + rounds * (10 + 3 * loop + 4 * (units - 1)) + 1;
    case KERNEL_ADD_ROWS: return 16 + 2 * loop + rounds * (10 + 3 * loop + 5 * (units - 1)) + 1;
    default: break;
    }
    if (body->by_columns)
        return 17 + units * (9 + 2 * (rounds - 1)) + 1;
    /* Bundles before the loops, of a row's quads, and of a row besides. */
    uint64_t setup, row;
    switch (body->apart) {
    case KERNEL_ADD_ANYHOW: setup = 14, quads = 5 + 3 * (units - 1), row = 6; break;
    case KERNEL_ADD_INPUTS_APART: setup = 15, quads = 5 + 2 * (units - 1), row = 4; break;
    default: setup = 14, quads = 6 + (units - 2), row = 3; break;
    }
    if (body->form == KERNEL_ADD_PLAIN)
        return setup + quads + 1;
    return setup + 2 + rounds * (quads + row) + 1;
}

/* Of rows, the cheaper way; all apart needs two quads a worker. */
static Body body_of(const KernelAdd *add) {
    if (of_panels(add)) {
        uint32_t panels = add->columns / LANES;
        return (Body){add->form, false, panels > 1, KERNEL_ADD_ANYHOW, add->rows * (LANES / VECTOR),
                      panels};
    }
    bool plain = add->form == KERNEL_ADD_PLAIN || add->rows == 1;
    uint32_t quads = add->columns / QUAD * (plain ? add->rows : 1);
    Body body = {.form = plain ? KERNEL_ADD_PLAIN : KERNEL_ADD_REPEATED,
                 .loop = !plain,
                 .apart = add->apart,
                 .units = quads,
                 .rounds = plain ? 1 : add->rows};
    if (add->apart == KERNEL_ADD_ALL_APART && quads < 2 * WORKERS)
        body.apart = KERNEL_ADD_INPUTS_APART;
    Body columns = body;
    columns.by_columns = true;
    columns.loop = false;
    columns.apart = KERNEL_ADD_ANYHOW;
    uint32_t most = run_length(quads);
    return !plain && worker_bundles(&columns, most) < worker_bundles(&body, most) ? columns : body;
}

static Status add_check(const KernelSpec *spec, Diag *diag) {
    const KernelAdd *add = &spec->add;
    const uint32_t most = OPERAND_BYTES_MOST / 2;
    if (add->rows > most || add->columns > most)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "an add kernel of %" PRIu32 " rows and %" PRIu32
                          " columns; at most %" PRIu32 " of each are possible",
                          add->rows, add->columns, most);
    uint32_t grain = of_panels(add) ? LANES : QUAD;
    if (add->columns % grain)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "an add kernel of %" PRIu32 " columns; it takes multiples of %" PRIu32,
                          add->columns, grain);
    if (of_panels(add) && add->apart != KERNEL_ADD_ANYHOW)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "an add kernel of panels that wants memory elements apart");
    return check_operand_bytes("add", "output", 2 * (uint64_t)add->rows * add->columns, diag);
}

static uint32_t right_values(const KernelAdd *add) {
    switch (add->form) {
    case KERNEL_ADD_PLAIN: return add->rows * add->columns;
    case KERNEL_ADD_ROWS: return add->rows;
    default: return add->columns;
    }
}

static void add_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelAdd *add = &spec->add;
    Body body = body_of(add);
    uint32_t bytes = 2 * add->rows * add->columns;
    bool all = add->apart == KERNEL_ADD_ALL_APART, inputs = add->apart != KERNEL_ADD_ANYHOW;
    bool right = add->form == KERNEL_ADD_PLAIN;
    result->operand_count = 3;
    result->operands[OUTPUT] =
        (KernelOperand){.name = "output",
                        .bytes = bytes,
                        .alignment = 8,
                        .written = true,
                        .apart = all ? 1u << LEFT | 1u << RIGHT : 0,
                        .same = all ? 0 : 1u << LEFT | (uint32_t)right << RIGHT};
    result->operands[LEFT] =
        (KernelOperand){.name = "left",
                        .bytes = bytes,
                        .alignment = 8,
                        .read = true,
                        .apart = (uint32_t)all << OUTPUT | (uint32_t)inputs << RIGHT,
                        .same = (uint32_t)!all << OUTPUT};
    result->operands[RIGHT] =
        (KernelOperand){.name = "right",
                        .bytes = 2 * right_values(add),
                        .alignment = 8,
                        .read = true,
                        .apart = (uint32_t)all << OUTPUT | (uint32_t)inputs << LEFT,
                        .same = (uint32_t)(right && !all) << OUTPUT};
    result->scalars[0] = "share";
    result->scalar_count = 1;
    if (body.loop || body.by_columns) {
        result->scalars[1] = of_panels(add) ? "bytes of a panel" : "bytes of a row";
        result->scalars[2] = of_panels(add) ? "panels less 1" : "rows less 1";
        result->scalar_count = 3;
    }
}

static void add_scalars(const KernelSpec *spec, int32_t scalars[]) {
    const KernelAdd *add = &spec->add;
    Body body = body_of(add);
    scalars[0] = dealt_share(body.units, body.apart == KERNEL_ADD_ALL_APART ? 2 : 1);
    if (!body.loop && !body.by_columns)
        return;
    scalars[1] = (int32_t)(2 * (of_panels(add) ? LANES * add->rows : add->columns));
    scalars[2] = (int32_t)body.rounds - 1;
}

static uint64_t add_cycles(const KernelSpec *spec, unsigned start) {
    Body body = body_of(&spec->add);
    uint64_t bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++)
        bundles[w] = worker_bundles(&body, dealt_units(body.units, w));
    return launch_cycles(start, body.loop || body.by_columns ? 12 : 10, bundles);
}

static void add_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    static const char *const forms[] = {"plain", "repeated", "columns", "rows"};
    static const char *const apart[] = {"", "_inputs_apart", "_all_apart"};
    Body body = body_of(&spec->add);
    snprintf(text, KERNEL_NAME_SIZE, "add_%s%s%s", forms[body.form],
             body.by_columns                       ? "_by_columns"
             : of_panels(&spec->add) && !body.loop ? "_one"
                                                   : "",
             apart[body.apart]);
}

static void add_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    static const char *const forms[] = {"plain", "repeated", "columns", "rows"};
    static const char *const apart[] = {"", "_inputs_apart", "_all_apart"};
    snprintf(text, KERNEL_NAME_SIZE, "add_%s%s_%" PRIu32 "x%" PRIu32, forms[spec->add.form],
             apart[spec->add.apart], spec->add.rows, spec->add.columns);
}

static void add_defines(const KernelSpec *spec, KernelSource *source) {
    Body body = body_of(&spec->add);
    source_define(source, "FORM", body.form);
    source_define(source, "BY_COLUMNS", body.by_columns);
    source_define(source, "APART", body.apart);
    source_define(source, "LOOP", body.loop);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

static void add_reference(const KernelSpec *spec, void *const operands[], const int32_t scalars[]) {
    (void)scalars;
    const KernelAdd *add = &spec->add;
    const F16 *left = operands[LEFT], *right = operands[RIGHT];
    F16 *output = operands[OUTPUT];
    for (size_t i = 0; i < (size_t)add->rows * add->columns; i++) {
        size_t panel = i / ((size_t)add->rows * LANES), line = i / LANES % add->rows, at = i;
        switch (add->form) {
        case KERNEL_ADD_PLAIN: break;
        case KERNEL_ADD_REPEATED: at = i % add->columns; break;
        case KERNEL_ADD_COLUMNS: at = panel * LANES + i % LANES; break;
        case KERNEL_ADD_ROWS: at = line; break;
        }
        output[i] = f16_add(left[i], right[at]);
    }
}

static bool add_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelAdd *x = &a->add, *y = &b->add;
    return x->form == y->form && x->apart == y->apart && x->rows == y->rows &&
           x->columns == y->columns;
}

const FamilyInfo family_add = {
    .file = "add.S",
    .check = add_check,
    .interface = add_interface,
    .cycles = add_cycles,
    .scalars = add_scalars,
    .name = add_name,
    .entry = add_entry,
    .defines = add_defines,
    .reference = add_reference,
    .equal = add_equal,
};
