/* GEMM on the AMP units: limits, operands, cycles and reference of gemm.S. */
#include "kernel/gemm_packed.h"

#include "chip/chip.h"
#include "num/amp.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ROW_BYTES = 32,    /* one row of a panel, in every precision */
    BLOCK_BYTES = 512, /* coefficients of one launch */
    ALIGNMENT = 32,
    HALF = 16,        /* bytes of a row in a half panel */
    ROWS_MOST = 6143, /* 32 bytes a row of one worker in a 16-bit constant */
    OUTPUT = 0,
    LEFT = 1,
    RIGHT = 2,
};

static bool is_f8(const KernelGemm *gemm) {
    return gemm->precision == PRECISION_F8F143;
}

static uint64_t output_bytes(const KernelGemm *gemm) {
    uint64_t rows = gemm->packed ? align_up(gemm->rows, PACKED_BLOCK) : gemm->rows;
    return ROW_BYTES * rows * gemm->groups;
}

static uint64_t left_bytes(const KernelGemm *gemm) {
    uint64_t whole = (uint64_t)ROW_BYTES * gemm->panels;
    return gemm->rows * (whole - (gemm->half_left && gemm->odd ? HALF : 0));
}

/* Of one column group. */
static uint64_t right_bytes(const KernelGemm *gemm) {
    uint64_t whole = (uint64_t)BLOCK_BYTES * gemm->panels;
    return whole - (gemm->half_right && gemm->odd ? BLOCK_BYTES / 2 : 0);
}

/* ---- limits */

static Status too_large(Diag *diag, const char *operand, uint64_t bytes, uint32_t limit) {
    return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                      "the GEMM kernel's %s operand takes %" PRIu64
                      " bytes; memory for it has %" PRIu32,
                      operand, bytes, limit);
}

static Status check_halves(const KernelGemm *gemm, Diag *diag) {
    bool halves = gemm->half_left || gemm->half_right;
    if ((halves && !is_f8(gemm)) || (gemm->odd && !halves))
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GEMM kernel of %s; half panels are of F143, and half an inner panel "
                          "less needs an operand in half panels",
                          is_f8(gemm) ? "whole panels with half a panel less"
                                      : "F16 operands in half panels");
    if (gemm->half_left && gemm->rows > KERNEL_HALF_LEFT_ROWS)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GEMM kernel of %" PRIu32
                          " rows with its left operand in half panels; at most %d are possible",
                          gemm->rows, KERNEL_HALF_LEFT_ROWS);
    return STATUS_OK;
}

static Status check_packed(const KernelGemm *gemm, Diag *diag) {
    PackedShare share;
    if (gemm->packed && (gemm->half_left || !packed_share(gemm->rows, gemm->groups, &share)))
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GEMM kernel of %" PRIu32 " rows and %" PRIu32
                          " column groups with packed output%s; at most %d groups are possible, "
                          "rows as strides of 511 words reach, and whole left panels",
                          gemm->rows, gemm->groups, gemm->half_left ? " and half left panels" : "",
                          (int)PACKED_GROUPS_MOST);
    return STATUS_OK;
}

static Status gemm_check(const KernelSpec *spec, Diag *diag) {
    const KernelGemm *gemm = &spec->gemm;
    if (gemm->rows == 0 || gemm->panels == 0 || gemm->groups == 0)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GEMM kernel of %" PRIu32 " rows, %" PRIu32 " panels and %" PRIu32
                          " column groups: none of them may be 0",
                          gemm->rows, gemm->panels, gemm->groups);
    if (gemm->rows > ROWS_MOST)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GEMM kernel of %" PRIu32 " rows; at most %d are possible", gemm->rows,
                          ROWS_MOST);
    uint32_t interleaved = CHIP_TILE_MEM_END - CHIP_REGION1_BASE;
    uint64_t output = output_bytes(gemm);
    uint64_t left = left_bytes(gemm), group = right_bytes(gemm), right = group * gemm->groups;
    uint32_t right_limit = gemm->wide_weights ? interleaved : CHIP_TILE_MEM_SIZE;
    if (output > interleaved)
        return too_large(diag, "output", output, interleaved);
    if (left > CHIP_TILE_MEM_SIZE)
        return too_large(diag, "left", left, CHIP_TILE_MEM_SIZE);
    if (group > right_limit || right > right_limit)
        return too_large(diag, "right", right, right_limit);
    Status status = check_halves(gemm, diag);
    return status == STATUS_OK ? check_packed(gemm, diag) : status;
}

/* ---- operands */

static void gemm_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelGemm *gemm = &spec->gemm;
    result->operand_count = 3;
    result->operands[OUTPUT] = (KernelOperand){.name = "output",
                                               .bytes = (uint32_t)output_bytes(gemm),
                                               .alignment = ALIGNMENT,
                                               .memory_class = MEMORY_INTERLEAVED,
                                               .read = gemm->accumulate,
                                               .written = true,
                                               .apart = 1u << LEFT};
    result->operands[LEFT] = (KernelOperand){.name = "left",
                                             .bytes = (uint32_t)left_bytes(gemm),
                                             .alignment = ALIGNMENT,
                                             .memory_class = MEMORY_STANDARD,
                                             .read = true,
                                             .apart = 1u << OUTPUT};
    result->operands[RIGHT] =
        (KernelOperand){.name = "right",
                        .bytes = (uint32_t)right_bytes(gemm) * gemm->groups,
                        .alignment = ALIGNMENT,
                        .memory_class = gemm->wide_weights ? MEMORY_INTERLEAVED : MEMORY_STANDARD,
                        .read = true};
    if (is_f8(gemm)) {
        result->scalar_count = result->free_scalars = 1;
        result->scalars[0] = "scale exponent of the product";
    }
}

/* ---- cycles: what gemm.S does, counted */

typedef struct Geometry {
    uint32_t rows, panels, groups;
    bool f8, accumulate, half_left;
    bool half_block;         /* the last block of a group is half a one */
    uint32_t quotient, rest; /* rows of a worker: quotient, one more for `rest` of them */
    bool few, small, near, huge, repack; /* as in gemm.S */
    bool packed;
    PackedShare share;
    unsigned longest; /* workers */
} Geometry;

static Geometry geometry_of(const KernelGemm *gemm) {
    Geometry s = {.rows = gemm->rows,
                  .panels = gemm->panels,
                  .groups = gemm->groups,
                  .f8 = is_f8(gemm),
                  .accumulate = gemm->accumulate,
                  .half_left = gemm->half_left,
                  .half_block = gemm->half_right && gemm->odd};
    s.quotient = s.rows / CHIP_WORKERS;
    s.rest = s.rows % CHIP_WORKERS;
    s.few = s.rows < CHIP_WORKERS;
    s.small = s.rows <= 3 * CHIP_WORKERS;
    s.near = 4 * (s.rows - s.quotient) + 1 <= 511;
    s.huge = 4 * (s.quotient + (s.rest > 0)) - 1 > 512;
    s.repack = s.huge || (!s.near && s.groups > 1);
    uint32_t longest = s.few || !s.small ? s.rest : 0;
    s.longest = first_workers(longest ? longest : WORKERS);
    s.packed = gemm->packed;
    if (s.packed) {
        packed_share(gemm->rows, gemm->groups, &s.share);
        s.few = s.share.used < WORKERS;
        s.small = s.huge = s.repack = false;
        s.near = true;
        s.longest = s.share.longest;
    }
    return s;
}

/* Bundles of ADD_BYTES. */
static uint64_t add_bytes(uint64_t bytes, bool negative) {
    return bytes <= (negative ? 32768u : 32767u) ? 1 : 2;
}

/* Of a pointer to the output, or to a left operand of whole panels. */
static uint64_t onward(const Geometry *s) {
    if (s->huge)
        return 1;
    return s->near ? 0 : add_bytes((uint64_t)ROW_BYTES * s->rows, false);
}

static uint64_t head(const Geometry *s, bool group, bool zero) {
    if (!group)
        return 6 + (s->huge ? 3 : 0);
    return 6 + (s->near ? 0 : add_bytes((uint64_t)ROW_BYTES * s->rows, false) + (zero ? 2 : 3));
}

/* Of a worker with the most rows; `next` as in gemm.S. */
static uint64_t tail(const Geometry *s, bool zero, int next) {
    uint64_t most = s->quotient + (s->rest > 0);
    uint64_t bundles = s->small ? 0 : 1 + 4 * (most - 3);
    if (s->packed)
        bundles = s->share.chunks + 4 * (uint64_t)(s->share.walk - 3);
    bundles += 6 + 1;
    if (next == 0)
        return bundles + (s->huge && !zero) + (s->half_left ? 0 : onward(s));
    if (next == 2)
        return bundles + 6;
    if (s->accumulate)
        bundles += onward(s);
    if (s->half_left || s->packed)
        return bundles + 1;
    if (s->panels > 1)
        bundles += add_bytes((uint64_t)ROW_BYTES * s->rows * (s->panels - 1), true);
    return bundles + s->huge;
}

static uint64_t panel(const Geometry *s, bool group, bool zero, int next) {
    return (s->few ? 1 : 0) + head(s, group, zero) + tail(s, zero, next);
}

static uint64_t start_strides(const Geometry *s) {
    if (s->half_left)
        return 1 + (!s->few && s->rest ? 4u : 1u) + (s->small ? 7 : 5) + (s->accumulate ? 0 : 2);
    if (s->small)
        return (s->accumulate ? 4u : 5u) + (!s->few && s->rest ? 3 : 0);
    if (s->huge)
        return s->rest ? 7 : 3;
    return s->rest ? 5 : 1;
}

static uint64_t start_launch(const Geometry *s) {
    uint64_t share = s->few ? 3 : s->rest ? 4 : 1;
    uint64_t bundles = 2 + share + 4 + s->accumulate + start_strides(s) + s->repack;
    if (s->packed)
        bundles = 2 + (s->few ? 2 : 0) + 3 + 7 + 6 + 1;
    int next = s->panels > 1 ? 0 : s->groups > 1 ? 1 : 2;
    return bundles + (s->accumulate ? 12 : 8) + tail(s, !s->accumulate, next);
}

/* Bundles of the longest worker, summed over all launches. */
static uint64_t all_bundles(const Geometry *s) {
    uint64_t panels = s->panels, groups = s->groups, sum = start_launch(s);
    bool zero = !s->accumulate;
    if (panels == 1) {
        if (groups > 2)
            sum += (groups - 2) * panel(s, true, zero, 1);
        return groups > 1 ? sum + panel(s, true, zero, 2) : sum;
    }
    if (panels > 2)
        sum += (panels - 2) * groups * panel(s, false, false, 0);
    if (groups > 1)
        sum += (groups - 1) * (panel(s, true, zero, 0) + panel(s, false, false, 1));
    return sum + panel(s, false, false, 2);
}

/* Supervisor cycles from the first instruction to the first coefficient load, or what precedes it
 * in a launch. */
static uint64_t prologue(const Geometry *s) {
    bool loops = s->panels > 1 && s->groups > 1;
    uint64_t launches = (uint64_t)s->panels * s->groups;
    uint64_t constants = loops ? 3u + (s->panels > 2) : launches > 2 ? 3 : launches > 1 ? 1 : 0;
    uint64_t store = (s->f8 ? 6 : 4) + constants; /* needs the sum of the first instruction */
    store = MAX_OF(store, (uint64_t)CHIP_SUP_RESULT_LATENCY);
    if (s->half_block && s->panels == 1) /* the first launch waits for the constant for $CR */
        return store + 1 + CHIP_SUP_RESULT_LATENCY;
    return store + 2 + s->f8 + s->half_block + (loops ? CHIP_SYNC_PASSED : 0);
}

/* Taken branches of the supervisor's loops. */
static uint64_t back_branches(const Geometry *s) {
    uint64_t panels = s->panels, groups = s->groups;
    if (panels > 1 && groups > 1)
        return groups - 1 + (panels > 2 ? (panels - 3) * groups : 0);
    return panels * groups > 2 ? panels * groups - 3 : 0;
}

/* Cycles of loading a block: the last of a group, or another one. */
static uint64_t load_cycles(const KernelGemm *gemm, bool last) {
    uint64_t loads = gemm->wide_weights ? 32 : 64;
    return last && gemm->half_right && gemm->odd ? 1 + loads / 2 : loads;
}

/* From the last exit of a launch to the first cycle of the next one's workers. */
static uint64_t between_launches(const KernelGemm *gemm, bool last) {
    return CHIP_EXIT_TO_RESUME + load_cycles(gemm, last) + CHIP_RUNALL_LATENCY;
}

/* A launch: loads, runall, workers, join. The supervisor's loop runs in slots of workers that end
 * early; where all end together a taken branch delays the join by 4 cycles. */
static uint64_t gemm_cycles(const KernelSpec *spec, unsigned start) {
    const KernelGemm *gemm = &spec->gemm;
    Geometry s = geometry_of(gemm);
    uint64_t launches = (uint64_t)s.panels * s.groups, panels = s.panels;
    uint64_t first =
        CHIP_SUP_TAKEN_BRANCH + prologue(&s) + load_cycles(gemm, panels == 1) + CHIP_RUNALL_LATENCY;
    uint64_t inner = between_launches(gemm, false), last = between_launches(gemm, true);
    uint64_t exposed = 0;
    if (s.longest == ALL_WORKERS) {
        /* From the last exit: free slot 1, branch 8, sync 1; else the join takes 6. */
        uint64_t delay = 1 + CHIP_SUP_TAKEN_BRANCH + CHIP_SYNC_PASSED - CHIP_EXIT_TO_RESUME;
        exposed = back_branches(&s) * delay;
    }
    Starts starts = {.slot = (unsigned)((start + first) % CHIP_WORKERS)};
    starts = start_launches(starts, s.longest, 0, 1);
    if (inner == last || panels == 1) {
        starts = start_launches(starts, s.longest, last, launches - 1);
    } else {
        starts = start_launches(starts, s.longest, inner, panels - 2);
        starts = start_launches(starts, s.longest, last, 1);
        for (uint32_t group = 1; group < s.groups; group++) {
            starts = start_launches(starts, s.longest, inner, panels - 1);
            starts = start_launches(starts, s.longest, last, 1);
        }
    }
    uint64_t between = (launches - s.groups) * inner + (s.groups - 1) * last;
    if (panels > 1)
        between += last - inner;
    return first + starts.sum + between + CHIP_WORKER_BUNDLE * (all_bundles(&s) - launches) +
           exposed + CHIP_EXIT_TO_RESUME + CHIP_SUP_TAKEN_BRANCH;
}

/* ---- source */

static void gemm_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelGemm *gemm = &spec->gemm;
    static const char *const halves[] = {"", "_hl", "_hr", "_hlr"};
    snprintf(text, KERNEL_NAME_SIZE, "gemm_%s_%s_%s_%" PRIu32 "x%" PRIu32 "x%" PRIu32 "%s%s%s",
             is_f8(gemm) ? "f8" : "f16", gemm->accumulate ? "add" : "init",
             gemm->wide_weights ? "wide" : "narrow", gemm->rows, gemm->panels, gemm->groups,
             halves[gemm->half_left + 2 * gemm->half_right], gemm->odd ? "_odd" : "",
             gemm->packed ? "_packed" : "");
}

static void gemm_defines(const KernelSpec *spec, KernelSource *source) {
    const KernelGemm *gemm = &spec->gemm;
    source_define(source, "ROWS", gemm->rows);
    source_define(source, "PANELS", gemm->panels);
    source_define(source, "GROUPS", gemm->groups);
    source_define(source, "FP8", is_f8(gemm));
    source_define(source, "ACCUMULATE", gemm->accumulate);
    source_define(source, "WIDE", gemm->wide_weights);
    source_define(source, "HALF_LEFT", gemm->half_left);
    source_define(source, "HALF_RIGHT", gemm->half_right);
    source_define(source, "ODD", gemm->odd);
    source_define(source, "PACKED", gemm->packed);
    if (gemm->packed) {
        static const char *const workers[WORKERS] = {"WORKER_0", "WORKER_1", "WORKER_2",
                                                     "WORKER_3", "WORKER_4", "WORKER_5"};
        PackedShare share;
        packed_share(gemm->rows, gemm->groups, &share);
        source_define(source, "CHUNKS", share.chunks);
        source_define(source, "USED", share.used);
        for (uint32_t w = 0; w < WORKERS; w++)
            source_define(source, workers[w], share.pieces[w]);
    }
    source_define(source, "TAMP_F16V4_E4_P0", CHIP_TAMP_F16V4_E4_P0);
    source_define(source, "TAMP_F16V4_E4_P1", CHIP_TAMP_F16V4_E4_P0 + 1);
    source_define(source, "TAMP_F16V4_E4_P2", CHIP_TAMP_F16V4_E4_P0 + 2);
    source_define(source, "TAMP_F16V4_E4_P3", CHIP_TAMP_F16V4_E4_P0 + 3);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

/* ---- reference */

/* Column by column the words of a block: of two half ones, or of one and zeros. */
static void reference_block(const KernelGemm *gemm, const uint8_t *block, bool odd,
                            uint64_t words[4 * AMP_CHANNELS]) {
    if (!gemm->half_right) {
        memcpy(words, block, BLOCK_BYTES);
        return;
    }
    memset(words, 0, BLOCK_BYTES);
    for (size_t column = 0; column < AMP_CHANNELS; column++)
        for (size_t half = 0; half < (odd ? 1 : 2); half++)
            memcpy(words + 4 * column + 2 * half, block + half * (BLOCK_BYTES / 2) + HALF * column,
                   HALF);
}

static void reference_rows(const KernelGemm *gemm, const AmpRows *rows, const AmpWeights *weights) {
    if (is_f8(gemm))
        amp_rows_f8(rows, weights);
    else
        amp_rows_f16(rows, weights);
}

static void reference_panel(const KernelGemm *gemm, const uint8_t *left, const uint8_t *block,
                            F16 *output, bool zero, bool odd, int scale) {
    enum { CHUNK = 64 };
    uint64_t words[4 * AMP_CHANNELS];
    reference_block(gemm, block, odd, words);
    AmpWeights weights;
    if (is_f8(gemm))
        amp_prepare_f8(&weights, words, F8_F143, F8_F143, scale);
    else
        amp_prepare_f16(&weights, words);
    AmpRows rows = {.x = left,
                    .partial = zero ? NULL : output,
                    .out = output,
                    .x_stride = ROW_BYTES,
                    .partial_stride = ROW_BYTES,
                    .out_stride = ROW_BYTES,
                    .rows = gemm->rows,
                    .overflow = F16_OVERFLOW_SATURATE};
    if (!gemm->half_left) {
        reference_rows(gemm, &rows, &weights);
        return;
    }
    for (uint32_t row = 0; row < gemm->rows; row += CHUNK) {
        uint8_t whole[CHUNK * ROW_BYTES];
        uint32_t count = MIN_OF((uint32_t)CHUNK, gemm->rows - row);
        for (size_t i = 0; i < count; i++)
            for (size_t half = 0; half < 2; half++)
                memcpy(whole + ROW_BYTES * i + HALF * half,
                       left + HALF * (row + i + (odd ? 0 : half * gemm->rows)), HALF);
        AmpRows chunk = rows;
        chunk.x = whole;
        chunk.rows = count;
        chunk.out = output + (size_t)(ROW_BYTES / sizeof(F16)) * row;
        chunk.partial = zero ? NULL : chunk.out;
        reference_rows(gemm, &chunk, &weights);
    }
}

/* Rows of a column group between Left order and blocks of 16 rows x 16 columns. */
static void reference_repack(const KernelGemm *gemm, uint32_t group, uint8_t *blocks, uint8_t *rows,
                             bool pack) {
    for (size_t row = 0; row < gemm->rows; row++) {
        size_t block = row / PACKED_BLOCK * gemm->groups + group;
        uint8_t *in_block = blocks + (block * PACKED_BLOCK + row % PACKED_BLOCK) * ROW_BYTES;
        uint8_t *in_rows = rows + row * ROW_BYTES;
        memcpy(pack ? in_block : in_rows, pack ? in_rows : in_block, ROW_BYTES);
    }
}

static void gemm_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    const KernelGemm *gemm = &spec->gemm;
    size_t panel_bytes = (size_t)ROW_BYTES * gemm->rows;
    int scale = is_f8(gemm) ? scalars[0] : 0;
    const uint8_t *left = operands[LEFT], *right = operands[RIGHT];
    uint8_t rows[ROW_BYTES * PACKED_ROWS_MOST];
    for (uint32_t group = 0; group < gemm->groups; group++) {
        uint8_t *output = (uint8_t *)operands[OUTPUT] + group * panel_bytes;
        if (gemm->packed) {
            output = rows;
            reference_repack(gemm, group, operands[OUTPUT], rows, false);
        }
        for (uint32_t panel = 0; panel < gemm->panels; panel++) {
            bool zero = panel == 0 && !gemm->accumulate;
            bool odd = gemm->odd && panel == gemm->panels - 1;
            reference_panel(gemm, left + panel * panel_bytes,
                            right + group * right_bytes(gemm) + (size_t)BLOCK_BYTES * panel,
                            (F16 *)output, zero, odd, scale);
        }
        if (gemm->packed)
            reference_repack(gemm, group, operands[OUTPUT], rows, true);
    }
}

static bool gemm_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelGemm *x = &a->gemm, *y = &b->gemm;
    return x->precision == y->precision && x->accumulate == y->accumulate &&
           x->wide_weights == y->wide_weights && x->rows == y->rows && x->panels == y->panels &&
           x->groups == y->groups && x->half_left == y->half_left &&
           x->half_right == y->half_right && x->odd == y->odd && x->packed == y->packed;
}

const FamilyInfo family_gemm = {
    .file = "gemm.S",
    .check = gemm_check,
    .interface = gemm_interface,
    .cycles = gemm_cycles,
    .name = gemm_name,
    .defines = gemm_defines,
    .reference = gemm_reference,
    .equal = gemm_equal,
};
