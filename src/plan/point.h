/* Internal: operations value by value, on packed shards. */
#pragma once

#include "kernel/kernel.h"
#include "tensor/format.h"

/* What is added: nothing, as many values, or a vector of one value for each column or each row. */
typedef enum PointRight { POINT_NONE, POINT_PLAIN, POINT_COLUMNS, POINT_ROWS } PointRight;

PointRight point_right(const Shape *whole, const Shape *right);

/* The kernel for shards of these layouts; false if there is none. */
/* Targets with their lines along the other axis are in the order of point_turn. */
bool point_gelu(const Layout *source, const Layout *target, PrecisionKind precision,
                PointRight right, KernelSpec *spec);
bool point_add(const Layout *source, PointRight right, KernelSpec *spec);

/* Every 16 x 16 block of F16 values is transposed where it lies in the sequence: TransposedLeft
 * becomes TransposedRight, Left becomes Right. */
bool point_turn(uint64_t bytes, KernelSpec *spec);
