#include "compile/attempt.h"

#include "chip/chip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Fewest tiles first; among equals the order of the search, by position. */
static int compare_tiles(const void *first, const void *second) {
    const PlanCandidate *a = *(const PlanCandidate *const *)first,
                        *b = *(const PlanCandidate *const *)second;
    if (candidate_tiles(a) != candidate_tiles(b))
        return candidate_tiles(a) < candidate_tiles(b) ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The candidate with the fewest tiles that can be placed, NULL if none can. */
static Status find_smallest(const PlanSearch *search, Pool *pool, const PlanCandidate **smallest,
                            Diag *diag) {
    *smallest = NULL;
    const PlanCandidate **order = mem_alloc(search->count + 1, sizeof *order);
    if (!order)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "looking for a plan that fits");
    for (size_t i = 0; i < search->count; i++)
        order[i] = &search->candidates[i];
    qsort(order, search->count, sizeof *order, compare_tiles);
    Status status = STATUS_OK;
    for (size_t i = 0; i < search->count && !status && !*smallest; i++) {
        bool fits;
        status = candidate_fits(search, order[i], pool, &fits, diag);
        if (!status && fits)
            *smallest = order[i];
    }
    mem_free(order);
    return status;
}

/* The same graph on so many tiles, with no grid forced. */
static Status search_on(const PlanSearch *search, uint32_t tiles, PlanSearch *all, Diag *diag) {
    PlanOptions options = search->options;
    options.tiles = tiles;
    options.force_count = 0;
    options.complete = true;
    return plan_search(search->graph, &options, all, diag);
}

/* A plan that fits, and its search. */
typedef struct Advice {
    PlanSearch search;
    const PlanCandidate *smallest; /* NULL: none fits */
    uint32_t tiles;
} Advice;

/* Of all plans on at most so many tiles the one that needs fewest. Where inputs lie depends on the
 * number that is given, so that it is given once more. */
static Status advise_on(const PlanSearch *search, uint32_t tiles, Pool *pool, Advice *advice,
                        Diag *diag) {
    Status status = search_on(search, tiles, &advice->search, diag);
    if (!status)
        status = find_smallest(&advice->search, pool, &advice->smallest, diag);
    if (status || !advice->smallest)
        return status;
    advice->tiles = candidate_tiles(advice->smallest);
    if (!search->options.device_input || advice->tiles == tiles)
        return STATUS_OK;
    Advice again = {0};
    status = advise_on(search, advice->tiles, pool, &again, diag);
    if (!status && again.smallest) {
        plan_search_free(&advice->search);
        *advice = again;
    } else {
        plan_search_free(&again.search);
        advice->tiles = tiles;
    }
    return status;
}

/* Twice as many tiles each time, which finds small numbers soon. */
static Status advise(const PlanSearch *search, Pool *pool, Advice *advice, Diag *diag) {
    Status status = STATUS_OK;
    for (uint32_t tiles = search->options.tiles; !status && !advice->smallest; tiles *= 2) {
        plan_search_free(&advice->search);
        status = advise_on(search, MIN_OF(tiles, (uint32_t)CHIP_TILES), pool, advice, diag);
        if (tiles >= CHIP_TILES)
            break;
    }
    return status;
}

/* Saturates. */
static uint64_t value_bytes(const GraphValue *value) {
    uint64_t bytes;
    bool fits = shape_count(&value->shape, &bytes) &&
                checked_mul(bytes, precision_bytes(value->precision), &bytes);
    return fits ? MIN_OF(bytes, (uint64_t)INT64_MAX) : INT64_MAX;
}

static void advise_smaller(const Graph *graph, Diag *diag) {
    diag_fix(diag, "no number of tiles up to %d is enough: make the matrices smaller%s", CHIP_TILES,
             graph->values.items[0].precision.kind == PRECISION_F16 ? ", or use FP8 operands" : "");
}

Status refuse_giant(const Graph *graph, uint32_t tiles, CompileRefusal *refusal, Diag *diag) {
    const uint64_t most = (uint64_t)CHIP_TILES * CHIP_TILE_MEM_SIZE;
    for (size_t i = 0; i < graph->values.count; i++) {
        const GraphValue *value = &graph->values.items[i];
        uint64_t bytes = value_bytes(value);
        if (bytes <= most)
            continue;
        *refusal =
            (CompileRefusal){.proved = true,
                             .memory = "total",
                             .bytes_over = div_up(bytes, MAX_OF(tiles, 1u)) - CHIP_TILE_MEM_SIZE};
        diag_error(diag, ERR_COMPILE_PROVED, (DiagPlace){.tile = 0},
                   "the graph does not fit on %u tiles: the tile lacks %" PRIu64
                   " bytes of memory of both classes together, proved",
                   tiles, refusal->bytes_over);
        diag_note(diag, "%s alone takes %" PRIu64 " bytes; %d tiles have %" PRIu64, value->name,
                  bytes, CHIP_TILES, most);
        advise_smaller(graph, diag);
        return ERR_COMPILE_PROVED;
    }
    return STATUS_OK;
}

/* ---- graphs of several products */

static const char *memory_text(const char *memory) {
    if (strcmp(memory, "interleaved") == 0)
        return "interleaved memory";
    if (strcmp(memory, "rows") == 0)
        return "memory for exchange rows";
    return strcmp(memory, "total") == 0 ? "memory of both classes together" : "memory in one piece";
}

enum { SPARE_FACTOR = 4 }; /* tiles that parameters alone would fill, and what else there is */

/* Does something fit on so many tiles? */
static Status fits_on(const Graph *graph, const PlanOptions *given, uint32_t tiles, Pool *pool,
                      bool *fits, Diag *diag) {
    PlanSearch search = {0};
    Status status = STATUS_OK;
    *fits = false;
    for (int again = 0; again < 2 && !status && !*fits; again++) {
        PlanOptions options = *given;
        options.tiles = tiles;
        options.force_count = 0;
        options.fewer_copies = again;
        plan_search_free(&search);
        status = plan_search(graph, &options, &search, diag);
        for (size_t i = 0; i < MIN_OF(search.count, (size_t)SPARE_FACTOR) && !status && !*fits; i++)
            status = candidate_fits(&search, &search.candidates[i], pool, fits, diag);
    }
    plan_search_free(&search);
    return status;
}

/* Twice as many tiles each time. */
static Status advise_graph(const Graph *graph, const PlanOptions *options, uint64_t least,
                           Pool *pool, uint32_t *tiles, Diag *diag) {
    bool fits = false;
    Status status = STATUS_OK;
    uint64_t next = MAX_OF(least * SPARE_FACTOR, (uint64_t)options->tiles + 1);
    for (*tiles = 0; next / 2 < CHIP_TILES && !fits && !status; next *= 2) {
        *tiles = (uint32_t)MIN_OF(next, (uint64_t)CHIP_TILES);
        status = fits_on(graph, options, *tiles, pool, &fits, diag);
    }
    if (!fits)
        *tiles = 0;
    if (status)
        return status;
    if (fits)
        diag_fix(diag, "use --tiles %u (tried)", *tiles);
    else
        advise_smaller(graph, diag);
    return STATUS_OK;
}

static uint64_t parameter_bytes(const Graph *graph) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_PARAMETER)
            bytes += value_bytes(&graph->values.items[graph->ops.items[i].result]);
    return bytes;
}

Status refuse_parameters(const Graph *graph, const PlanOptions *options, Pool *pool,
                         CompileRefusal *refusal, Diag *diag) {
    uint64_t bytes = parameter_bytes(graph), space = most_bytes(0);
    uint32_t products = 0;
    for (size_t i = 0; i < graph->ops.count; i++)
        products += graph->ops.items[i].kind == GRAPH_GEMM;
    if (products < 2 || options->tiles == 0 || bytes <= space * options->tiles)
        return STATUS_OK;
    uint64_t over = div_up(bytes, options->tiles) - space;
    *refusal = (CompileRefusal){.proved = true, .memory = "total", .bytes_over = over};
    diag_error(diag, ERR_COMPILE_PROVED, (DiagPlace){.tile = 0},
               "the graph does not fit on %u tiles: the tile lacks %" PRIu64
               " bytes of memory of both classes together, proved",
               options->tiles, over);
    diag_note(diag, "one copy of all parameters takes %" PRIu64 " bytes; %u tiles have %" PRIu64,
              bytes, options->tiles, space * options->tiles);
    Status status =
        advise_graph(graph, options, div_up(bytes, space), pool, &refusal->tiles_that_fit, diag);
    return status ? status : ERR_COMPILE_PROVED;
}

static bool is_alive(const LowerBuffer *buffer, uint32_t event) {
    return buffer->first_event <= event && event <= buffer->last_event && !buffer->is_piece &&
           buffer->role != BUFFER_ROWS;
}

static uint64_t buffer_bytes(const LowerBuffer *buffer) {
    return (uint64_t)buffer->bytes * MAX_OF(buffer->members, 1u);
}

static uint32_t worst_event(const TileGraph *tile) {
    uint32_t worst = 0;
    uint64_t most = 0;
    for (uint32_t event = 0; event <= tile->end_event; event++) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < tile->buffers.count; i++)
            if (is_alive(&tile->buffers.items[i], event))
                bytes += buffer_bytes(&tile->buffers.items[i]);
        if (bytes > most) {
            most = bytes;
            worst = event;
        }
    }
    return worst;
}

/* The largest buffer that is alive and smaller than `below`, or comes behind that one. */
static const LowerBuffer *next_largest(const TileGraph *tile, uint32_t event,
                                       const LowerBuffer *below) {
    const LowerBuffer *found = NULL;
    for (size_t i = 0; i < tile->buffers.count; i++) {
        const LowerBuffer *buffer = &tile->buffers.items[i];
        uint64_t bytes = buffer_bytes(buffer);
        bool left = !below || bytes < buffer_bytes(below) ||
                    (bytes == buffer_bytes(below) && buffer > below);
        if (is_alive(buffer, event) && left && (!found || bytes > buffer_bytes(found)))
            found = buffer;
    }
    return found;
}

/* Says in which step of a plan memory is fullest, and with what. */
static Status note_worst_step(const PlanSearch *search, const PlanCandidate *candidate,
                              Diag *diag) {
    enum { NAMED = 3 };
    Plan plan;
    TileGraph tile = {0};
    Status status = plan_build(search, candidate, &plan, diag);
    if (!status)
        status = lower_first_tile(search->graph, &plan, &tile, diag);
    if (!status) {
        uint32_t event = worst_event(&tile);
        const Graph *graph = search->graph;
        const char *step = event == 0 ? "the inputs" : "the outputs";
        if (event > 0 && event <= tile.steps.count) {
            const LowerStep *worst = &tile.steps.items[event - 1];
            step = graph->values.items[graph->ops.items[worst->operation].result].name;
        }
        const LowerBuffer *buffer = NULL;
        for (int i = 0; i < NAMED && (buffer = next_largest(&tile, event, buffer)); i++)
            diag_note(diag, "at the worst step, for %s, %s takes %" PRIu64 " bytes of it", step,
                      tile.values.items[buffer->value].name, buffer_bytes(buffer));
    }
    tile_graph_free(&tile);
    plan_free(&plan);
    return status;
}

/* Nothing was found; not every plan was looked at. */
static Status refuse_graph(const PlanSearch *search, const Selection *selection, Pool *pool,
                           CompileRefusal *refusal, Diag *diag) {
    const PlanOptions *options = &search->options;
    const char *memory = refusal->memory ? refusal->memory : "total";
    refusal->proved = false;
    refusal->memory = memory;
    Status status = STATUS_OK;
    bool is_sum = false;
    if (search->count == 0) {
        const GraphOp *op = &search->graph->ops.items[search->why_op];
        diag_error(diag, ERR_COMPILE_NOT_FOUND, (DiagPlace){.tile = 0},
                   "no plan was found for the graph on %u tiles: %%%s (%s): %s, not proved",
                   options->tiles, search->graph->values.items[op->result].name,
                   graph_op_name(op->kind), search->why);
        is_sum = op->kind == GRAPH_ADD;
    } else {
        diag_error(diag, ERR_COMPILE_NOT_FOUND, (DiagPlace){.tile = 0},
                   "no plan was found for the graph on %u tiles: the tile lacks %" PRIu64
                   " bytes of %s, not proved",
                   options->tiles, refusal->bytes_over, memory_text(memory));
        diag_note(diag,
                  "nearest: %" PRIu64 " bytes of values on the fullest tile, %" PRIu64
                  " of them in interleaved memory",
                  selection->nearest.tile_bytes, selection->nearest.interleaved);
        status = note_worst_step(search, &selection->nearest, diag);
    }
    diag_note(diag,
              "%" PRIu64 " choices for single products were priced, the best of them together",
              search->grids);
    uint64_t least = div_up(parameter_bytes(search->graph), most_bytes(0));
    if (is_sum) /* on any number of tiles */
        diag_fix(diag, "give the sum one operand of its whole shape, and another one of that, of "
                       "one row or of one column");
    else if (!status)
        status = advise_graph(search->graph, options, least, pool, &refusal->tiles_that_fit, diag);
    return status ? status : ERR_COMPILE_NOT_FOUND;
}

static const char *orientation(const PlanCandidate *candidate) {
    return candidate->gemm.swapped ? "swapped" : "normal";
}

static Status report(const PlanSearch *search, const CompileRefusal *refusal,
                     const Selection *selection, Diag *diag) {
    const PlanCandidate *nearest = &selection->nearest;
    const GemmChoice *grid = &nearest->gemm;
    DiagPlace place = {.tile = (int32_t)refusal->tile};
    Status code = refusal->proved ? ERR_COMPILE_PROVED : ERR_COMPILE_NOT_FOUND;
    diag_error(diag, code, place,
               "the graph does not fit on %u tiles: the tile lacks %" PRIu64 " bytes of %s, %s",
               search->options.tiles, refusal->bytes_over, memory_text(refusal->memory),
               refusal->proved ? "proved" : "not proved: a placement gave up");
    diag_note(diag, "%" PRIu64 " choices were tried, %s", search->grids,
              search->options.force_count ? "all for the grid that was forced"
                                          : "all that there are");
    diag_note(diag,
              "nearest: grid %u x %u x %u, %s, with %" PRIu64
              " bytes of values on its fullest tile, %" PRIu64 " of them in interleaved memory",
              grid->rows, grid->columns, grid->inner, orientation(nearest), nearest->tile_bytes,
              nearest->interleaved);
    return code;
}

static void report_advice(const PlanSearch *search, const Advice *advice, Diag *diag) {
    if (!advice->smallest) {
        advise_smaller(search->graph, diag);
        return;
    }
    const GemmChoice *grid = &advice->smallest->gemm;
    const char *what =
        advice->tiles <= search->options.tiles ? "leave out --grid; it fits from" : "use";
    diag_fix(diag, "%s --tiles %u (tried: grid %u x %u x %u, %s)", what, advice->tiles, grid->rows,
             grid->columns, grid->inner, orientation(advice->smallest));
}

Status refuse(const PlanSearch *search, const Selection *selection, Pool *pool,
              CompileRefusal *refusal, Diag *diag) {
    *refusal = (CompileRefusal){.proved = !selection->undecided,
                                .tile = 0,
                                .memory = selection->probe.memory,
                                .bytes_over = selection->probe.bytes_over};
    if (search->is_graph)
        return refuse_graph(search, selection, pool, refusal, diag);
    Advice advice = {0};
    Status status = advise(search, pool, &advice, diag);
    if (!status) {
        status = report(search, refusal, selection, diag);
        refusal->tiles_that_fit = advice.smallest ? advice.tiles : 0;
        report_advice(search, &advice, diag);
    }
    plan_search_free(&advice.search);
    return status;
}
