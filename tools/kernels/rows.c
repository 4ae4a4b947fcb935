/* The rows of docs/kernels.md. Published figures: ipu-stack, the newest of each shape. */
#include "kernels.h"

/* Specs, with the same arguments as the macros of rows below. */
#define GEMM(p, r, k, g)                                                                           \
    {                                                                                              \
        .family = KERNEL_GEMM, .gemm = {                                                           \
            .precision = (p),                                                                      \
            .wide_weights = true,                                                                  \
            .rows = (r),                                                                           \
            .panels = (k),                                                                         \
            .groups = (g)                                                                          \
        }                                                                                          \
    }
#define REDUCE(p, n, w)                                                                            \
    {                                                                                              \
        .family = KERNEL_REDUCE, .reduce = {.parts = (p), .count = (n), .wide = (w) }              \
    }
#define ADD(f, a, r, c)                                                                            \
    {                                                                                              \
        .family = KERNEL_ADD, .add = {.form = (f), .apart = (a), .rows = (r), .columns = (c) }     \
    }
#define GELU(b, o, h, r, p)                                                                        \
    {                                                                                              \
        .family = KERNEL_GELU, .gelu = {                                                           \
            .bias = (b),                                                                           \
            .output = (o),                                                                         \
            .half = (h),                                                                           \
            .rows = (r),                                                                           \
            .panels = (p)                                                                          \
        }                                                                                          \
    }
#define TURN(b, o, r, p)                                                                           \
    {                                                                                              \
        .family = KERNEL_GELU, .gelu = {                                                           \
            .bias = (b),                                                                           \
            .turn = KERNEL_TURN_LEFT,                                                              \
            .output = (o),                                                                         \
            .half = true,                                                                          \
            .rows = (r),                                                                           \
            .panels = (p)                                                                          \
        }                                                                                          \
    }
#define REDUCE_GELU(n, b, o, r, p)                                                                 \
    {                                                                                              \
        .family = KERNEL_REDUCE_GELU, .reduce_gelu = {                                             \
            .parts = (n),                                                                          \
            .wide = true,                                                                          \
            .bias = (b),                                                                           \
            .output = (o),                                                                         \
            .rows = (r),                                                                           \
            .panels = (p)                                                                          \
        }                                                                                          \
    }
#define CAST(f, n)                                                                                 \
    {                                                                                              \
        .family = KERNEL_CAST, .cast = {.order = CAST_LINEAR, .fast = (f), .count = (n) }          \
    }
#define CAST_PANEL(f, r, p)                                                                        \
    {                                                                                              \
        .family = KERNEL_CAST, .cast = {                                                           \
            .order = CAST_PANELS,                                                                  \
            .fast = (f),                                                                           \
            .rows = (r),                                                                           \
            .panels = (p),                                                                         \
            .groups = 1                                                                            \
        }                                                                                          \
    }
#define COPY(w, p)                                                                                 \
    {                                                                                              \
        .family = KERNEL_COPY, .copy = {.rows = 1, .words = (w), .paced = (p) }                    \
    }
#define FILL(w)                                                                                    \
    {                                                                                              \
        .family = KERNEL_FILL, .fill = {.words = (w) }                                             \
    }

#define GEMM_OTHER(r, k, g, ...)                                                                   \
    {                                                                                              \
        .family = KERNEL_GEMM, .gemm = {.rows = (r), .panels = (k), .groups = (g), __VA_ARGS__ }   \
    }
#define CONVERT(a, b, n, f, s)                                                                     \
    {                                                                                              \
        .family = KERNEL_CONVERT, .convert = {                                                     \
            .from = (a),                                                                           \
            .to = (b),                                                                             \
            .count = (n),                                                                          \
            .fast = (f),                                                                           \
            .shift = (s)                                                                           \
        }                                                                                          \
    }
#define PACK(o, p, u, f, r, c)                                                                     \
    {                                                                                              \
        .family = KERNEL_PACK, .pack = {                                                           \
            .order = (o),                                                                          \
            .precision = (p),                                                                      \
            .unpack = (u),                                                                         \
            .fast = (f),                                                                           \
            .rows = (r),                                                                           \
            .columns = (c),                                                                        \
            .pitch = (c),                                                                          \
            .groups = 1                                                                            \
        }                                                                                          \
    }

/* Rows: a product of r rows, k inner panels and g column groups; its unit is a row of a panel. */
#define GEMM_ROW(name, p, r, k, g, published, aim)                                                 \
    {                                                                                              \
        name, "row of a panel", GEMM(p, r, k, g), GEMM(p, (r) + 6, k, g), (r) * (k) * (g),         \
            ((r) + 6) * (k) * (g), published, aim, {                                               \
            (k) * (g), 32, r, 4,                                                                   \
                "4 AMP instructions a row; 32 coefficient loads a panel, behind which no "         \
                "worker runs"                                                                      \
        }                                                                                          \
    }
#define GEMM_OTHER_ROW(name, r, more, k, g, published, loads, bundles, why, ...)                   \
    {                                                                                              \
        name, "row of a panel", GEMM_OTHER(r, k, g, __VA_ARGS__),                                  \
            GEMM_OTHER((r) + (more), k, g, __VA_ARGS__), (r) * (k) * (g),                          \
            ((r) + (more)) * (k) * (g), published, 0, {                                            \
            (k) * (g), loads, r, bundles, why                                                      \
        }                                                                                          \
    }
#define CONVERT_ROW(name, a, b, n, f, s, values, bundles, why)                                     \
    {                                                                                              \
        name, #values " values", CONVERT(a, b, n, f, s), CONVERT(a, b, (n) + 480, f, s),           \
            (n) / (values), ((n) + 480) / (values), 0, 0, {                                        \
            1, 0, (n) / (values), bundles, why                                                     \
        }                                                                                          \
    }
#define PACK_ROW(name, o, p, u, f, r, c, published, aim, values, bundles, why)                     \
    {                                                                                              \
        name, #values " values", PACK(o, p, u, f, r, c), PACK(o, p, u, f, r, (c) + 96),            \
            (r) * (c) / (values), (r) * ((c) + 96) / (values), published, aim, {                   \
            1, 0, (r) * (c) / (values), bundles, why                                               \
        }                                                                                          \
    }
#define REDUCE_ROW(name, p, n, w, published, aim, bundles, why)                                    \
    {                                                                                              \
        name, "8 values", REDUCE(p, n, w), REDUCE(p, (n) + 480, w), (n) / 8, (n) / 8 + 60,         \
            published, aim, {                                                                      \
            1, 0, (n) / 8, bundles, why                                                            \
        }                                                                                          \
    }
#define ADD_ROW(name, f, a, r, c, published, aim, bundles, why)                                    \
    {                                                                                              \
        name, "4 values", ADD(f, a, r, c), ADD(f, a, r, (c) + 480), (r) * (c) / 4,                 \
            (r) * ((c) + 480) / 4, published, aim, {                                               \
            1, 0, (r) * (c) / 4, bundles, why                                                      \
        }                                                                                          \
    }
#define BIAS_ROW(name, f, r, c, bundles, why)                                                      \
    {                                                                                              \
        name, "8 values", ADD(f, KERNEL_ADD_ANYHOW, r, c), ADD(f, KERNEL_ADD_ANYHOW, (r) + 60, c), \
            (r) * (c) / 8, ((r) + 60) * (c) / 8, 0, 0, {                                           \
            1, 0, (r) * (c) / 8, bundles, why                                                      \
        }                                                                                          \
    }
#define GELU_ROW(name, b, o, h, r, p, published, aim, bundles, why)                                \
    {                                                                                              \
        name, "8 values", GELU(b, o, h, r, p), GELU(b, o, h, (r) + 60, p), 2 * (r) * (p),          \
            2 * ((r) + 60) * (p), published, aim, {                                                \
            1, 0, 2 * (r) * (p), bundles, why                                                      \
        }                                                                                          \
    }
#define TURN_ROW(name, b, o, r, p, aim, bundles, why)                                              \
    {                                                                                              \
        name, "8 values", TURN(b, o, r, p), TURN(b, o, (r) + 96, p), 2 * (r) * (p),                \
            2 * ((r) + 96) * (p), 0, aim, {                                                        \
            1, 0, 2 * (r) * (p), bundles, why                                                      \
        }                                                                                          \
    }
#define REDUCE_GELU_ROW(name, n, b, o, r, p, published, aim, bundles, why)                         \
    {                                                                                              \
        name, "8 values", REDUCE_GELU(n, b, o, r, p), REDUCE_GELU(n, b, o, (r) + 60, p),           \
            2 * (r) * (p), 2 * ((r) + 60) * (p), published, aim, {                                 \
            1, 0, 2 * (r) * (p), bundles, why                                                      \
        }                                                                                          \
    }
#define CAST_ROW(name, f, n, published, aim, bundles, why)                                         \
    {                                                                                              \
        name, "8 values", CAST(f, n), CAST(f, (n) + 480), (n) / 8, (n) / 8 + 60, published, aim, { \
            1, 0, (n) / 8, bundles, why                                                            \
        }                                                                                          \
    }
#define CAST_PANEL_ROW(name, f, r, p, published, aim, bundles, why)                                \
    {                                                                                              \
        name, "8 values", CAST_PANEL(f, r, p), CAST_PANEL(f, (r) + 60, p), 2 * (r) * (p),          \
            2 * ((r) + 60) * (p), published, aim, {                                                \
            1, 0, 2 * (r) * (p), bundles, why                                                      \
        }                                                                                          \
    }
#define COPY_ROW(name, w, p, published, bundles, why)                                              \
    {                                                                                              \
        name, "8 bytes", COPY(w, p), COPY((w) + 60, p), w, (w) + 60, published, 0, {               \
            1, 0, w, bundles, why                                                                  \
        }                                                                                          \
    }
#define FILL_ROW(name, w, published)                                                               \
    {                                                                                              \
        name, "8 bytes", FILL(w), FILL((w) + 60), w, (w) + 60, published, 0, {                     \
            1, 0, w, 1, "one store"                                                                \
        }                                                                                          \
    }

#define NO_BIAS KERNEL_BIAS_NONE
#define COLUMNS KERNEL_BIAS_COLUMNS
#define ROWS    KERNEL_BIAS_ROWS
#define F16     PRECISION_F16
#define F8      PRECISION_F8F143

const Row kernel_rows[] = {
    GEMM_ROW("GEMM F143 244 x 128 x 64", F8, 244, 4, 4, 18576, 18018),
    GEMM_ROW("GEMM F143 82 x 192 x 160", F8, 82, 6, 10, 29508, 28622),
    GEMM_ROW("GEMM F143 122 x 160 x 128", F8, 122, 5, 8, 26232, 25445),
    GEMM_ROW("GEMM F143 146 x 96 x 48", F8, 146, 3, 3, 7122, 0),
    GEMM_ROW("GEMM F143 57 x 128 x 80", F8, 57, 4, 5, 8124, 0),
    GEMM_ROW("GEMM F16 81 x 80 x 80", F16, 81, 5, 5, 12402, 0),
    GEMM_OTHER_ROW("GEMM F143 82 x 192 x 160, standard weights", 82, 6, 6, 10, 0, 64, 4,
                   "the same, 64 coefficient loads", .precision = F8),
    GEMM_OTHER_ROW("GEMM F143 82 x 192 x 160, both operands in half panels", 82, 6, 6, 10, 0, 32, 4,
                   "as with whole panels", .precision = F8, .wide_weights = true, .half_left = true,
                   .half_right = true),
    GEMM_OTHER_ROW("GEMM F143 144 x 528 x 16, half panels, an odd number", 144, 6, 17, 1, 0, 32, 4,
                   "as with whole panels", .precision = F8, .wide_weights = true, .half_left = true,
                   .half_right = true, .odd = true),
    GEMM_OTHER_ROW("GEMM F16 48 x 240 x 64, packed output", 48, 48, 15, 4, 33102, 32, 4,
                   "as with plain output", .precision = F16, .wide_weights = true, .packed = true),
    GEMM_OTHER_ROW("GEMM F16 96 x 64 x 64, packed output, standard weights", 96, 48, 4, 4, 12108,
                   64, 4, "the same, 64 coefficient loads", .precision = F16, .packed = true),
    GEMM_OTHER_ROW("GEMM F32 96 x 64 x 64", 96, 6, 8, 4, 0, 64, 8,
                   "8 AMP instructions a row; 64 coefficient loads a panel; we fill and drain the "
                   "pipeline in each launch",
                   .precision = PRECISION_F32),

    CAST_ROW("cast F16 to F143, 8,320 values, any placement", false, 8320, 4638, 0, 3,
             "two loads and a store, one a bundle"),
    CAST_ROW("cast F16 to F143, 8,320 values, apart", true, 8320, 2706, 2450, 1,
             "all three accesses in a bundle"),
    {"cast F16 to F143, 8,320 values, in place",
     "8 values",
     {.family = KERNEL_CAST, .cast = {.order = CAST_IN_PLACE, .count = 8320}},
     {.family = KERNEL_CAST, .cast = {.order = CAST_IN_PLACE, .count = 8320 + 480}},
     1040,
     1100,
     0,
     0,
     {1, 0, 1040, 3,
      "two loads and a store, one a bundle; 8 launches, so that nothing is "
      "overwritten unread"}},
    CAST_PANEL_ROW("cast F16 to F143, panels 184 x 96, apart", true, 184, 6, 6762, 5000, 1,
                   "all three accesses in a bundle"),
    CAST_PANEL_ROW("cast F16 to F143, panels 65 x 128, apart", true, 65, 8, 4794, 0, 1,
                   "all three accesses in a bundle"),
    CONVERT_ROW("F143 to F16, 8,320 values, any placement", F8, F16, 8320, false, 0, 8, 3,
                "a load and two stores, one a bundle"),
    CONVERT_ROW("F143 to F16, 8,320 values, apart", F8, F16, 8320, true, 0, 8, 2, "two stores"),
    {"F143 to F16, panels 184 x 96, apart",
     "8 values",
     {.family = KERNEL_CONVERT,
      .convert = {.from = F8, .to = F16, .fast = true, .rows = 184, .panels = 6, .groups = 1}},
     {.family = KERNEL_CONVERT,
      .convert = {.from = F8, .to = F16, .fast = true, .rows = 184 + 60, .panels = 6, .groups = 1}},
     2208,
     2928,
     0,
     0,
     {1, 0, 2208, 2, "two stores"}},
    CONVERT_ROW("F143 to F143, 8,320 values, scale by 4", F8, F8, 8320, false, 2, 8, 3,
                "two conversions to F16 and one back"),
    CONVERT_ROW("F143 to F143, 8,320 values, scale by 2", F8, F8, 8320, false, 1, 8, 5,
                "the same and two doublings"),
    CONVERT_ROW("F16 to F32, 8,320 values, apart", F16, PRECISION_F32, 8320, true, 0, 4, 2,
                "two stores"),
    CONVERT_ROW("F32 to F16, 8,320 values, apart", PRECISION_F32, F16, 8320, true, 0, 4, 1,
                "all three accesses in a bundle"),
    CONVERT_ROW(
        "F32 to F143, 8,320 values", PRECISION_F32, F8, 8320, false, 0, 4, 12,
        "for two lanes a product and four operations that keep the lost bits in one, and two "
        "conversions"),

    PACK_ROW("row-major F16 64 x 80 to block-major", PACK_RIGHT, F16, false, false, 64, 80, 25140,
             8000, 16, 8, "four loads and four stores, one a bundle"),
    PACK_ROW("row-major F16 64 x 80 to block-major, apart", PACK_RIGHT, F16, false, true, 64, 80,
             25140, 8000, 16, 4, "four steps of the transpose pipe, four stores"),
    PACK_ROW("row-major F143 64 x 80 to block-major", PACK_RIGHT, F8, false, false, 64, 80, 0, 0,
             32, 12,
             "eight shuffles and four steps of the transpose pipe; eight loads, four stores"),
    PACK_ROW("block-major F16 to row-major 64 x 80, apart", PACK_RIGHT, F16, true, true, 64, 80, 0,
             0, 16, 4, "four steps of the transpose pipe, four stores"),
    PACK_ROW("block-major F143 to row-major 64 x 80", PACK_RIGHT, F8, true, false, 64, 80, 0, 0, 16,
             8, "four shuffles and four sorts; four loads, four stores"),
    PACK_ROW("row-major F16 8 x 72 to left", PACK_LEFT, F16, false, false, 8, 72, 2364, 0, 4, 2,
             "a load and a store, one a bundle"),
    PACK_ROW("row-major F16 64 x 80 to left, apart", PACK_LEFT, F16, false, true, 64, 80, 0, 0, 4,
             1, "both in a bundle"),
    PACK_ROW("left F16 to row-major 64 x 80, apart", PACK_LEFT, F16, true, true, 64, 80, 0, 0, 4, 1,
             "both in a bundle"),
    PACK_ROW("row-major F16 64 x 16 to transposed-right", PACK_TRANSPOSED_RIGHT, F16, false, false,
             64, 16, 1500, 0, 4, 2, "a load and a store, one a bundle"),

    REDUCE_ROW("reduce 1,472 x 4, interleaved", 4, 1472, true, 3444, 2700, 7,
               "an accumulation a part, and three operations that read 8 lanes out"),
    REDUCE_ROW("reduce 576 x 15, interleaved", 15, 576, true, 3090, 2200, 18, "the same"),
    REDUCE_ROW("reduce 2,208 x 28, interleaved", 28, 2208, true, 18222, 0, 31, "the same"),
    REDUCE_ROW("reduce 1,472 x 4", 4, 1472, false, 3444, 2700, 10,
               "two loads a part and two stores, one a bundle"),
    REDUCE_ROW("reduce 576 x 15", 15, 576, false, 3090, 0, 32, "the same"),

    GELU_ROW("GELU, 138 x 16", NO_BIAS, F16, false, 138, 1, 10956, 4900, 16,
             "8 operations for 4 lanes: square, cube, mix, twice tanh, halving, product, sum"),
    GELU_ROW("GELU with bias, 138 x 16", COLUMNS, F16, false, 138, 1, 8730, 6000, 18,
             "9 operations for 4 lanes: the same and the bias"),
    GELU_ROW("GELU to F143, 72 x 16", NO_BIAS, F8, true, 72, 1, 6498, 0, 15,
             "7 operations for 4 lanes, the halving is part of the scale, and a conversion of 8"),
    GELU_ROW("GELU to F143 with bias, 146 x 16", COLUMNS, F8, true, 146, 1, 0, 0, 17,
             "the same and the bias"),
    GELU_ROW("GELU to F143 lines of 32, with bias, 82 x 160", COLUMNS, F8, false, 82, 10, 0, 0, 17,
             "the same"),
    TURN_ROW("GELU to F143, transposed, 144 x 16", NO_BIAS, F8, 144, 1, 7372, 15,
             "as without transposing, which the main lane does meanwhile"),
    TURN_ROW("GELU to F143 with bias, transposed, 144 x 16", ROWS, F8, 144, 1, 7372, 17,
             "the same"),
    TURN_ROW("GELU to F16, transposed, 144 x 16", NO_BIAS, F16, 144, 1, 0, 18,
             "main lane: two loads, four words to main registers, four sorts and stores, two "
             "constants, two for addresses"),
    TURN_ROW("GELU to F16 with bias, transposed, 144 x 16", ROWS, F16, 144, 1, 0, 20,
             "the same and two of bias"),
    REDUCE_GELU_ROW("reduce 82 x 32 x 6, bias, GELU", 6, COLUMNS, F16, 82, 2, 17892, 0, 27,
                    "6 accumulations, two operations that read out 4 lanes, a mix more than quads, "
                    "and bias and GELU but for mix"),
    REDUCE_GELU_ROW("reduce 82 x 32 x 6, bias, GELU to F143", 6, COLUMNS, F8, 82, 2, 0, 0, 26,
                    "the same, without halving, but with a conversion"),

    ADD_ROW("add 1,152, any placement", KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 1152, 1368, 0, 3,
            "two loads and a store, one a bundle"),
    ADD_ROW("add 1,152, inputs apart", KERNEL_ADD_PLAIN, KERNEL_ADD_INPUTS_APART, 1, 1152, 1368,
            840, 2, "both loads in a bundle"),
    ADD_ROW("add 1,152, all apart", KERNEL_ADD_PLAIN, KERNEL_ADD_ALL_APART, 1, 1152, 1368, 600, 1,
            "all three accesses in a bundle"),
    ADD_ROW("add 3 x 1,152 and 1,152", KERNEL_ADD_REPEATED, KERNEL_ADD_INPUTS_APART, 3, 1152, 4416,
            0, 2, "both loads in a bundle"),
    BIAS_ROW("bias of columns, 82 x 160", KERNEL_ADD_COLUMNS, 82, 160, 4,
             "two loads and two stores, one a bundle"),
    BIAS_ROW("bias of lines, 144 x 32", KERNEL_ADD_ROWS, 144, 32, 5, "the same, and the bias"),

    COPY_ROW("copy 1,024 words", 1024, false, 2298, 2, "a load and a store, one a bundle"),
    COPY_ROW("copy 1,024 words, apart", 1024, true, 1308, 1, "both in a bundle"),
    FILL_ROW("fill 1,024 words", 1024, 1260),
};

const size_t kernel_row_count = sizeof kernel_rows / sizeof kernel_rows[0];
