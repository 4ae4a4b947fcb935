/* GEMM in F32: limits, operands, cycles and reference of gemm_f32.S. */
#include "kernel/launch.h"

#include "num/amp.h"
#include "tensor/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    OUTPUT = 0,
    LEFT = 1,
    RIGHT = 2,
    KM = 8, /* values of a row of left in a panel, and AMP instructions a row */
    ROW_BYTES = KM * sizeof(float),
    OUTPUT_ROW_BYTES = AMP_CHANNELS * sizeof(float),
    BLOCK_BYTES = 512,
    ALIGNMENT = 32,
    LEFT_TAIL = 16,   /* two loads */
    OUTPUT_TAIL = 88, /* eleven */
};

static Status gemm_check(const KernelSpec *spec, Diag *diag) {
    const KernelGemm *gemm = &spec->gemm;
    const uint32_t most = OPERAND_BYTES_MOST / ROW_BYTES;
    if (gemm->half_left || gemm->half_right || gemm->odd || gemm->packed || gemm->rows > most ||
        gemm->panels > most || gemm->groups > most)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GEMM kernel of f32 with %" PRIu32 " rows, %" PRIu32
                          " panels and %" PRIu32 " column groups%s; at most %" PRIu32
                          " of each are possible, whole panels and output as it drains",
                          gemm->rows, gemm->panels, gemm->groups,
                          gemm->packed                          ? " packed"
                          : gemm->half_left || gemm->half_right ? " in half panels"
                                                                : "",
                          most);
    uint64_t rows = gemm->rows, panels = gemm->panels, groups = gemm->groups;
    Status status = check_operand_bytes("GEMM", "output", OUTPUT_ROW_BYTES * rows * groups, diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("GEMM", "left", ROW_BYTES * rows * panels, diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("GEMM", "right", BLOCK_BYTES * panels * groups, diag);
    return status;
}

static void gemm_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelGemm *gemm = &spec->gemm;
    bool partials = gemm->accumulate || gemm->panels > 1;
    result->operand_count = 3;
    result->operands[OUTPUT] =
        (KernelOperand){.name = "output",
                        .bytes = OUTPUT_ROW_BYTES * gemm->rows * gemm->groups,
                        .alignment = ALIGNMENT,
                        .tail = partials ? OUTPUT_TAIL : 0,
                        .memory_class = MEMORY_INTERLEAVED,
                        .read = gemm->accumulate,
                        .written = true,
                        .apart = 1u << LEFT};
    result->operands[LEFT] = (KernelOperand){.name = "left",
                                             .bytes = ROW_BYTES * gemm->rows * gemm->panels,
                                             .alignment = ALIGNMENT,
                                             .tail = LEFT_TAIL,
                                             .memory_class = MEMORY_STANDARD,
                                             .read = true,
                                             .apart = 1u << OUTPUT};
    result->operands[RIGHT] =
        (KernelOperand){.name = "right",
                        .bytes = BLOCK_BYTES * gemm->panels * gemm->groups,
                        .alignment = ALIGNMENT,
                        .memory_class = gemm->wide_weights ? MEMORY_INTERLEAVED : MEMORY_STANDARD,
                        .read = true};
}

/* ---- cycles */

static uint64_t add_bytes(uint64_t bytes, bool negative) {
    return bytes <= (negative ? 32768u : 32767u) ? 1 : 2;
}

/* Bundles of the longest worker, all launches. */
static uint64_t all_bundles(const KernelGemm *gemm) {
    uint64_t rows = gemm->rows, panels = gemm->panels, groups = gemm->groups;
    bool few = rows < WORKERS;
    uint64_t stream = 8 * (uint64_t)run_length(gemm->rows);
    uint64_t add = stream + 24, first = gemm->accumulate ? add : stream + 15;
    uint64_t start = 2 + (few ? 4u : rows % WORKERS ? 5u : 2u) + 6;
    uint64_t panel = few + add_bytes(ROW_BYTES * rows, false) + add;
    uint64_t group = few + add_bytes(OUTPUT_ROW_BYTES * rows, false) + first;
    if (panels > 1)
        group += add_bytes(ROW_BYTES * rows * (panels - 1), true);
    return start + first + (groups - 1) * group + groups * (panels - 1) * panel;
}

static uint64_t gemm_cycles(const KernelSpec *spec, unsigned start) {
    const KernelGemm *gemm = &spec->gemm;
    uint64_t launches = (uint64_t)gemm->panels * gemm->groups;
    uint64_t loads = gemm->wide_weights ? 32 : 64;
    bool panels = gemm->panels > 1, groups = gemm->groups > 1;
    uint32_t rest = gemm->rows % WORKERS;
    unsigned longest = first_workers(rest ? rest : WORKERS);
    uint64_t store = MAX_OF(4u + panels + groups, (uint64_t)CHIP_SUP_RESULT_LATENCY);
    uint64_t first = CHIP_SUP_TAKEN_BRANCH + store + 2 + (groups ? CHIP_SYNC_PASSED : 0) + loads +
                     CHIP_RUNALL_LATENCY;
    uint64_t between = CHIP_EXIT_TO_RESUME + loads + CHIP_RUNALL_LATENCY, exposed = 0;
    if (longest == ALL_WORKERS) {
        /* From the last exit: free slot 1, branch 8, sync 1; else the join takes 6. One instruction
         * more before the branch to the next group. */
        uint64_t delay = 1 + CHIP_SUP_TAKEN_BRANCH + CHIP_SYNC_PASSED - CHIP_EXIT_TO_RESUME;
        exposed = (gemm->groups - 1) * (delay + 1);
        if (panels)
            exposed += (uint64_t)gemm->groups * (gemm->panels - 2) * delay;
    }
    Starts starts = {.slot = (unsigned)((start + first) % WORKERS)};
    starts = start_launches(starts, longest, 0, 1);
    starts = start_launches(starts, longest, between, launches - 1);
    return first + starts.sum + (launches - 1) * between +
           CHIP_WORKER_BUNDLE * (all_bundles(gemm) - launches) + exposed + CHIP_EXIT_TO_RESUME +
           CHIP_SUP_TAKEN_BRANCH;
}

/* ---- source */

static void gemm_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelGemm *gemm = &spec->gemm;
    snprintf(text, KERNEL_NAME_SIZE, "gemm_f32_%s_%s_%" PRIu32 "x%" PRIu32 "x%" PRIu32,
             gemm->accumulate ? "add" : "init", gemm->wide_weights ? "wide" : "narrow", gemm->rows,
             gemm->panels, gemm->groups);
}

static void gemm_defines(const KernelSpec *spec, KernelSource *source) {
    static const char *const phases[] = {"TAMP_F32_E4_P0", "TAMP_F32_E4_P1", "TAMP_F32_E4_P2",
                                         "TAMP_F32_E4_P3", "TAMP_F32_E4_P4", "TAMP_F32_E4_P5",
                                         "TAMP_F32_E4_P6", "TAMP_F32_E4_P7"};
    const KernelGemm *gemm = &spec->gemm;
    source_define(source, "ROWS", gemm->rows);
    source_define(source, "PANELS", gemm->panels);
    source_define(source, "GROUPS", gemm->groups);
    source_define(source, "ACCUMULATE", gemm->accumulate);
    source_define(source, "WIDE", gemm->wide_weights);
    for (int i = 0; i < KM; i++)
        source_define(source, phases[i], CHIP_TAMP_F32_E4_P0 + i);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

/* ---- reference */

static void gemm_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    (void)scalars;
    const KernelGemm *gemm = &spec->gemm;
    const float *left = operands[LEFT], *block = operands[RIGHT];
    for (size_t group = 0; group < gemm->groups; group++)
        for (size_t panel = 0; panel < gemm->panels; panel++, block += KM * AMP_CHANNELS) {
            float *out = (float *)operands[OUTPUT] + AMP_CHANNELS * gemm->rows * group;
            const float *x = left + KM * gemm->rows * panel;
            bool zero = panel == 0 && !gemm->accumulate;
            for (size_t row = 0; row < gemm->rows; row++, out += AMP_CHANNELS, x += KM)
                for (size_t place = 0; place < AMP_CHANNELS; place++) {
                    const float *weights = block + KM * (size_t)order_drain_column[place];
                    float sum = zero ? 0 : out[place];
                    for (size_t k = 0; k < KM; k++)
                        sum = amp_step_f32(sum, x[k], weights[k]);
                    out[place] = sum;
                }
        }
}

static bool gemm_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelGemm *x = &a->gemm, *y = &b->gemm;
    return x->precision == y->precision && x->accumulate == y->accumulate &&
           x->wide_weights == y->wide_weights && x->rows == y->rows && x->panels == y->panels &&
           x->groups == y->groups;
}

const FamilyInfo family_gemm_f32 = {
    .file = "gemm_f32.S",
    .check = gemm_check,
    .interface = gemm_interface,
    .cycles = gemm_cycles,
    .name = gemm_name,
    .defines = gemm_defines,
    .reference = gemm_reference,
    .equal = gemm_equal,
};
