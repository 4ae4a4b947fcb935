/* Internal: one GEMM of a graph, and the closed forms of a choice for it. */
#pragma once

#include "plan/plan.h"
#include "plan/point.h"

/* Physical roles of the operands. */
enum { ROLE_LEFT = 0, ROLE_RIGHT = 1 };

typedef struct GemmOperand {
    uint32_t value;  /* what the GEMM takes */
    uint32_t source; /* input or parameter: that value, or what it is cast from */
    uint32_t cast;   /* operation, or GRAPH_NONE */
    bool parameter;
    uint32_t inner_axis; /* of the value's shape */
    /* The source lies on the chip, in `home`: as a device input, whose memory class is free, or
     * fixed by an earlier operation. */
    bool device, fixed;
    Format home;
    uint32_t at; /* fixed: the stored value that lies there */
} GemmOperand;

typedef struct PlanGemm {
    uint32_t op, result; /* of the graph */
    GemmOperand operands[2];
    uint32_t rows, inner, columns; /* logical M, K, N */
    PrecisionKind precision;       /* of the operands */
    int32_t scale;                 /* sum of the operands' scale exponents */
    /* Rows of a normal product are padded to so many, so that they can become columns of the next
     * one without further padding: 1 or COEFFICIENT_COLUMNS. */
    uint32_t row_padding;
    /* Parts of the rows end at multiples of so many, so that the result can be transposed in
     * blocks: 1 or COEFFICIENT_COLUMNS. */
    uint32_t row_grain;
} PlanGemm;

/* A GEMM of two matrices; its operands as the graph has them. */
PlanGemm gemm_describe(const Graph *graph, uint32_t op);

/* Which logical operand plays a role. */
static inline int gemm_operand(const GemmChoice *choice, int role) {
    return choice->swapped ? 1 - role : role;
}

/* Extents of the product as it is computed: rows, 16-column groups, panels along the inner axis. */
typedef struct GemmExtents {
    uint32_t rows, groups, panels;
} GemmExtents;

GemmExtents gemm_extents(const PlanGemm *gemm, bool swapped);
/* Of the largest part. */
GemmExtents gemm_part(const PlanGemm *gemm, const GemmChoice *choice);

/* Tiles that use an operand's shard: as many copies has its format of use. */
uint32_t gemm_users(const GemmChoice *choice, int role);
/* Does logical operand i move between home and use? */
bool gemm_moves(const PlanGemm *gemm, const GemmChoice *choice, int i);

/* Owners add up a piece of their partials that is contiguous: one call does all panels. */
bool gemm_contiguous_owners(const PlanGemm *gemm, const GemmChoice *choice);
/* Rows and groups of the largest owner's block. */
GemmExtents gemm_owner_block(const PlanGemm *gemm, const GemmChoice *choice);

/* Rows that one kernel call takes of parts of so many: all of them, or where the left operand lies
 * in half panels shares of at most KERNEL_HALF_LEFT_ROWS. The operand then lies in blocks of these
 * rows, and each block has calls of its own, one for each group of columns. */
uint32_t gemm_block_rows(const GemmChoice *choice, uint32_t rows);

/* odd: the inner part is an odd number of half panels. */
KernelSpec gemm_spec(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part, bool odd);

/* Formats of logical operand i: where it is used; where it is staged, F16 in the order of its use,
 * before a cast there; its home, and that after an early cast. */
Format gemm_use_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice, int i);
Format gemm_staged_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice,
                          int i);
Format gemm_home_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice, int i);
Format gemm_cast_home_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice,
                             int i);
/* Of the result, and of the partials, whose shape is [inner parts, M, N]. */
Format gemm_result_format(const PlanGemm *gemm, const GemmChoice *choice);
Format gemm_partials_format(const PlanGemm *gemm, const GemmChoice *choice);

/* ---- prices (price.c), kept in a table, since many choices share their parts; table may be NULL
 */
typedef struct PriceTable PriceTable;
PriceTable *price_table_create(void); /* NULL without memory */
void price_table_free(PriceTable *table);

/* Cycles of a step on its slowest tile, or 0 if some part is taken by no kernel. */
uint64_t price_gemm(const PlanGemm *gemm, const GemmChoice *choice, PriceTable *table);
uint64_t price_sum(const PlanGemm *gemm, const GemmChoice *choice, PriceTable *table);
uint64_t price_cast(const Shape *shape, const Format *from, const Format *to, PriceTable *table);
uint64_t price_pack(const Shape *shape, const Format *from, const Format *to);
/* GELU, of a sum or not, or a sum; shards of both formats have the same owners. */
typedef struct PlanPoint {
    const Shape *shape;
    const Format *from, *to;
    bool gelu;
    PointRight right;
} PlanPoint;

uint64_t price_point(const PlanPoint *point);
/* Transposing blocks of 16 x 16 F16 values, `bytes` in all. */
uint64_t price_turn(uint64_t bytes);
/* Copying `bytes` in one run, and zeroing them. */
uint64_t price_copy(uint64_t bytes);
uint64_t price_fill(uint64_t bytes);

/* An exchange phase: words that its busiest tile receives, in the moves that pairs of tiles take
 * together and in the others, and controls that it executes for them. */
typedef struct ExchangeLoad {
    uint64_t words, paired_words, controls;
} ExchangeLoad;

void load_add_move(ExchangeLoad *load, const Format *from, const Format *to, const Shape *shape,
                   bool paired);
void load_add_sum(ExchangeLoad *load, const PlanGemm *gemm, const GemmChoice *choice);
uint64_t price_exchange(const ExchangeLoad *load);

/* Is there such a grid on so many tiles? ERR_PLAN_TILES, ERR_PLAN_GRID. */
Status gemm_check_choice(const PlanGemm *gemm, const GemmChoice *choice, uint32_t tiles,
                         Diag *diag);
