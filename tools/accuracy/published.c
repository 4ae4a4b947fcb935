/* Published timings of ipu-stack's kernels, and the streams that stand for these kernels. */
#include "streams.h"

#include "base/mem.h"

#define CHOSEN  .origin = ORIGIN_CHOSEN
#define COUNTED .origin = ORIGIN_PUBLISHED

/* GELU -----------------------------------------------------------------------------------------*/

#define GELU(id, title, prologue_bundles, ...)                                                     \
    static const Stream id = {.family = "GELU",                                                    \
                              .name = title,                                                       \
                              .arguments = 3,                                                      \
                              .prologue = (prologue_bundles),                                      \
                              CHOSEN,                                                              \
                              __VA_ARGS__}

GELU(gelu_93, "GELU, paired operations", 26, .build = build_blocks, .constant = {16, 93},
     .structure = "93 bundles for 16 values, blocks dealt to the workers");
GELU(gelu_61, "GELU, four lanes", 26, .build = build_blocks, .constant = {16, 61},
     .structure = "61 bundles for 16 values");
GELU(gelu_85, "GELU, four lanes and clamp", 31, .build = build_blocks, .constant = {16, 85},
     .structure = "85 bundles for 16 values");
GELU(gelu_77, "GELU, 64-bit clamp bounds", 31, .build = build_blocks, .constant = {16, 77},
     .structure = "77 bundles for 16 values");
GELU(gelu_tail, "GELU, incomplete blocks", 31, .build = build_gelu_tail, .constant = {80, 20, 2},
     .structure = "80 bundles for 16 values; 20 for a pair of the last block, by its owner");
static const Stream gelu_bias = {.family = "GELU",
                                 .name = "bias + GELU",
                                 .structure = "rows in turn, 15 bundles for 4 values, 38 a row",
                                 .arguments = 5,
                                 .prologue = 12,
                                 CHOSEN,
                                 .build = build_width_rows,
                                 .constant = {38, 15}};
static const Stream gelu_f8 = {.family = "GELU",
                               .name = "GELU to FP8",
                               .structure = "167 bundles for 32 values, one row",
                               .arguments = 8,
                               .prologue = 55,
                               CHOSEN,
                               .build = build_blocks,
                               .constant = {32, 167}};

/* Reduction, add -------------------------------------------------------------------------------*/

static const Stream reduce_new = {.family = "reduction",
                                  .name = "reduction",
                                  .structure = "11 + 2 (parts - 1) bundles for 8 values",
                                  .arguments = 5,
                                  .prologue = 22,
                                  CHOSEN,
                                  .build = build_reduce,
                                  .constant = {11, 2}};
static const Stream reduce_in_model = {
    .family = "reduction",
    .name = "reduction inside a model",
    .structure = "the same in a whole model; the published 2,624, 2,560 and 2,528 values and their "
                 "halves are two panels and one of 82, 80 and 79 rows: 729 rows cut in nine at "
                 "even rows, the last block with a row of padding that is added like the others",
    .arguments = 5,
    .prologue = 23,
    CHOSEN,
    .build = build_reduce,
    .constant = {11, 2}};
static const Stream reduce_old = {.family = "reduction",
                                  .name = "reduction, first revision",
                                  .structure = "9 + 6 (parts - 1) bundles for 8 values",
                                  .arguments = 5,
                                  .prologue = 22,
                                  CHOSEN,
                                  .build = build_reduce,
                                  .constant = {9, 6}};
static const Stream add_4 = {.family = "add",
                             .name = "add",
                             .structure = "rows in turn, 4 bundles for 4 values, 39 a row",
                             .arguments = 6,
                             .prologue = 18,
                             CHOSEN,
                             .build = build_width_rows,
                             .constant = {39, 4}};
static const Stream add_3 = {.family = "add",
                             .name = "add, pipelined",
                             .structure = "3 bundles for 4 values",
                             .arguments = 6,
                             .prologue = 20,
                             CHOSEN,
                             .build = build_width_rows,
                             .constant = {39, 3}};

/* Casts ----------------------------------------------------------------------------------------*/

static const Stream cast_4 = {.family = "cast F16 to FP8",
                              .name = "linear cast",
                              .structure = "4 bundles for 8 values",
                              .arguments = 8,
                              .prologue = 51,
                              CHOSEN,
                              .build = build_blocks,
                              .constant = {8, 4}};
static const Stream cast_2 = {.family = "cast F16 to FP8",
                              .name = "linear cast, pipelined",
                              .structure = "2 bundles for 8 values, the first 8 outside the loop",
                              .arguments = 8,
                              .prologue = 79,
                              CHOSEN,
                              .build = build_blocks,
                              .constant = {8, 2, 1}};
#define PANELS(id, title, text, prologue_bundles, fixed, row)                                      \
    static const Stream id = {.family = "cast F16 to FP8",                                         \
                              .name = title,                                                       \
                              .structure = text,                                                   \
                              .arguments = 8,                                                      \
                              .prologue = (prologue_bundles),                                      \
                              CHOSEN,                                                              \
                              .build = build_panel_cast,                                           \
                              .constant = {fixed, row}}
PANELS(panels_first, "panel cast, first vector revision", "14 bundles a row, 34 a panel", 66, 34,
       14);
PANELS(panels_second, "panel cast, second revision", "14 bundles a row, 29 a panel", 96, 29, 14);
PANELS(panels_fallback, "panel cast, fallback", "12 bundles a row, 25 a panel", 145, 25, 12);
PANELS(panels_pipelined, "panel cast, pipelined", "8 bundles a row, 70 a panel", 147, 70, 8);

/* Rearranging ----------------------------------------------------------------------------------*/

static const Stream pack_left = {
    .family = "pack and copy",
    .name = "row-major to AMP left",
    .structure = "a row: 16 bundles, 35 a full panel, 4 a pair, 2 a zero pair, 2",
    .arguments = 7,
    .prologue = 5,
    COUNTED,
    .build = build_pack_left,
    .constant = {15, 35, 4, 2}};
static const Stream pack_blocks = {.family = "pack and copy",
                                   .name = "row-major to block-major",
                                   .structure = "60 bundles for two rows of 16",
                                   .arguments = 7,
                                   .prologue = 25,
                                   CHOSEN,
                                   .build = build_pairs_of_rows,
                                   .constant = {60}};
static const Stream copy_paced = {.family = "pack and copy",
                                  .name = "paced copy",
                                  .structure = "a bundle for 8 bytes, runs of equal length",
                                  .arguments = 3,
                                  .prologue = 23,
                                  CHOSEN,
                                  .build = build_blocks,
                                  .constant = {1, 1}};

/* Attention ------------------------------------------------------------------------------------*/

#define SOFTMAX(u, scan, row, whole_prologue, split_prologue)                                      \
    static const Stream softmax_whole_##u = {                                                      \
        .family = "attention",                                                                     \
        .name = "softmax, whole rows, u = " #u,                                                    \
        .structure = #u " bundles a panel of 16 keys, 38 a row, more for masked keys",             \
        .arguments = 4,                                                                            \
        .prologue = whole_prologue,                                                                \
        CHOSEN,                                                                                    \
        .build = build_softmax_whole,                                                              \
        .constant = {u, scan, 3, row}};                                                            \
    static const Stream softmax_split_##u = {                                                      \
        .family = "attention",                                                                     \
        .name = "softmax, split rows, u = " #u,                                                    \
        .structure = "three launches: " #scan " and " #u " - " #scan                               \
                     " bundles a panel, 128 a row; 21 a row; behind a "                            \
                     "launch, three supervisor instructions",                                      \
        .arguments = 4,                                                                            \
        .prologue = split_prologue,                                                                \
        CHOSEN,                                                                                    \
        .build = build_softmax_split,                                                              \
        .constant = {u, scan, 0, 0, 3, 4}}
SOFTMAX(47, 9, 0, 12, 33);
SOFTMAX(43, 9, 0, 12, 33);
SOFTMAX(41, 9, 2, 11, 35);
static const Stream merge = {
    .family = "attention",
    .name = "merge",
    .structure = "a row: 28 bundles (update: 35), 3 a panel, 4 (6) a pair, 3 (5) if final",
    .arguments = 6,
    .prologue = 12,
    CHOSEN,
    .build = build_merge};

/* Layer normalisation --------------------------------------------------------------------------*/

#define NORM(id, title, words, prologue_bundles, inside, between, sum, squares, apply, units)      \
    static const Stream id = {.family = "layer normalisation",                                     \
                              .name = title,                                                       \
                              .structure = "launches for each row: " #sum                          \
                                           " bundles for 8 values, " #squares " for 4, " #apply    \
                                           " for " #units,                                         \
                              .arguments = words,                                                  \
                              .prologue = prologue_bundles,                                        \
                              CHOSEN,                                                              \
                              .build = build_norm,                                                 \
                              .constant = {sum, squares, apply, units, inside, between}}
NORM(norm_1, "layer norm, first revision", 6, 210, 3, 3, 3, 6, 10, 2);
NORM(norm_2, "layer norm, second revision", 6, 221, 3, 3, 3, 6, 12, 4);
NORM(norm_3, "layer norm, third revision", 6, 225, 3, 3, 2, 5, 12, 4);
NORM(add_norm_1, "add + layer norm, first revision", 7, 220, 3, 1, 6, 8, 12, 2);
NORM(add_norm_2, "add + layer norm, second revision", 7, 231, 3, 1, 6, 8, 14, 4);
NORM(add_norm_3, "add + layer norm, third revision", 7, 235, 3, 1, 5, 7, 14, 4);
#define MOMENTS(id, title, words, prologue_bundles, inside, between, sum, squares)                 \
    static const Stream id = {.family = "layer normalisation",                                     \
                              .name = title,                                                       \
                              .structure = "launches for each row: " #sum                          \
                                           " bundles for 8 values, " #squares " for 4",            \
                              .arguments = words,                                                  \
                              .prologue = prologue_bundles,                                        \
                              CHOSEN,                                                              \
                              .build = build_norm,                                                 \
                              .constant = {sum, squares, 0, 4, inside, between}}
MOMENTS(moments_1, "moments", 4, 173, 2, 1, 3, 6);
MOMENTS(moments_3, "moments, third revision", 4, 180, 2, 1, 2, 5);
MOMENTS(add_moments, "residual + moments", 5, 190, 3, 3, 7, 6);
static const Stream norm_apply = {.family = "layer normalisation",
                                  .name = "apply",
                                  .structure = "a row: 67 bundles, 9 a statistic, 12 for 4 values",
                                  .arguments = 8,
                                  .prologue = 103,
                                  CHOSEN,
                                  .build = build_norm_apply,
                                  .constant = {67, 9, 12}};

/* Matrix products ------------------------------------------------------------------------------*/

#define GEMM(id, revision, next, new, prologue_cycles, group_cycles)                               \
    static const Stream id = {                                                                     \
        .family = "matrix product",                                                                \
        .name = "GEMM, revision " revision,                                                        \
        .structure = "a panel: 32 coefficient loads, workers of " #next                            \
                     " + 4 r bundles (new group " #new " + 4 r), loop of 6 instructions",          \
        .arguments = 4,                                                                            \
        .prologue = prologue_cycles,                                                               \
        CHOSEN,                                                                                    \
        .build = build_gemm,                                                                       \
        .constant = {next, new, prologue_cycles, group_cycles}}
GEMM(gemm_a, "A", 16, 16, 66, 14);
GEMM(gemm_b, "B", 18, 18, 126, 14);
GEMM(gemm_c, "C", 15, 16, 132, 14);

static const char gemm_list[] = "the supervisor's instructions between panels and groups are not "
                                "public; the list taken here is "
                                "one of many that keep the published structure";
static const char one_branch[] =
    "the rows of 25 and of 729 keys differ in full panels only, 1 and 45: both end in nine keys "
    "and "
    "two panels of zeros, and the longest worker has two of the eight rows. With one prologue the "
    "published times demand 2 x 44 u = (25,350 - 2,634) / 6 = 3,786 bundles, u = 43.02, so no "
    "whole number of bundles a panel meets both; 43 is published, and leaves 12 cycles that do "
    "not grow with the panels. They stand in a path that 729 keys take and 25 do not: 12 cycles of "
    "the supervisor, two bundles a worker or one a row, which no published time tells apart. The "
    "only published test between the two sizes is that for the split form, from 128 keys on. "
    "Neither another division of the nine keys, of the zeros or of the rows, nor an end of the "
    "launch in another slot, separates them, since both have the same";

const Measurement measurements[] = {
    {&gelu_93, "2,208", {2208}, 13134, NULL},
    {&gelu_61, "2,208", {2208}, 8718, NULL},
    {&gelu_85, "16", {16}, 840, NULL},
    {&gelu_85, "96", {96}, 840, NULL},
    {&gelu_85, "1,408", {1408}, 7980, NULL},
    {&gelu_85, "2,208", {2208}, 12060, NULL},
    {&gelu_77, "16", {16}, 792, NULL},
    {&gelu_77, "96", {96}, 792, NULL},
    {&gelu_77, "1,408", {1408}, 7260, NULL},
    {&gelu_77, "2,208", {2208}, 10956, NULL},
    {&gelu_tail, "2", {2}, 462, NULL},
    {&gelu_tail, "6", {6}, 702, NULL},
    {&gelu_tail, "14", {14}, 1182, NULL},
    {&gelu_tail, "18", {18}, 810, NULL},
    {&gelu_tail, "30", {30}, 1182, NULL},
    {&gelu_tail, "94", {94}, 1182, NULL},
    {&gelu_tail, "98", {98}, 942, NULL},
    {&gelu_bias, "1 x 16", {1, 16}, 540, NULL},
    {&gelu_bias, "1 x 1,408", {1, 1408}, 5760, NULL},
    {&gelu_bias, "1 x 2,152", {1, 2152}, 8550, NULL},
    {&gelu_bias, "1 x 2,208", {1, 2208}, 8730, NULL},
    {&gelu_bias, "3 x 2,152", {3, 2152}, 25206, NULL},
    {&gelu_f8, "1 x 1,152", {1152}, 6498, NULL},
    {&gelu_f8, "1 x 2,152", {2152}, 12510, NULL},

    {&reduce_new, "8, 2 parts", {8, 2}, 360, NULL},
    {&reduce_new, "56, 2 parts", {56, 2}, 438, NULL},
    {&reduce_new, "1,472, 2 parts", {1472, 2}, 2700, NULL},
    {&reduce_new, "2,208, 4 parts", {2208, 4}, 4974, NULL},
    {&reduce_new, "1,472, 4 parts", {1472, 4}, 3444, NULL},
    {&reduce_new, "576, 15 parts", {576, 15}, 3090, NULL},
    {&reduce_new, "2,208, 28 parts", {2208, 28}, 18222, NULL},
    {&reduce_in_model, "82 x 32, 6 parts", {82 * 32, 6}, 7218, NULL},
    {&reduce_in_model, "80 x 32, 6 parts", {80 * 32, 6}, 7092, NULL},
    {&reduce_in_model, "79 of 80 x 32, 6 parts", {80 * 32, 6}, 7092, NULL},
    {&reduce_in_model, "82 x 16, 6 parts", {82 * 16, 6}, 3816, NULL},
    {&reduce_in_model, "80 x 16, 6 parts", {80 * 16, 6}, 3690, NULL},
    {&reduce_in_model, "79 of 80 x 16, 6 parts", {80 * 16, 6}, 3690, NULL},
    {&reduce_old, "2,208, 4 parts", {2208, 4}, 7734, NULL},
    {&reduce_old, "576, 15 parts", {576, 15}, 6978, NULL},

    {&add_4, "576", {1, 576}, 1068, NULL},
    {&add_4, "1,152", {1, 1152}, 1644, NULL},
    {&add_4, "1,728", {1, 1728}, 2220, NULL},
    {&add_4, "2,152", {1, 2152}, 2652, NULL},
    {&add_4, "3,456 over 1,152", {3, 1152}, 4416, NULL},
    {&add_3, "1,152", {1, 1152}, 1368, NULL},
    {&add_3, "2,152", {1, 2152}, 2124, NULL},

    {&cast_4, "8,320", {8320}, 4638, NULL},
    {&cast_2, "8,320", {8320}, 2706, NULL},
    {&panels_first, "65 x 128", {65, 128}, 5064, NULL},
    {&panels_first, "32 x 32", {32, 32}, 1260, NULL},
    {&panels_second, "184 x 96", {184, 96}, 9066, NULL},
    {&panels_second, "65 x 128", {65, 128}, 5124, NULL},
    {&panels_fallback, "184 x 96", {184, 96}, 8172, NULL},
    {&panels_fallback, "65 x 128", {65, 128}, 4794, NULL},
    {&panels_pipelined, "184 x 96", {184, 96}, 6762, NULL},

    {&pack_left, "8 x 72 to 80", {8, 72}, 2364, NULL},
    {&pack_blocks, "128 x 16", {128}, 4260, NULL},
    {&copy_paced, "8 KiB", {1024}, 1308, NULL},

    {&softmax_whole_47, "8 x 64", {8, 64, 64}, 2928, NULL},
    {&softmax_whole_47, "8 x 25 of 64", {8, 25, 64}, 2682, NULL},
    {&softmax_split_47, "8 x 729 of 768", {8, 768}, 21780, NULL},
    {&softmax_split_47, "7 x 729 of 768", {7, 768}, 21762, NULL},
    {&softmax_whole_43, "8 x 64", {8, 64, 64}, 2736, NULL},
    {&softmax_whole_43, "8 x 25 of 64", {8, 25, 64}, 2634, NULL},
    {&softmax_whole_43, "8 x 729 of 768", {8, 729, 768}, 25350, one_branch},
    {&softmax_split_43, "8 x 729 of 768", {8, 768}, 20244, NULL},
    {&softmax_split_43, "7 x 729 of 768", {7, 768}, 20226, NULL},
    {&softmax_whole_41, "1 x 768", {1, 768, 768}, 12258, NULL},
    {&softmax_split_41, "1 x 729 of 768", {1, 768}, 5232, NULL},
    {&merge, "8 x 72, initial", {8, 72, 0, 0}, 2430, NULL},
    {&merge, "8 x 72, update", {8, 72, 1, 0}, 3378, NULL},
    {&merge, "8 x 72, final update", {8, 72, 1, 1}, 3438, NULL},

    {&norm_1, "1 x 144", {1, 144}, 2448, NULL},
    {&norm_1, "1 x 576", {1, 576}, 5418, NULL},
    {&norm_1, "1 x 1,152", {1, 1152}, 9378, NULL},
    {&norm_1, "3 x 1,152", {3, 1152}, 27876, NULL},
    {&norm_2, "1 x 144", {1, 144}, 2226, NULL},
    {&norm_2, "1 x 576", {1, 576}, 4332, NULL},
    {&norm_2, "1 x 1,152", {1, 1152}, 7140, NULL},
    {&norm_2, "3 x 1,152", {3, 1152}, 21162, NULL},
    {&norm_3, "1 x 1,152", {1, 1152}, 6732, NULL},
    {&add_norm_1, "1 x 144", {1, 144}, 2778, NULL},
    {&add_norm_1, "1 x 576", {1, 576}, 6558, NULL},
    {&add_norm_1, "1 x 1,152", {1, 1152}, 11598, NULL},
    {&add_norm_1, "3 x 1,152", {3, 1152}, 34530, NULL},
    {&add_norm_2, "1 x 144", {1, 144}, 2484, NULL},
    {&add_norm_2, "1 x 576", {1, 576}, 5184, NULL},
    {&add_norm_2, "1 x 1,152", {1, 1152}, 8784, NULL},
    {&add_norm_2, "3 x 1,152", {3, 1152}, 26088, NULL},
    {&add_norm_3, "1 x 1,152", {1, 1152}, 8376, NULL},
    {&moments_1, "1 x 144", {1, 144}, 1476, NULL},
    {&moments_1, "1 x 576", {1, 576}, 2286, NULL},
    {&moments_1, "1 x 1,152", {1, 1152}, 3366, NULL},
    {&moments_1, "3 x 1,152", {3, 1152}, 9846, NULL},
    {&moments_3, "1 x 1,152", {1, 1152}, 2976, NULL},
    {&add_moments, "1 x 1,152", {1, 1152}, 4050, NULL},
    {&norm_apply, "1 x 144, 1 statistic", {1, 144, 1}, 1662, NULL},
    {&norm_apply, "1 x 576, 1 statistic", {1, 576, 1}, 2958, NULL},
    {&norm_apply, "1 x 1,152, 1 statistic", {1, 1152, 1}, 4686, NULL},
    {&norm_apply, "3 x 1,152, 1 statistic", {3, 1152, 1}, 12510, NULL},

    {&gemm_a, "F16 184/288/48", {184, 288, 48, 16}, 48654, gemm_list},
    {&gemm_a, "F16 182/288/48", {182, 288, 48, 16}, 48180, gemm_list},
    {&gemm_a, "F16 184/288/32", {184, 288, 32, 16}, 32538, gemm_list},
    {&gemm_a, "F16 146/576/32", {146, 576, 32, 16}, 53718, gemm_list},
    {&gemm_a, "F16 120/80/272", {120, 80, 272, 16}, 55344, gemm_list},
    {&gemm_a, "F16 QK 92/80/80", {92, 80, 80, 16}, 13572, gemm_list},
    {&gemm_a, "F16 PV 92/96/80", {92, 96, 80, 16}, 16194, gemm_list},
    {&gemm_b, "F16 PV 49/128/80", {49, 128, 80, 16}, 15228, gemm_list},
    {&gemm_b, "F16 PV 57/112/80", {57, 112, 80, 16}, 14364, gemm_list},
    {&gemm_b, "FP8 QKV 244/128/64", {244, 128, 64, 32}, 18822, gemm_list},
    {&gemm_b, "FP8 up 82/192/160", {82, 192, 160, 32}, 30510, gemm_list},
    {&gemm_b, "FP8 down 122/160/128", {122, 160, 128, 32}, 26886, gemm_list},
    {&gemm_b, "FP8 out 146/96/48", {146, 96, 48, 32}, 7248, gemm_list},
    {&gemm_b, "F16 QK 81/80/80", {81, 80, 80, 16}, 12804, gemm_list},
    {&gemm_b, "FP8 PV 57/128/80", {57, 128, 80, 32}, 8436, gemm_list},
    {&gemm_c, "FP8 QKV 244/128/64", {244, 128, 64, 32}, 18576, gemm_list},
    {&gemm_c, "FP8 up 82/192/160", {82, 192, 160, 32}, 29508, gemm_list},
    {&gemm_c, "FP8 down 122/160/128", {122, 160, 128, 32}, 26232, gemm_list},
    {&gemm_c, "FP8 out 146/96/48", {146, 96, 48, 32}, 7122, gemm_list},
    {&gemm_c, "F16 QK 81/80/80", {81, 80, 80, 16}, 12402, gemm_list},
    {&gemm_c, "FP8 PV 57/128/80", {57, 128, 80, 32}, 8124, gemm_list},
};
const size_t measurement_count = COUNT_OF(measurements);
