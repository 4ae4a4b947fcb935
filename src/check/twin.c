/* The product as the chip's kernels order and round it. */
#include "check/check.h"

#include "num/amp.h"

#include <string.h>

enum { ROW_BLOCK = 256, PANEL_BYTES = 32 };

/* Sixteen columns of some rows. */
typedef F16 Partial[ROW_BLOCK][AMP_CHANNELS];

typedef struct Twin {
    const CheckGemm *gemm;
    bool f8;
    uint32_t panel, panels; /* inner values in one, and how many */
    uint32_t row_blocks;
    int scale;
    const uint8_t *left; /* rows of panels × PANEL_BYTES bytes, `left_stride` apart */
    size_t left_stride;
    F16 *out;
    uint32_t parts;    /* of the inner dimension */
    Partial *partials; /* one for each part and worker */
} Twin;

/* A block of weights as the coefficient registers take it: [channel][input], zeros outside. */
static void gather_weights(const Twin *twin, uint32_t panel, uint32_t column, uint64_t words[64]) {
    const CheckGemm *gemm = twin->gemm;
    uint32_t first = panel * twin->panel;
    uint32_t inputs = MIN_OF(twin->panel, gemm->inner - first);
    uint32_t channels = MIN_OF((uint32_t)AMP_CHANNELS, gemm->columns - column);
    size_t bytes = twin->f8 ? 1 : 2;
    memset(words, 0, 512);
    for (uint32_t k = 0; k < inputs; k++) {
        const uint8_t *row =
            (const uint8_t *)gemm->right + ((size_t)(first + k) * gemm->columns + column) * bytes;
        uint8_t *block = (uint8_t *)words + k * bytes;
        for (uint32_t c = 0; c < channels; c++)
            memcpy(block + (size_t)c * PANEL_BYTES, row + c * bytes, bytes);
    }
}

/* Panels [first, end) of sixteen columns of up to ROW_BLOCK rows. */
static void compute_part(const Twin *twin, uint32_t row, uint32_t rows, uint32_t column,
                         uint32_t first, uint32_t end, Partial sums) {
    for (uint32_t panel = first; panel < end; panel++) {
        uint64_t words[64];
        AmpWeights weights;
        AmpRows step = {.x = twin->left + row * twin->left_stride + panel * PANEL_BYTES,
                        .partial = panel > first ? sums[0] : NULL,
                        .out = sums[0],
                        .x_stride = twin->left_stride,
                        .partial_stride = sizeof sums[0],
                        .out_stride = sizeof sums[0],
                        .rows = rows,
                        .overflow = F16_OVERFLOW_SATURATE};
        gather_weights(twin, panel, column, words);
        if (twin->f8) {
            amp_prepare_f8(&weights, words, F8_F143, F8_F143, twin->scale);
            amp_rows_f8(&step, &weights);
        } else {
            amp_prepare_f16(&weights, words);
            amp_rows_f16(&step, &weights);
        }
    }
}

/* Adds up an element's partials, that of part `owner` first. */
static F16 add_partials(const Partial *partials, uint32_t parts, uint32_t owner, uint32_t r,
                        uint32_t c) {
    float sum = 0.0f + f16_to_f32(partials[owner][r][c]);
    for (uint32_t part = 0; part < parts; part++)
        if (part != owner)
            sum += f16_to_f32(partials[part][r][c]);
    return f32_to_f16(sum, F16_OVERFLOW_SATURATE);
}

static void compute_block(void *context, size_t index, unsigned worker) {
    const Twin *twin = context;
    const CheckGemm *gemm = twin->gemm;
    uint32_t column = (uint32_t)(index / twin->row_blocks) * AMP_CHANNELS;
    uint32_t row = (uint32_t)(index % twin->row_blocks) * ROW_BLOCK;
    uint32_t rows = MIN_OF((uint32_t)ROW_BLOCK, gemm->rows - row);
    uint32_t columns = MIN_OF((uint32_t)AMP_CHANNELS, gemm->columns - column);
    Partial *partials = twin->partials + (size_t)worker * twin->parts;
    for (uint32_t part = 0, first = 0, end; part < twin->parts; part++, first = end) {
        end = twin->parts == 1 ? twin->panels : (uint32_t)div_up(gemm->sum->end[part], twin->panel);
        compute_part(twin, row, rows, column, first, end, partials[part]);
    }
    for (uint32_t r = 0; r < rows; r++) {
        F16 *out = twin->out + (size_t)(row + r) * gemm->columns + column;
        if (twin->parts == 1)
            memcpy(out, partials[0][r], columns * sizeof(F16));
        for (uint32_t c = 0; twin->parts > 1 && c < columns; c++) {
            uint32_t owner = gemm->sum->row_owner[row + r] + gemm->sum->column_owner[column + c];
            out[c] = add_partials(partials, twin->parts, owner, r, c);
        }
    }
}

Status check_gemm_twin(const CheckGemm *gemm, Pool *pool, F16 *out, Diag *diag) {
    bool f8 = gemm->left_precision.kind == PRECISION_F8F143;
    uint32_t panel = f8 ? AMP_F8_INPUTS : AMP_F16_INPUTS;
    Twin twin = {.gemm = gemm,
                 .f8 = f8,
                 .panel = panel,
                 .panels = (uint32_t)div_up(gemm->inner, panel),
                 .row_blocks = (uint32_t)div_up(gemm->rows, ROW_BLOCK),
                 .scale =
                     gemm->left_precision.scale_exponent + gemm->right_precision.scale_exponent,
                 .out = out,
                 .parts = gemm->sum ? gemm->sum->parts : 1};
    twin.partials =
        mem_alloc((size_t)twin.parts * (pool ? pool_threads(pool) : 1), sizeof(Partial));
    if (!twin.partials)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the check");
    size_t row_bytes = (size_t)gemm->inner * (f8 ? 1 : 2);
    twin.left_stride = (size_t)twin.panels * PANEL_BYTES;
    /* Rows that end within a panel are read in a copy that ends in zeros. */
    uint8_t *padded = NULL;
    twin.left = gemm->left;
    if (row_bytes != twin.left_stride) {
        padded = mem_alloc(gemm->rows, twin.left_stride);
        if (!padded) {
            mem_free(twin.partials);
            return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the check");
        }
        for (size_t row = 0; row < gemm->rows; row++)
            memcpy(padded + row * twin.left_stride, (const uint8_t *)gemm->left + row * row_bytes,
                   row_bytes);
        twin.left = padded;
    }
    size_t groups = div_up(gemm->columns, AMP_CHANNELS);
    pool_run(pool, groups * twin.row_blocks, compute_block, &twin);
    mem_free(padded);
    mem_free(twin.partials);
    return STATUS_OK;
}
