/* The structures of published kernels, and the constants that each reads. */
#pragma once

#include "accuracy.h"

typedef void BuildFunction(Call *call, const Stream *stream, const int *parameters);

/* Units of so many elements, dealt; the first `peeled` rounds are part of the prologue.
 * Parameters: elements. */
enum { BLOCK_UNITS, BLOCK_BUNDLES, BLOCK_PEELED };
BuildFunction build_blocks;
/* Blocks of 16 and pairs. Parameters: elements. */
enum { TAIL_BLOCK, TAIL_PAIR, TAIL_EXTRA };
BuildFunction build_gelu_tail;
/* Groups of 8: constant 0, and constant 1 for every part but the first. Parameters: elements,
 * parts. */
BuildFunction build_reduce;
/* Rows one after the other, quads of each dealt. Parameters: rows, width. */
enum { WIDTH_ROW, WIDTH_QUAD };
BuildFunction build_width_rows;
/* 32-wide panels; whole ones dealt, or the rows of each. Parameters: rows, columns. */
enum { PANEL_FIXED, PANEL_ROW };
BuildFunction build_panel_cast;
/* Parameters: rows, columns. */
enum { PACK_ROW, PACK_PANEL, PACK_PAIR, PACK_ZERO };
BuildFunction build_pack_left;
/* Constant 0 for two rows. Parameters: rows. */
BuildFunction build_pairs_of_rows;
/* Parameters: rows, keys, padded keys. */
enum { SOFTMAX_PANEL, SOFTMAX_SCAN, SOFTMAX_MASKED, SOFTMAX_ROW, SOFTMAX_BEHIND, SOFTMAX_BETWEEN };
BuildFunction build_softmax_whole;
/* Three launches; behind each the supervisor has instructions of which each needs the one before:
 * they hide in the slots of workers that have a row less. Parameters: rows, padded keys. */
BuildFunction build_softmax_split;
/* Parameters: rows, columns, update, final. */
BuildFunction build_merge;
/* Launches for each row: sum, squares, and apply unless NORM_APPLY is 0. Parameters: rows, width.
 */
enum { NORM_SUM, NORM_SQUARES, NORM_APPLY, NORM_APPLY_UNITS, NORM_BETWEEN, NORM_BETWEEN_ROWS };
BuildFunction build_norm;
/* One launch for all rows: constants 0 and 1 (a statistic) a row, 2 a quad. Parameters: rows,
 * width, statistics. */
BuildFunction build_norm_apply;
/* Parameters: rows, inner, columns, inner elements of a panel. */
enum { GEMM_NEXT, GEMM_NEW, GEMM_PROLOGUE, GEMM_GROUP };
BuildFunction build_gemm;
