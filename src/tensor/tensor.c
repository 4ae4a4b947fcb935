#include "tensor/tensor.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t precision_bytes(Precision precision) {
    return 1U << (unsigned)precision.kind;
}

uint32_t precision_group(Precision precision) {
    return 32 / precision_bytes(precision);
}

bool precision_equal(Precision a, Precision b) {
    return a.kind == b.kind && a.scale_exponent == b.scale_exponent;
}

const char *precision_print(Precision precision, char text[PRECISION_TEXT_SIZE]) {
    if (precision.kind == PRECISION_F8F143)
        snprintf(text, PRECISION_TEXT_SIZE, "f8f143(s=%d)", precision.scale_exponent);
    else
        snprintf(text, PRECISION_TEXT_SIZE, "%s", precision.kind == PRECISION_F16 ? "f16" : "f32");
    return text;
}

const char *precision_parse(const char *text, Precision *precision) {
    *precision = (Precision){PRECISION_F8F143, 0};
    if (strncmp(text, "f16", 3) == 0 || strncmp(text, "f32", 3) == 0) {
        precision->kind = text[1] == '1' ? PRECISION_F16 : PRECISION_F32;
        return text + 3;
    }
    if (strncmp(text, "f8f143", 6) != 0)
        return NULL;
    text += 6;
    if (strncmp(text, "(s=", 3) != 0)
        return text;
    text += 3;
    bool negative = *text == '-';
    text += negative;
    int scale = 0, digits = 0;
    for (; *text >= '0' && *text <= '9' && digits < 3; text++, digits++)
        scale = scale * 10 + (*text - '0');
    scale = negative ? -scale : scale;
    if (digits == 0 || *text != ')' || scale < PRECISION_SCALE_MIN || scale > PRECISION_SCALE_MAX)
        return NULL;
    precision->scale_exponent = (int8_t)scale;
    return text + 1;
}

bool shape_count(const Shape *shape, uint64_t *count) {
    *count = 1;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!checked_mul(*count, shape->dims[i], count) || *count > INT64_MAX)
            return false;
    return true;
}

bool shape_equal(const Shape *a, const Shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

bool shape_matrix(const Shape *shape, Shape *matrix) {
    uint64_t rows = 1;
    for (uint32_t axis = 0; axis + 1 < shape->rank; axis++)
        if (!checked_mul(rows, shape->dims[axis], &rows) || rows > UINT32_MAX)
            return false;
    uint32_t columns = shape->rank ? shape->dims[shape->rank - 1] : 1;
    *matrix = (Shape){.rank = 2, .dims = {(uint32_t)rows, columns}};
    return true;
}

const char *shape_print(const Shape *shape, char text[SHAPE_TEXT_SIZE]) {
    size_t used = 0;
    text[used++] = '[';
    for (uint32_t i = 0; i < shape->rank; i++)
        used +=
            (size_t)snprintf(text + used, SHAPE_TEXT_SIZE - used, i ? ",%u" : "%u", shape->dims[i]);
    text[used++] = ']';
    text[used] = 0;
    return text;
}

const char *memory_class_name(MemoryClass memory_class) {
    return memory_class == MEMORY_STANDARD ? "standard" : "interleaved";
}
