#include "tensor/bulk.h"

#include "base/mem.h"

#include <string.h>

/* One matrix of a shard against its place in the logical array. */
typedef struct Matrix {
    const Layout *layout;
    uint8_t *packed;        /* its first value in the shard (a row of panels if flattened) */
    uint8_t *logical;       /* value (0, 0) of the shard in the array */
    uint64_t pitch;         /* bytes between rows of the array */
    uint32_t rows, columns; /* logical */
    uint32_t first_row;     /* flattened row of row 0 */
} Matrix;

/* offset(k, n) = inner_offset(k) + outer_offset(n) for k at a group's start, in values. */
static uint64_t inner_offset(const Layout *layout, uint32_t k) {
    uint64_t groups = layout->inner_block / layout->group;
    uint64_t panel =
        (uint64_t)(k / layout->inner_block) * (layout->outer / layout->outer_block) * groups +
        k % layout->inner_block / layout->group;
    return panel * layout->group * layout->outer_block;
}

static uint64_t outer_offset(const Layout *layout, uint32_t n) {
    uint64_t groups = layout->inner_block / layout->group;
    return (n / layout->outer_block * groups * layout->outer_block + n % layout->outer_block) *
           layout->group;
}

/* Copies the runs of a row: inner axis = columns. */
static void copy_runs(const Matrix *matrix, bool pack) {
    const Layout *layout = matrix->layout;
    uint64_t b = layout->value_bytes;
    uint32_t g = layout->group;
    for (uint32_t k = 0; k < matrix->columns; k += g) {
        uint64_t bytes = MIN_OF(g, matrix->columns - k) * b;
        uint64_t panel = inner_offset(layout, k);
        for (uint32_t row = 0; row < matrix->rows; row++) {
            uint8_t *packed =
                matrix->packed + (panel + outer_offset(layout, matrix->first_row + row)) * b;
            uint8_t *logical = matrix->logical + row * matrix->pitch + k * b;
            if (bytes == 32 && pack)
                memcpy(packed, logical, 32); /* the common case, without a call */
            else if (pack)
                memcpy(packed, logical, bytes);
            else
                memcpy(logical, packed, bytes);
        }
    }
}

/* Transposes a block of 8 x 8 bytes or 4 x 4 halves. */
static inline __attribute__((always_inline)) void transpose_block(uint32_t b, const uint8_t *in,
                                                                  uint64_t in_pitch, uint8_t *out,
                                                                  uint64_t out_pitch) {
    static const uint64_t masks[] = {0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF};
    uint64_t rows[8];
    uint32_t count = 8 / b;
    for (uint32_t i = 0; i < count; i++)
        memcpy(&rows[i], in + i * in_pitch, 8);
    for (uint32_t half = count / 2, stage = 0; half > 0; half /= 2, stage++) {
        uint32_t shift = 32 >> stage;
        for (uint32_t i = 0; i < count; i++) {
            if (i & half)
                continue;
            uint64_t swap = ((rows[i] >> shift) ^ rows[i + half]) & masks[stage];
            rows[i + half] ^= swap;
            rows[i] ^= swap << shift;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        memcpy(out + i * out_pitch, &rows[i], 8);
}

/* A rectangle of the array against lines: `count` rows from `logical` on, columns [from, to). */
typedef struct Band {
    uint8_t *logical, *panel;
    uint32_t count, from, to;
} Band;

static void copy_single(const Matrix *matrix, const Band *band, bool pack) {
    uint32_t b = matrix->layout->value_bytes;
    for (uint32_t n = band->from; n < band->to; n++) {
        uint8_t *line = band->panel + outer_offset(matrix->layout, n) * b;
        for (uint32_t i = 0; i < band->count; i++) {
            uint8_t *value = band->logical + i * matrix->pitch + n * b;
            memcpy(pack ? line + i * b : value, pack ? value : line + i * b, b);
        }
    }
}

/* Block by block; false if the band is no whole number of blocks, or not in one panel. */
static inline __attribute__((always_inline)) bool copy_blocks(uint32_t b, const Matrix *matrix,
                                                              const Band *band, bool pack) {
    uint32_t size = 8 / b, ob = matrix->layout->outer_block;
    uint64_t line_pitch = (uint64_t)matrix->layout->group * b;
    if (band->count % size != 0 || band->to - band->from != size ||
        band->from / ob != (band->to - 1) / ob)
        return false;
    uint8_t *line = band->panel + outer_offset(matrix->layout, band->from) * b;
    for (uint32_t i = 0; i < band->count; i += size) {
        uint8_t *values = band->logical + i * matrix->pitch + (uint64_t)band->from * b;
        if (pack)
            transpose_block(b, values, matrix->pitch, line + i * b, line_pitch);
        else
            transpose_block(b, line + i * b, line_pitch, values, matrix->pitch);
    }
    return true;
}

/* Inner axis = rows: a group of rows at a time, eight bytes of them at a time. */
static void copy_across(const Matrix *matrix, bool pack) {
    const Layout *layout = matrix->layout;
    uint32_t b = layout->value_bytes, g = layout->group, step = MAX_OF(8 / b, 1U);
    for (uint32_t k = 0; k < matrix->rows; k += g) {
        Band band = {.logical = matrix->logical + k * matrix->pitch,
                     .panel = matrix->packed + inner_offset(layout, k) * b,
                     .count = MIN_OF(g, matrix->rows - k)};
        for (; band.from < matrix->columns; band.from = band.to) {
            band.to = MIN_OF(band.from + step, matrix->columns);
            if (!(b == 1 && copy_blocks(1, matrix, &band, pack)) &&
                !(b == 2 && copy_blocks(2, matrix, &band, pack)))
                copy_single(matrix, &band, pack);
        }
    }
}

/* Drained groups, value by value: only results of kernels without reordering are stored so. */
static void copy_drained(const Matrix *matrix, bool pack) {
    const Layout *layout = matrix->layout;
    uint64_t b = layout->value_bytes;
    for (uint32_t row = 0; row < matrix->rows; row++) {
        for (uint32_t column = 0; column < matrix->columns; column++) {
            uint32_t k = layout->inner_is_row ? row : column;
            uint32_t n = layout->inner_is_row ? column : row + matrix->first_row;
            uint64_t offset = inner_offset(layout, k) + outer_offset(layout, n) +
                              order_drain_position[k % layout->group];
            uint8_t *packed = matrix->packed + offset * b;
            uint8_t *logical = matrix->logical + row * matrix->pitch + column * b;
            memcpy(pack ? packed : logical, pack ? logical : packed, b);
        }
    }
}

static void copy_even(const Matrix *matrix, bool pack) {
    if (matrix->layout->drain)
        copy_drained(matrix, pack);
    else if (!matrix->layout->inner_is_row)
        copy_runs(matrix, pack);
    else
        copy_across(matrix, pack);
}

/* Panels of a last outer block that has fewer lines are a matrix of their own. */
static void copy_matrix(const Matrix *matrix, bool pack) {
    const Layout *layout = matrix->layout;
    uint32_t rest = layout->outer % layout->outer_block, whole = layout->outer - rest;
    uint32_t logical = layout->inner_is_row ? matrix->columns : matrix->rows;
    Layout parts[2] = {*layout, *layout};
    Matrix even = *matrix, last = *matrix;
    if (rest == 0) {
        copy_even(matrix, pack);
        return;
    }
    parts[0].outer = whole;
    parts[1].outer = parts[1].outer_block = rest;
    even.layout = &parts[0];
    last.layout = &parts[1];
    *(layout->inner_is_row ? &even.columns : &even.rows) = MIN_OF(logical, whole);
    copy_even(&even, pack);
    if (logical <= whole)
        return;
    last.packed += (uint64_t)whole * layout->inner * layout->value_bytes;
    last.logical += whole * (layout->inner_is_row ? layout->value_bytes : matrix->pitch);
    *(layout->inner_is_row ? &last.columns : &last.rows) = logical - whole;
    copy_even(&last, pack);
}

static uint32_t logical_width(const Shard *shard, uint32_t axis) {
    return shard->bounds[axis].logical_end - shard->bounds[axis].start;
}

/* Every matrix of the shard that holds logical values: leading indices count like an odometer. */
static void copy_shard(const Shape *shape, const Shard *shard, uint8_t *logical, uint8_t *packed,
                       bool pack) {
    const Layout *layout = &shard->layout;
    uint32_t rank = shape->rank;
    uint64_t b = layout->value_bytes, step[SHAPE_MAX_RANK] = {0}, count = b;
    for (uint32_t i = rank; i-- > 0;) {
        if (logical_width(shard, i) == 0)
            return;
        step[i] = count;
        count *= shape->dims[i];
    }
    Matrix matrix = {.layout = layout, .rows = 1, .columns = 1};
    if (rank >= 1)
        matrix.columns = logical_width(shard, rank - 1);
    if (rank >= 2) {
        matrix.rows = logical_width(shard, rank - 2);
        matrix.pitch = step[rank - 2];
    }
    uint32_t index[SHAPE_MAX_RANK] = {0}, leading = rank > 2 ? rank - 2 : 0;
    for (;;) {
        uint64_t number = 0;
        matrix.logical = logical;
        for (uint32_t i = 0; i < rank; i++)
            matrix.logical += (shard->bounds[i].start + index[i]) * step[i];
        for (uint32_t i = 0; i < leading; i++)
            number = number * layout->dims[i] + index[i];
        if (layout->flattened)
            matrix.first_row = (uint32_t)number * (rank >= 2 ? layout->dims[rank - 2] : 1);
        matrix.packed = packed;
        if (!layout->flattened)
            matrix.packed += number * layout->inner * layout->outer * b;
        copy_matrix(&matrix, pack);
        uint32_t i = leading;
        for (; i > 0; i--) {
            if (++index[i - 1] < logical_width(shard, i - 1))
                break;
            index[i - 1] = 0;
        }
        if (i == 0)
            return;
    }
}

void bulk_pack(const Shape *shape, const Shard *shard, const void *logical, void *bytes) {
    bool padded = false;
    for (uint32_t i = 0; i < shard->rank; i++)
        padded |= shard->bounds[i].logical_end != shard->bounds[i].physical_end;
    if (padded)
        memset(bytes, 0, shard_bytes(shard));
    copy_shard(shape, shard, (uint8_t *)(uintptr_t)logical, bytes, true);
}

void bulk_unpack(const Shape *shape, const Shard *shard, const void *bytes, void *logical) {
    copy_shard(shape, shard, logical, (uint8_t *)(uintptr_t)bytes, false);
}
