#include "plan/search.h"

#include "chip/chip.h"
#include "plan/joint.h"

#include <stdlib.h>
#include <string.h>

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_operands(const OperandChoice *a, const OperandChoice *b) {
    int order = compare(b->copies, a->copies);
    if (order == 0)
        order = compare(a->early, b->early);
    if (order == 0)
        order = compare(b->fast, a->fast);
    return order ? order : compare(a->half, b->half);
}

static int compare_choices(const GemmChoice *a, const GemmChoice *b) {
    int order = compare(a->swapped, b->swapped);
    if (order == 0)
        order = compare(a->rows, b->rows);
    if (order == 0)
        order = compare(b->weights, a->weights);
    if (order == 0)
        order = compare(a->inner, b->inner);
    if (order == 0)
        order = compare(a->owner_rows, b->owner_rows);
    if (order == 0)
        order = compare(b->wide_sum, a->wide_sum);
    if (order == 0)
        order = compare(a->rows_fast, b->rows_fast);
    for (int i = 0; i < 2 && order == 0; i++)
        order = compare_operands(&a->operands[i], &b->operands[i]);
    return order;
}

bool plan_choice_equal(const GemmChoice *a, const GemmChoice *b) {
    return a->columns == b->columns && a->owner_columns == b->owner_columns &&
           compare_choices(a, b) == 0;
}

static int compare_candidates(const void *first, const void *second) {
    const PlanCandidate *a = first, *b = second;
    int order = compare(a->cycles, b->cycles);
    if (order == 0)
        order = compare(a->total_bytes, b->total_bytes);
    if (order == 0)
        order = compare(candidate_tiles(a), candidate_tiles(b));
    return order ? order : compare_choices(&a->gemm, &b->gemm);
}

typedef VEC(PlanCandidate) Candidates;

/* A grid to be expanded, and what its product costs. */
typedef struct Grid {
    GemmChoice choice;
    uint64_t cycles;
} Grid;

typedef struct Enumeration {
    const Graph *graph;
    const PlanOptions *options;
    PlanTask task;
    PriceTable *table;
    Sketch sketch;
    Candidates found;
    VEC(Grid) grids;
    PlanSearch *search;
} Enumeration;

static bool add_candidate(Enumeration *all, const PlanCandidate *candidate) {
    PlanCandidate *least = &all->search->least;
    if (all->search->grids++ == 0 || candidate->tile_bytes < least->tile_bytes ||
        (candidate->tile_bytes == least->tile_bytes && candidate->interleaved < least->interleaved))
        *least = *candidate;
    return !all->sketch.no_memory && (candidate->cycles == 0 || vec_push(&all->found, *candidate));
}

static PlanCandidate price_choice(Enumeration *all, const GemmChoice *choice) {
    bool possible =
        task_sketch(all->graph, &all->task, choice, all->options, all->table, &all->sketch);
    SketchBytes bytes = sketch_bytes(&all->sketch);
    return (PlanCandidate){.gemm = *choice,
                           .cycles = possible ? all->sketch.cycles : 0,
                           .total_bytes = bytes.total,
                           .tile_bytes = bytes.tile,
                           .interleaved = bytes.interleaved};
}

/* ---- operands */

enum { OPERAND_OPTIONS = 160 };

typedef struct OperandOptions {
    uint32_t count;
    OperandChoice items[OPERAND_OPTIONS];
} OperandOptions;

static void add_option(OperandOptions *options, OperandChoice option) {
    if (options->count < OPERAND_OPTIONS)
        options->items[options->count++] = option;
}

/* With so many copies: no cast, or one early or late, fast or not. */
static void add_copies(const Enumeration *all, int i, uint32_t copies, bool moves,
                       OperandOptions *options) {
    if (all->task.gemm.operands[i].cast == GRAPH_NONE) {
        add_option(options, (OperandChoice){.copies = copies});
        return;
    }
    PlanCastPolicy policy = all->options->cast;
    for (int early = 0; early <= moves; early++) {
        if (moves && policy == (early ? PLAN_CAST_LATE : PLAN_CAST_EARLY))
            continue;
        for (int way = 0; way < 4; way++) {
            OperandChoice option = {
                .copies = copies, .early = early, .fast = way < 2, .half = way % 2 != 0};
            add_option(options, option);
        }
    }
}

/* With fewer copies than users: about the square root of them, and one. */
static void add_fewer_copies(const Enumeration *all, int i, uint32_t users,
                             OperandOptions *options) {
    uint32_t copies = users;
    while (copies > 1 && (copies * copies > users || users % copies != 0))
        copies--;
    if (copies > 1)
        add_copies(all, i, copies, true, options);
    if (users > 1)
        add_copies(all, i, 1, true, options);
}

/* As many copies as users, if allowed; fewer if memory is short, which take more time. */
static OperandOptions operand_options(const Enumeration *all, const GemmChoice *choice, int i) {
    OperandOptions options = {0};
    int role = gemm_operand(choice, ROLE_LEFT) == i ? ROLE_LEFT : ROLE_RIGHT;
    uint32_t users = gemm_users(choice, role), most = all->options->max_copies;
    if (all->task.gemm.operands[i].device) {
        add_copies(all, i, 1, true, &options);
    } else if (!all->task.gemm.operands[i].parameter || most == 0 || users <= most) {
        add_copies(all, i, users, false, &options);
        if (all->options->fewer_copies)
            add_fewer_copies(all, i, users, &options);
    } else if (!all->options->no_exchange) {
        for (uint32_t copies = most; copies > 0; copies--)
            if (users % copies == 0)
                add_copies(all, i, copies, true, &options);
    }
    return options;
}

/* ---- owners of sums */

enum { OWNER_OPTIONS = 24 };

typedef struct OwnerOption {
    uint32_t rows, columns;
    uint64_t cycles, received, result; /* bytes; of the result what does not lie in the partials */
    uint32_t pieces;                   /* sent and received by a tile */
} OwnerOption;

typedef struct OwnerOptions {
    uint32_t count;
    OwnerOption items[OWNER_OPTIONS];
} OwnerOptions;

static bool beats(const OwnerOption *a, const OwnerOption *b) {
    return a->cycles <= b->cycles && a->received <= b->received && a->result <= b->result &&
           a->pieces <= b->pieces;
}

static void add_owners(const Enumeration *all, GemmChoice choice, uint32_t rows, uint32_t columns,
                       OwnerOptions *options) {
    const PlanGemm *gemm = &all->task.gemm;
    GemmExtents part = gemm_part(gemm, &choice);
    if (rows > part.rows || columns > part.groups)
        return;
    choice.owner_rows = rows;
    choice.owner_columns = columns;
    choice.wide_sum = true;
    GemmExtents block = gemm_owner_block(gemm, &choice);
    bool contiguous = gemm_contiguous_owners(gemm, &choice);
    uint64_t bytes = (uint64_t)block.rows * block.groups * COEFFICIENT_COLUMNS * 2;
    ExchangeLoad load = {0};
    load_add_sum(&load, gemm, &choice);
    OwnerOption option = {.rows = rows,
                          .columns = columns,
                          .cycles = price_exchange(&load) + price_sum(gemm, &choice, all->table),
                          .received = (choice.inner - 1) * bytes,
                          .result = contiguous ? 0 : bytes,
                          .pieces = (choice.inner - 1) * (contiguous ? 1 : block.groups) *
                                    (rows * columns > 1 ? 2 : 1)};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < options->count; i++) {
        if (beats(&options->items[i], &option))
            return;
        if (!beats(&option, &options->items[i]))
            options->items[kept++] = options->items[i];
    }
    options->count = kept;
    if (kept < OWNER_OPTIONS)
        options->items[options->count++] = option;
}

/* One owner, or all inner parts in a rectangle of owners. */
static OwnerOptions owner_options(const Enumeration *all, const GemmChoice *choice) {
    OwnerOptions options = {0};
    for (uint32_t rows = 1; rows <= choice->inner; rows++)
        if (choice->inner % rows == 0)
            add_owners(all, *choice, rows, choice->inner / rows, &options);
    add_owners(all, *choice, 1, 1, &options);
    return options;
}

/* ---- grids */

/* The cheaper numbering of tiles: that along which the moved operand is shared. Where none moves,
 * along the columns of the result, so that whoever needs them next finds a row's parts together. */
static bool add_numbering(Enumeration *all, GemmChoice choice) {
    int left = gemm_operand(&choice, ROLE_LEFT);
    bool left_moves = gemm_moves(&all->task.gemm, &choice, left);
    bool right_moves = gemm_moves(&all->task.gemm, &choice, 1 - left);
    choice.rows_fast = left_moves || right_moves ? right_moves && !left_moves : choice.swapped;
    PlanCandidate candidate = price_choice(all, &choice);
    if (left_moves && right_moves) {
        choice.rows_fast = true;
        PlanCandidate other = price_choice(all, &choice);
        if (other.cycles < candidate.cycles)
            candidate = other;
    }
    return add_candidate(all, &candidate);
}

/* Of a grid whose parts no kernel takes one choice tells how far it is from fitting. */
static bool is_hopeless(const Enumeration *all, const GemmChoice *choice) {
    return price_gemm(&all->task.gemm, choice, all->table) == 0;
}

/* All choices for a grid. */
static bool add_grid(Enumeration *all, GemmChoice choice) {
    OwnerOptions owners = {.count = 1, .items = {{.rows = 1, .columns = 1}}};
    if (is_hopeless(all, &choice)) {
        choice.owner_rows = choice.owner_columns = 1;
        choice.operands[0] = operand_options(all, &choice, 0).items[0];
        choice.operands[1] = operand_options(all, &choice, 1).items[0];
        return add_numbering(all, choice);
    }
    if (choice.inner > 1)
        owners = owner_options(all, &choice);
    OperandOptions left = operand_options(all, &choice, 0);
    OperandOptions right = operand_options(all, &choice, 1);
    bool good = true;
    for (uint32_t o = 0; o < owners.count && good; o++) {
        choice.owner_rows = owners.items[o].rows;
        choice.owner_columns = owners.items[o].columns;
        for (int wide = choice.inner > 1; wide >= 0 && good; wide--) {
            choice.wide_sum = wide;
            for (uint32_t l = 0; l < left.count && good; l++)
                for (uint32_t r = 0; r < right.count && good; r++) {
                    choice.operands[0] = left.items[l];
                    choice.operands[1] = right.items[r];
                    good = add_numbering(all, choice);
                }
        }
    }
    return good;
}

/* Grids in which nothing moves: price and bytes depend on the widest part only, and are kept while
 * that stays the same. */
static bool is_plain(const Enumeration *all) {
    const PlanGemm *gemm = &all->task.gemm;
    return !all->options->device_input && all->options->max_copies == 0 &&
           !all->options->fewer_copies && gemm->operands[0].cast == GRAPH_NONE &&
           gemm->operands[1].cast == GRAPH_NONE;
}

enum { ROW_BYTES = 32, PANEL_BYTES = 32 * COEFFICIENT_COLUMNS }; /* in every precision */

static bool add_plain(Enumeration *all, GemmChoice choice, GemmExtents whole, uint64_t cycles) {
    uint64_t panels = whole.panels, rows = div_up(whole.rows, choice.rows),
             groups = div_up(whole.groups, choice.columns);
    uint64_t left = rows * panels * ROW_BYTES, right = groups * panels * PANEL_BYTES,
             output = rows * groups * ROW_BYTES;
    choice.operands[gemm_operand(&choice, ROLE_LEFT)].copies = choice.columns;
    choice.operands[gemm_operand(&choice, ROLE_RIGHT)].copies = choice.rows;
    PlanCandidate candidate = {.gemm = choice,
                               .cycles = cycles,
                               .tile_bytes = left + right + output,
                               .interleaved =
                                   output + (choice.weights == MEMORY_INTERLEAVED ? right : 0),
                               .total_bytes = whole.rows * panels * ROW_BYTES * choice.columns +
                                              whole.groups * panels * PANEL_BYTES * choice.rows +
                                              (uint64_t)whole.rows * whole.groups * ROW_BYTES};
    return add_candidate(all, &candidate);
}

static bool add_plain_row(Enumeration *all, GemmChoice choice, GemmExtents whole) {
    uint32_t most = MIN_OF(whole.groups, all->options->tiles / choice.rows);
    uint64_t widest = 0, cycles = 0;
    for (choice.columns = 1; choice.columns <= most; choice.columns++) {
        if (div_up(whole.groups, choice.columns) != widest) {
            widest = div_up(whole.groups, choice.columns);
            cycles = price_gemm(&all->task.gemm, &choice, all->table);
        }
        if (!add_plain(all, choice, whole, cycles))
            return false;
    }
    return true;
}

/* The fewest parts that make the largest one no larger, or one more if they are odd; any number
 * where the users of a copy hold it between them. */
static bool is_worth_trying(const Enumeration *all, uint32_t extent, uint32_t parts) {
    if (all->options->max_copies > 0)
        return true;
    uint32_t fewest = (uint32_t)div_up(extent, div_up(extent, parts));
    return parts == fewest || (parts == fewest + 1 && parts % 2 == 0);
}

static bool note_columns(Enumeration *all, GemmChoice choice, GemmExtents whole) {
    uint32_t most = MIN_OF(whole.groups, all->options->tiles / (choice.rows * choice.inner));
    for (choice.columns = 1; choice.columns <= most; choice.columns++) {
        if (!is_worth_trying(all, whole.groups, choice.columns))
            continue;
        uint64_t cycles = price_gemm(&all->task.gemm, &choice, all->table);
        if (!vec_push(&all->grids, (Grid){choice, cycles}))
            return false;
    }
    return true;
}

static bool add_rows(Enumeration *all, GemmChoice choice, GemmExtents whole) {
    uint32_t most = MIN_OF(whole.rows, all->options->tiles / choice.inner);
    bool plain = choice.inner == 1 && is_plain(all);
    for (choice.rows = 1; choice.rows <= most; choice.rows++) {
        if (!plain && !is_worth_trying(all, whole.rows, choice.rows))
            continue;
        if (!(plain ? add_plain_row(all, choice, whole) : note_columns(all, choice, whole)))
            return false;
    }
    return true;
}

static int compare_grids(const void *first, const void *second) {
    const Grid *a = first, *b = second;
    int order = compare(a->cycles, b->cycles);
    if (order == 0)
        order = compare(a->choice.columns, b->choice.columns);
    return order ? order : compare_choices(&a->choice, &b->choice);
}

/* Expands the grids, those with the cheapest product first, as long as they may be of use. */
static bool add_grids(Enumeration *all) {
    uint64_t best = UINT64_MAX;
    if (all->grids.count > 1)
        qsort(all->grids.items, all->grids.count, sizeof(Grid), compare_grids);
    for (size_t i = 0; i < all->found.count; i++)
        best = MIN_OF(best, all->found.items[i].cycles);
    for (size_t i = 0; i < all->grids.count; i++) {
        const Grid *grid = &all->grids.items[i];
        bool far = best != UINT64_MAX && grid->cycles > best * PLAN_MARGIN_PERCENT / 100;
        if (!all->options->complete && (far || grid->cycles == 0)) {
            all->search->left_out = true;
            all->search->grids++;
            continue;
        }
        size_t before = all->found.count;
        if (!add_grid(all, grid->choice))
            return false;
        for (size_t k = before; k < all->found.count; k++)
            best = MIN_OF(best, all->found.items[k].cycles);
    }
    return true;
}

enum { MOST_INNER_PARTS = 127 };

static bool enumerate(Enumeration *all) {
    for (int swapped = 0; swapped < 2; swapped++) {
        GemmExtents whole = gemm_extents(&all->task.gemm, swapped);
        uint32_t inner = MIN_OF(MIN_OF(whole.panels, all->options->tiles), MOST_INNER_PARTS);
        for (int weights = 0; weights < 2; weights++) {
            GemmChoice choice = {.inner = 1,
                                 .swapped = swapped,
                                 .weights = (MemoryClass)weights,
                                 .owner_rows = 1,
                                 .owner_columns = 1};
            for (; choice.inner <= inner; choice.inner++) {
                if (choice.inner > 1 && all->options->no_exchange)
                    break;
                if (!add_rows(all, choice, whole))
                    return false;
            }
        }
    }
    return add_grids(all);
}

/* ---- forced grids */

/* The forced grid of the GEMM, NULL if there is none. */
static Status find_force(const Enumeration *all, const PlanForce **force, Diag *diag) {
    const char *name = all->graph->values.items[all->task.gemm.result].name;
    *force = NULL;
    for (size_t i = 0; i < all->options->force_count; i++) {
        const PlanForce *candidate = &all->options->forces[i];
        if (strcmp(candidate->operation, name) != 0 && strcmp(candidate->operation, "gemm") != 0) {
            Status status = diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                                       "a grid for \"%.60s\", which is no operation of the graph",
                                       candidate->operation);
            diag_fix(diag, "name the result of an operation: %s", name);
            return status;
        }
        if (*force)
            return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE, "two grids for \"%s\"", name);
        *force = candidate;
    }
    return STATUS_OK;
}

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "searching for a plan");
}

static Status add_forced(Enumeration *all, const PlanForce *force, Diag *diag) {
    GemmChoice choice = {.rows = force->rows,
                         .columns = force->columns,
                         .inner = force->inner,
                         .swapped = force->swapped};
    Status status = gemm_check_choice(&all->task.gemm, &choice, all->options->tiles, diag);
    if (status)
        diag_note(diag, "in the grid %u,%u,%u%s for \"%s\"", force->rows, force->columns,
                  force->inner, force->swapped ? ",swapped" : "", force->operation);
    for (int weights = 0; weights < 2 && !status; weights++) {
        choice.weights = (MemoryClass)weights;
        if (!add_grid(all, choice))
            status = no_memory(diag);
    }
    return status;
}

static Status enumerate_gemm(Enumeration *all, Diag *diag) {
    const PlanForce *force;
    Status status = find_force(all, &force, diag);
    if (status)
        return status;
    if (force)
        return add_forced(all, force, diag);
    return enumerate(all) ? STATUS_OK : no_memory(diag);
}

static Status enumerate_cast(Enumeration *all, Diag *diag) {
    for (int early = 0; early < 2; early++) {
        if (all->options->cast == (early ? PLAN_CAST_LATE : PLAN_CAST_EARLY))
            continue;
        GemmChoice choice = {.rows = 1, .columns = 1, .inner = 1, .owner_rows = 1};
        choice.operands[0] = (OperandChoice){.copies = 1, .early = early};
        PlanCandidate candidate = price_choice(all, &choice);
        if (!add_candidate(all, &candidate))
            return no_memory(diag);
    }
    if (all->found.count > 0)
        return STATUS_OK;
    return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE, "no kernel casts between these formats");
}

static Status search_one(Enumeration *all, Diag *diag) {
    PlanSearch *search = all->search;
    Status status =
        all->task.kind == TASK_GEMM ? enumerate_gemm(all, diag) : enumerate_cast(all, diag);
    sketch_free(&all->sketch);
    vec_free(&all->grids);
    search->candidates = all->found.items;
    search->count = all->found.count;
    if (search->count > 1)
        qsort(search->candidates, search->count, sizeof(PlanCandidate), compare_candidates);
    return status;
}

Status plan_search(const Graph *graph, const PlanOptions *options, PlanSearch *search, Diag *diag) {
    *search = (PlanSearch){.graph = graph, .options = *options};
    Enumeration all = {.graph = graph, .options = options, .search = search};
    if (options->tiles < 1 || options->tiles > CHIP_TILES)
        return diag_error(diag, ERR_PLAN_TILES, DIAG_NOWHERE, "%u tiles; the chip has 1 to %d",
                          options->tiles, CHIP_TILES);
    Status status = task_find(graph, options, &all.task, diag);
    if (!status) {
        all.table = price_table_create();
        if (!all.table)
            status = no_memory(diag);
        else if (all.task.kind == TASK_GRAPH)
            status = joint_search(search, &all.task, all.table, diag);
        else
            status = search_one(&all, diag);
    }
    price_table_free(all.table);
    task_free(&all.task);
    return status;
}

void plan_search_free(PlanSearch *search) {
    joint_free(search);
    mem_free(search->candidates);
    arena_free(&search->arena);
    *search = (PlanSearch){0};
}

Status plan_build(const PlanSearch *search, const PlanCandidate *candidate, Plan *plan,
                  Diag *diag) {
    PlanTask task;
    *plan = (Plan){0};
    Status status = task_find(search->graph, &search->options, &task, diag);
    if (!status)
        status = task_plan(search->graph, &task,
                           candidate->choices ? candidate->choices : &candidate->gemm,
                           &search->options, plan, diag);
    task_free(&task);
    return status;
}
