/* Precision, shape and memory class: what a tensor value is before anybody lays it out. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum PrecisionKind {
    PRECISION_F8F143 = 0,
    PRECISION_F16 = 1,
    PRECISION_F32 = 2
} PrecisionKind;

/* Storage precision. An F143 code stands for decode(code) * 2^scale_exponent; one scale a tensor.
 * The exponent of F16 and F32 is 0. */
typedef struct Precision {
    PrecisionKind kind;
    int8_t scale_exponent;
} Precision;

/* A scale must serve both operands of a product whose exponent sum fits the signed six bits of the
 * device's scale register. */
enum { PRECISION_SCALE_MIN = -16, PRECISION_SCALE_MAX = 15 };

enum { PRECISION_TEXT_SIZE = 24 };

uint32_t precision_bytes(Precision precision);
/* Values in one 32-byte row of a packed panel: 32 for F143, 16 for F16, 8 for F32. */
uint32_t precision_group(Precision precision);
bool precision_equal(Precision a, Precision b);
/* "f8f143(s=-4)", "f16", "f32" into `text`, which is returned. */
const char *precision_print(Precision precision, char text[PRECISION_TEXT_SIZE]);
/* Parses that form at the start of `text`; returns the character after it, or NULL (no precision,
 * or an F143 scale outside PRECISION_SCALE_MIN…MAX). "f8f143" without a scale means scale 0. */
const char *precision_parse(const char *text, Precision *precision);

enum { SHAPE_MAX_RANK = 6 };

/* Row-major logical extents; rank 0 is a scalar. */
typedef struct Shape {
    uint32_t rank;
    uint32_t dims[SHAPE_MAX_RANK];
} Shape;

/* Number of values; false if it does not fit 63 bits. */
bool shape_count(const Shape *shape, uint64_t *count);
bool shape_equal(const Shape *a, const Shape *b);
/* The shape as a matrix: all axes but the last one are rows, [N] is [1,N], [] is [1,1]. False if
 * there are more than 2^32 - 1 rows. */
bool shape_matrix(const Shape *shape, Shape *matrix);

enum { SHAPE_TEXT_SIZE = 12 * SHAPE_MAX_RANK + 3 };
/* "[729,1152]" into `text`, which is returned; "[]" for a scalar. */
const char *shape_print(const Shape *shape, char text[SHAPE_TEXT_SIZE]);

/* Which part of tile memory a buffer may lie in: standard anywhere, interleaved only in region 1,
 * where 128-bit loads and load pairs work. */
typedef enum MemoryClass { MEMORY_STANDARD = 0, MEMORY_INTERLEAVED = 1 } MemoryClass;

const char *memory_class_name(MemoryClass memory_class); /* "standard", "interleaved" */
