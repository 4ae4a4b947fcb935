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

/* Scatters or gathers values of `type`: inner axis = rows, a group of them at a time. */
#define COPY_ACROSS(name, type)                                                                    \
    static void name(const Matrix *matrix, bool pack) {                                            \
        const Layout *layout = matrix->layout;                                                     \
        uint32_t g = layout->group;                                                                \
        uint64_t pitch = matrix->pitch / sizeof(type);                                             \
        for (uint32_t k = 0; k < matrix->rows; k += g) {                                           \
            uint32_t count = MIN_OF(g, matrix->rows - k);                                          \
            type *panel = (type *)matrix->packed + inner_offset(layout, k);                        \
            type *logical = (type *)matrix->logical + k * pitch;                                   \
            for (uint32_t n = 0; n < matrix->columns; n++) {                                       \
                type *line = panel + outer_offset(layout, n);                                      \
                for (uint32_t i = 0; i < count; i++) {                                             \
                    if (pack)                                                                      \
                        line[i] = logical[i * pitch + n];                                          \
                    else                                                                           \
                        logical[i * pitch + n] = line[i];                                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

COPY_ACROSS(copy_across_1, uint8_t)
COPY_ACROSS(copy_across_2, uint16_t)
COPY_ACROSS(copy_across_4, uint32_t)

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

static void copy_matrix(const Matrix *matrix, bool pack) {
    if (matrix->layout->drain)
        copy_drained(matrix, pack);
    else if (!matrix->layout->inner_is_row)
        copy_runs(matrix, pack);
    else if (matrix->layout->value_bytes == 1)
        copy_across_1(matrix, pack);
    else if (matrix->layout->value_bytes == 2)
        copy_across_2(matrix, pack);
    else
        copy_across_4(matrix, pack);
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
