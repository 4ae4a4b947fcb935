/* Moves become copies between buffers: one for each piece that is contiguous on both sides, with
 * all tiles that need it as destinations.
 *
 * Copies stand in rounds. In round j every shard that is to be filled takes the j-th of its pieces,
 * counted from a piece of its own, so that receivers of one round want different senders; what the
 * owners of a sum take in round j comes from the part j before their own. */
#include "lower/internal.h"

#include "tensor/span.h"

#include <assert.h>
#include <stdlib.h>

enum { WORD = 4, ROW_BYTES = 32 };
enum { COPY_UNIT = 8 }; /* bytes of a kernel's copy */

/* A rectangle that a shard of the target takes from one of the source, padding included. */
typedef struct Piece {
    uint32_t source_shard;
    Region from, to;
} Piece;

/* A shard to be filled. */
typedef struct Fill {
    const PlanMove *move;
    uint32_t shard;
    uint32_t first_piece, piece_count;
    uint32_t turn; /* piece that it takes first */
} Fill;

typedef struct Exchange {
    Lowering *lowering;
    uint32_t event; /* of the exchange; local calls have the one before */
    bool local;     /* there is a step for local calls */
    VEC(Piece) pieces;
    VEC(Fill) fills;
    VEC(uint32_t) tiles; /* scratch: destinations of a copy */
    uint64_t *sent;      /* [tiles] bytes of pieces that a tile is to give away */
    Status status;       /* of what failed inside callbacks */
    /* The fragments being written: */
    const Shard *target;
    uint32_t source_tile, source_buffer, target_value;
    /* Local fragments that one call may copy. */
    KernelCopy run;
    LowerOperand run_from, run_to;
    uint32_t last_from, last_to;
} Exchange;

static bool fail(Exchange *exchange, Status status) {
    if (exchange->status == STATUS_OK)
        exchange->status = status;
    return false;
}

static bool no_memory(Exchange *exchange) {
    return fail(exchange, lower_no_memory(exchange->lowering));
}

static const PlanValue *value_of(const Exchange *exchange, uint32_t value) {
    return &exchange->lowering->plan->values[value];
}

/* ---- pieces */

/* The value with the padding that both formats have behind it, which moves along. */
static Shape padded_shape(const PlanValue *source, const PlanValue *target) {
    Shape shape = source->shape;
    for (uint32_t axis = 0; axis < shape.rank; axis++) {
        uint32_t extent = shape.dims[axis];
        shape.dims[axis] = MIN_OF(plan_padded_extent(&source->format, axis, extent),
                                  plan_padded_extent(&target->format, axis, extent));
    }
    return shape;
}

static void add_piece(void *context, const Overlap *overlap) {
    Exchange *exchange = context;
    Piece piece = {overlap->source_shard, overlap->from, overlap->to};
    if (!vec_push(&exchange->pieces, piece))
        no_memory(exchange);
}

/* Zeroes the target's shard on a tile before anything arrives. */
static bool add_fill(Exchange *exchange, uint32_t tile, uint32_t value) {
    Lowering *lowering = exchange->lowering;
    LowerOperand operand = {.buffer = lower_find(lowering->result, tile, value)};
    uint32_t bytes = lowering->result->buffers.items[operand.buffer].bytes;
    if (bytes % COPY_UNIT)
        return fail(exchange,
                    diag_error(lowering->diag, ERR_LOWER_PIECE, (DiagPlace){.tile = (int32_t)tile},
                               "a shard of %u bytes, which is to be zeroed, is no whole "
                               "number of 64-bit words",
                               bytes));
    KernelSpec spec = {.family = KERNEL_FILL, .fill = {.words = bytes / COPY_UNIT}};
    int32_t pattern[KERNEL_MAX_SCALARS] = {0};
    LocalCall call = {.order = (uint32_t)lowering->local.count};
    assert(exchange->local);
    return (lower_call(lowering, &spec, &operand, pattern, exchange->event - 1, &call.call) &&
            vec_push(&lowering->local, call)) ||
           no_memory(exchange);
}

/* Rows of a range whose lines end with it move with the padding that both shards have behind it. */
static void take_padding(const PlanValue *source, const Shard *to, Piece *piece) {
    Shard from;
    format_shard(&source->format, &source->shape, piece->source_shard, &from);
    const AxisBounds *have = &from.bounds[0], *want = &to->bounds[0];
    if (have->start + piece->from.end[0] != have->logical_end ||
        want->start + piece->to.end[0] != want->logical_end)
        return;
    uint32_t padding =
        MIN_OF(have->physical_end - have->logical_end, want->physical_end - want->logical_end);
    piece->from.end[0] += padding;
    piece->to.end[0] += padding;
}

/* Pieces of one shard of a move's target. */
static void collect_shard(Exchange *exchange, const PlanMove *move, uint32_t shard) {
    const PlanValue *source = value_of(exchange, move->source),
                    *target = value_of(exchange, move->target);
    Shard to;
    format_shard(&target->format, &target->shape, shard, &to);
    if (shard_bytes(&to) == 0)
        return;
    Fill fill = {.move = move, .shard = shard, .first_piece = (uint32_t)exchange->pieces.count};
    Shape shape = padded_shape(source, target);
    if (plan_moves_rows(exchange->lowering->plan, move)) {
        RowTransfer rows = {.source = &source->format,
                            .destination = &target->format,
                            .source_shape = &(Shape){2, {source->shape.dims[0], shape.dims[1]}},
                            .destination_shape =
                                &(Shape){2, {target->shape.dims[0], shape.dims[1]}},
                            .source_row = move->source_row,
                            .destination_row = move->target_row,
                            .rows = MIN_OF(source->shape.dims[0], target->shape.dims[0])};
        transfer_rows(&rows, shard, add_piece, exchange);
    } else {
        transfer_each(&source->format, &target->format, &shape, shard, add_piece, exchange);
    }
    fill.piece_count = (uint32_t)exchange->pieces.count - fill.first_piece;
    if (to.layout.inner_is_row && plan_moves_rows(exchange->lowering->plan, move))
        for (uint32_t i = 0; i < fill.piece_count; i++)
            take_padding(source, &to, &exchange->pieces.items[fill.first_piece + i]);
    uint64_t covered = 0;
    for (uint32_t i = 0; i < fill.piece_count; i++)
        covered += region_bytes(&to.layout, &exchange->pieces.items[fill.first_piece + i].to);
    /* Where several moves fill a value between them, in one phase or in several, the first one
     * zeroes it. */
    bool filled = false;
    for (const PlanMove *other = exchange->lowering->plan->moves; other < move && !filled; other++)
        filled = other->target == move->target;
    for (uint32_t copy = 0; !filled && covered < shard_bytes(&to) && copy < target->format.replicas;
         copy++)
        if (!add_fill(exchange, format_tile_of_shard(&target->format, shard, copy), move->target))
            return;
    if (!vec_push(&exchange->fills, fill))
        no_memory(exchange);
}

/* Shards that take from the same first source shard begin at different pieces. */
static void set_turns(Exchange *exchange) {
    for (size_t i = 0; i < exchange->fills.count; i++) {
        Fill *fill = &exchange->fills.items[i];
        const Fill *before = i > 0 ? &exchange->fills.items[i - 1] : NULL;
        bool together = before && before->move == fill->move && fill->piece_count > 0 &&
                        before->piece_count > 0 &&
                        exchange->pieces.items[before->first_piece].source_shard ==
                            exchange->pieces.items[fill->first_piece].source_shard;
        fill->turn = together ? before->turn + 1 : 0;
    }
}

/* ---- copies */

/* Writes the run of local fragments as one call. */
static bool end_run(Exchange *exchange) {
    Lowering *lowering = exchange->lowering;
    if (exchange->run.rows == 0)
        return true;
    KernelSpec spec = {.family = KERNEL_COPY, .copy = exchange->run};
    if (spec.copy.rows == 1)
        spec.copy.source_stride = spec.copy.output_stride = 0;
    LowerOperand operands[] = {exchange->run_to, exchange->run_from};
    int32_t scalars[KERNEL_MAX_SCALARS] = {0};
    LocalCall call = {.order = (uint32_t)lowering->local.count};
    exchange->run.rows = 0;
    return (lower_call(lowering, &spec, operands, scalars, exchange->event - 1, &call.call) &&
            vec_push(&lowering->local, call)) ||
           no_memory(exchange);
}

static bool piece_error(Exchange *exchange, uint32_t tile, const Fragment *fragment,
                        const char *unit) {
    return fail(
        exchange,
        diag_error(exchange->lowering->diag, ERR_LOWER_PIECE, (DiagPlace){.tile = (int32_t)tile},
                   "a piece of %llu bytes, from offset %llu to offset %llu, is not made of "
                   "%s",
                   (unsigned long long)fragment->bytes, (unsigned long long)fragment->source,
                   (unsigned long long)fragment->destination, unit));
}

/* A fragment that stays on its tile: another row of the run, or the first of a new one. */
static bool copy_locally(Exchange *exchange, uint32_t target_buffer, const Fragment *fragment) {
    if (fragment->bytes % COPY_UNIT || fragment->source % COPY_UNIT ||
        fragment->destination % COPY_UNIT)
        return piece_error(exchange, exchange->source_tile, fragment, "64-bit words");
    assert(exchange->local);
    uint32_t from = (uint32_t)fragment->source, to = (uint32_t)fragment->destination;
    KernelCopy *run = &exchange->run;
    uint32_t source_step = from - exchange->last_from, output_step = to - exchange->last_to;
    bool ascends = from > exchange->last_from && to > exchange->last_to;
    bool fits =
        run->rows > 0 && ascends && exchange->run_to.buffer == target_buffer &&
        exchange->run_from.buffer == exchange->source_buffer &&
        fragment->bytes == (uint64_t)run->words * COPY_UNIT &&
        (run->rows == 1 ? source_step >= fragment->bytes && output_step >= fragment->bytes
                        : source_step == run->source_stride && output_step == run->output_stride);
    if (fits) {
        run->source_stride = source_step;
        run->output_stride = output_step;
        run->rows++;
    } else {
        if (!end_run(exchange))
            return false;
        *run = (KernelCopy){.rows = 1, .words = (uint32_t)(fragment->bytes / COPY_UNIT)};
        exchange->run_from = (LowerOperand){exchange->source_buffer, from};
        exchange->run_to = (LowerOperand){target_buffer, to};
    }
    exchange->last_from = from;
    exchange->last_to = to;
    return true;
}

/* One copy to the tiles in exchange->tiles, whose buffers of the target all have it at `offset`. */
static bool add_copy(Exchange *exchange, LowerOperand source, uint32_t bytes, uint64_t offset) {
    TileGraph *graph = exchange->lowering->result;
    LowerCopy copy = {source, bytes / WORD, (uint32_t)graph->dests.count,
                      (uint32_t)exchange->tiles.count};
    for (size_t i = 0; i < exchange->tiles.count; i++) {
        uint32_t tile = exchange->tiles.items[i];
        LowerOperand dest = {lower_find(graph, tile, exchange->target_value), (uint32_t)offset};
        lower_touch(graph, dest.buffer, exchange->event);
        if (!vec_push(&graph->dests, dest))
            return no_memory(exchange);
    }
    lower_touch(graph, source.buffer, exchange->event);
    return vec_push(&graph->copies, copy) || no_memory(exchange);
}

static void add_fragment(void *context, Fragment fragment) {
    Exchange *exchange = context;
    if (exchange->status)
        return;
    bool alone = exchange->tiles.count == 1 && exchange->tiles.items[0] == exchange->source_tile;
    if (alone) {
        uint32_t buffer =
            lower_find(exchange->lowering->result, exchange->source_tile, exchange->target_value);
        copy_locally(exchange, buffer, &fragment);
    } else if (fragment.bytes % WORD || fragment.source % WORD || fragment.destination % WORD) {
        piece_error(exchange, exchange->source_tile, &fragment, "32-bit words");
    } else {
        LowerOperand source = {exchange->source_buffer, (uint32_t)fragment.source};
        add_copy(exchange, source, (uint32_t)fragment.bytes, fragment.destination);
    }
}

static void check_units(void *context, Fragment fragment) {
    bool *whole = context;
    *whole = *whole && fragment.bytes % COPY_UNIT == 0 && fragment.source % COPY_UNIT == 0 &&
             fragment.destination % COPY_UNIT == 0;
}

/* Can a kernel copy the piece? */
static bool stays_in_units(const Shard *from, const Shard *to, const Piece *piece) {
    bool whole = true;
    fragment_each(&from->layout, &piece->from, &to->layout, &piece->to, check_units, &whole);
    return whole;
}

/* Which copy of the source serves a copy of the target when there are more of them: the one on the
 * tile itself, which nothing has to move for, else the one that gives least away so far. */
static uint32_t serving_copy(const Exchange *exchange, const Format *source, const Piece *piece,
                             uint32_t target_tile, bool may_stay) {
    uint32_t best = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t copy = 0; copy < source->replicas; copy++) {
        uint32_t tile = format_tile_of_shard(source, piece->source_shard, copy);
        if (tile == target_tile && may_stay)
            return copy;
        if (tile != target_tile && exchange->sent[tile] < least) {
            least = exchange->sent[tile];
            best = copy;
        }
    }
    return best;
}

/* Copies of the source in turn serve the copies of the target: neighbours share one. */
static void add_piece_copies(Exchange *exchange, const Fill *fill, const Piece *piece) {
    const PlanValue *source = value_of(exchange, fill->move->source),
                    *target = value_of(exchange, fill->move->target);
    Shard from, to;
    format_shard(&source->format, &source->shape, piece->source_shard, &from);
    format_shard(&target->format, &target->shape, fill->shard, &to);
    exchange->target_value = fill->move->target;
    uint32_t have = source->format.replicas, want = target->format.replicas;
    bool may_stay = have > want && exchange->local && stays_in_units(&from, &to, piece);
    for (uint32_t copy = 0; copy < want && !exchange->status;) {
        uint32_t turn = (uint32_t)((uint64_t)copy * have / want), serving = turn;
        if (have > want)
            serving =
                serving_copy(exchange, &source->format, piece,
                             format_tile_of_shard(&target->format, fill->shard, copy), may_stay);
        exchange->tiles.count = 0;
        for (; copy < want && (uint64_t)copy * have / want == turn; copy++)
            if (!vec_push(&exchange->tiles,
                          format_tile_of_shard(&target->format, fill->shard, copy)))
                no_memory(exchange);
        exchange->source_tile = format_tile_of_shard(&source->format, piece->source_shard, serving);
        exchange->sent[exchange->source_tile] += region_bytes(&from.layout, &piece->from);
        exchange->source_buffer =
            lower_find(exchange->lowering->result, exchange->source_tile, fill->move->source);
        fragment_each(&from.layout, &piece->from, &to.layout, &piece->to, add_fragment, exchange);
        end_run(exchange);
    }
}

static void add_rounds(Exchange *exchange) {
    uint32_t rounds = 0;
    for (size_t i = 0; i < exchange->fills.count; i++)
        rounds = MAX_OF(rounds, exchange->fills.items[i].piece_count);
    for (uint32_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < exchange->fills.count && !exchange->status; i++) {
            const Fill *fill = &exchange->fills.items[i];
            if (round >= fill->piece_count)
                continue;
            uint32_t piece = (round + fill->turn) % fill->piece_count;
            add_piece_copies(exchange, fill, &exchange->pieces.items[fill->first_piece + piece]);
        }
}

/* ---- sums */

static const PlanStep *reduce_of(const Plan *plan, uint32_t received) {
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].kind == PLAN_REDUCE && plan->steps[i].sources[1] == received)
            return &plan->steps[i];
    return NULL;
}

/* What one owner gets from one other part: the panels of its piece, those together that are
 * contiguous on both sides. */
static bool add_part(Exchange *exchange, const PlanMove *move, uint32_t owner, uint32_t part) {
    const Plan *plan = exchange->lowering->plan;
    const PlanStep *reduce = reduce_of(plan, move->target);
    PlanPiece piece = plan_owned_piece(plan, reduce, owner);
    const GemmChoice *choice = plan_choice(plan, reduce->op);
    uint32_t block = choice->rows * choice->columns;
    exchange->source_tile = owner % block + part * block;
    exchange->source_buffer =
        lower_find(exchange->lowering->result, exchange->source_tile, move->source);
    exchange->target_value = move->target;
    exchange->tiles.count = 0;
    if (!vec_push(&exchange->tiles, owner))
        return no_memory(exchange);
    uint32_t together = piece.rows == piece.part_rows ? piece.panels : 1;
    for (uint32_t panel = 0; panel < piece.panels; panel += together) {
        uint32_t offset =
            ((piece.first_panel + panel) * piece.part_rows + piece.first_row) * ROW_BYTES;
        LowerOperand source = {exchange->source_buffer, offset};
        if (!add_copy(exchange, source, piece.rows * together * ROW_BYTES,
                      plan_received_offset(plan, reduce, owner, part, panel)))
            return false;
    }
    return true;
}

/* Round j: part i sends to the owner j parts further on. */
static void add_sum(Exchange *exchange, const PlanMove *move) {
    const Plan *plan = exchange->lowering->plan;
    const GemmChoice *choice = plan_choice(plan, reduce_of(plan, move->target)->op);
    uint32_t block = choice->rows * choice->columns, parts = choice->inner;
    const Format *owners = &value_of(exchange, move->target)->format;
    for (uint32_t round = 1; round < parts; round++)
        for (uint32_t tile = 0; tile < owners->tile_count; tile++) {
            uint32_t part = (tile / block + parts - round) % parts;
            if (plan_tile_bytes(plan, move->target, tile) > 0 &&
                !add_part(exchange, move, tile, part))
                return;
        }
}

/* ---- what must lie apart, and how large rows may be */

/* Buffers of a tile that take part, and its row. */
typedef struct Active {
    uint32_t tile, buffer;
    bool target;
} Active;

static int compare_active(const void *first, const void *second) {
    const Active *x = first, *y = second;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    return (int)x->target - (int)y->target;
}

typedef VEC(Active) Actives;

static bool collect_active(const Exchange *exchange, const LowerStep *step, Actives *actives) {
    const TileGraph *graph = exchange->lowering->result;
    for (uint32_t i = 0; i < step->copy_count; i++) {
        const LowerCopy *copy = &graph->copies.items[step->first_copy + i];
        uint32_t tile = graph->buffers.items[copy->source.buffer].tile;
        if (!vec_push(actives, (Active){tile, copy->source.buffer, false}))
            return false;
        for (uint32_t k = 0; k < copy->dest_count; k++) {
            uint32_t buffer = graph->dests.items[copy->first_dest + k].buffer;
            if (!vec_push(actives, (Active){graph->buffers.items[buffer].tile, buffer, true}))
                return false;
        }
    }
    if (actives->count > 1)
        qsort(actives->items, actives->count, sizeof(Active), compare_active);
    size_t kept = 0;
    for (size_t i = 0; i < actives->count; i++)
        if (kept == 0 || compare_active(&actives->items[kept - 1], &actives->items[i]) != 0)
            actives->items[kept++] = actives->items[i];
    actives->count = kept;
    return true;
}

/* Of iterated parameters? */
static bool is_row(const Lowering *lowering, uint32_t buffer) {
    return lowering->result->buffers.items[buffer].members > 1;
}

/* Rows apart from all that is sent and received; what is sent from what is received, softly, but
 * for rows of parameters: a schedule that minds the elements of one member minds those of all. */
static bool want_apart(Exchange *exchange, const LowerStep *step) {
    Lowering *lowering = exchange->lowering;
    Actives actives = {0};
    bool good = collect_active(exchange, step, &actives);
    for (size_t i = 0; i < actives.count && good; i++) {
        const Active *a = &actives.items[i];
        uint32_t row = tile_graph_row(lowering->result, step->exchange, a->tile);
        good = lower_want_apart(lowering, row, a->buffer, false);
        if (!a->target && is_row(lowering, a->buffer))
            lowering->result->buffers.items[row].iterated = true;
        for (size_t j = i + 1; j < actives.count && actives.items[j].tile == a->tile && good; j++)
            if (a->target != actives.items[j].target)
                good = lower_want_apart(lowering, a->buffer, actives.items[j].buffer,
                                        !is_row(lowering, a->buffer) &&
                                            !is_row(lowering, actives.items[j].buffer));
    }
    vec_free(&actives);
    return good;
}

/* A tile that receives its own message must send it from elsewhere. */
static bool want_loopbacks_apart(Exchange *exchange, const LowerStep *step) {
    Lowering *lowering = exchange->lowering;
    const TileGraph *graph = lowering->result;
    for (uint32_t i = 0; i < step->copy_count; i++) {
        const LowerCopy *copy = &graph->copies.items[step->first_copy + i];
        uint32_t tile = graph->buffers.items[copy->source.buffer].tile;
        for (uint32_t k = 0; k < copy->dest_count; k++) {
            uint32_t buffer = graph->dests.items[copy->first_dest + k].buffer;
            if (graph->buffers.items[buffer].tile == tile &&
                !lower_want_apart(lowering, copy->source.buffer, buffer, false))
                return false;
        }
    }
    return true;
}

/* Words of a message in a row: the send, and its continuation beyond 64 items; the source's
 * selection with the pointer, and the end of the stream where another does not follow. */
enum { SHORT_SEND = 64 };
static const uint32_t SEND_BYTES = 8, LONG_SEND_BYTES = 4, RECEIVE_BYTES = 8, POINTER_BYTES = 4;

/* Bytes of rows, from what they send and receive (ipu-stack's estimate before scheduling, which is
 * within a fifth of what scheduling gives), with room. */
static void estimate_rows(Exchange *exchange, const LowerStep *step) {
    TileGraph *graph = exchange->lowering->result;
    for (uint32_t i = 0; i < step->copy_count; i++) {
        const LowerCopy *copy = &graph->copies.items[step->first_copy + i];
        uint32_t tile = graph->buffers.items[copy->source.buffer].tile;
        uint32_t *bytes = &graph->buffers.items[tile_graph_row(graph, step->exchange, tile)].bytes;
        *bytes += copy->words > SHORT_SEND ? SEND_BYTES + LONG_SEND_BYTES : SEND_BYTES;
        for (uint32_t k = 0; k < copy->dest_count; k++) {
            tile = graph->buffers.items[graph->dests.items[copy->first_dest + k].buffer].tile;
            graph->buffers.items[tile_graph_row(graph, step->exchange, tile)].bytes +=
                RECEIVE_BYTES + POINTER_BYTES;
        }
    }
    for (uint32_t tile = 0; tile < MIN_OF(graph->tiles, exchange->lowering->row_tiles); tile++) {
        uint32_t *bytes = &graph->buffers.items[tile_graph_row(graph, step->exchange, tile)].bytes;
        *bytes = (uint32_t)align_up(*bytes + *bytes / 4, 8);
    }
}

/* ---- the step */

static int compare_local(const void *first, const void *second) {
    const LocalCall *x = first, *y = second;
    if (x->call.tile != y->call.tile)
        return x->call.tile < y->call.tile ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool add_local_step(Exchange *exchange, const PlanStep *planned) {
    Lowering *lowering = exchange->lowering;
    TileGraph *graph = lowering->result;
    LowerStep step = {.kind = STEP_COMPUTE,
                      .operation = planned->op,
                      .planned = (uint32_t)(planned - lowering->plan->steps),
                      .first_call = (uint32_t)graph->calls.count,
                      .call_count = (uint32_t)lowering->local.count,
                      .times = lowering->times,
                      .predicted_cycles = planned->cycles};
    if (lowering->local.count > 1)
        qsort(lowering->local.items, lowering->local.count, sizeof(LocalCall), compare_local);
    for (size_t i = 0; i < lowering->local.count; i++)
        if (!vec_push(&graph->calls, lowering->local.items[i].call))
            return false;
    lowering->local.count = 0;
    return vec_push(&graph->steps, step);
}

static void add_copies(Exchange *exchange, const PlanStep *planned) {
    const Plan *plan = exchange->lowering->plan;
    for (uint32_t i = 0; i < planned->move_count && !exchange->status; i++) {
        const PlanMove *move = &plan->moves[planned->first_move + i];
        if (plan->values[move->target].kind == PLAN_RECEIVED) {
            add_sum(exchange, move);
            continue;
        }
        uint32_t shards = format_shards(&plan->values[move->target].format);
        for (uint32_t shard = 0; shard < shards && !exchange->status; shard++)
            collect_shard(exchange, move, shard);
    }
    set_turns(exchange);
    add_rounds(exchange);
}

static bool add_exchange_step(Exchange *exchange, const PlanStep *planned, uint32_t first_copy) {
    TileGraph *graph = exchange->lowering->result;
    uint32_t number = 0;
    for (size_t i = 0; i < graph->steps.count; i++)
        number += graph->steps.items[i].kind == STEP_EXCHANGE;
    LowerStep step = {.kind = STEP_EXCHANGE,
                      .operation = planned->op,
                      .planned = (uint32_t)(planned - exchange->lowering->plan->steps),
                      .first_call = (uint32_t)graph->calls.count,
                      .first_copy = first_copy,
                      .copy_count = (uint32_t)graph->copies.count - first_copy,
                      .exchange = number,
                      .times = exchange->lowering->times,
                      .predicted_cycles = planned->cycles};
    if (!vec_push(&graph->steps, step) || !want_apart(exchange, &step) ||
        !want_loopbacks_apart(exchange, &step))
        return false;
    estimate_rows(exchange, &step);
    return true;
}

Status lower_exchange(Lowering *lowering, const PlanStep *local, const PlanStep *planned) {
    TileGraph *graph = lowering->result;
    Exchange exchange = {.lowering = lowering,
                         .event = (uint32_t)graph->steps.count + 1 + (local != NULL),
                         .local = local != NULL,
                         .sent = mem_alloc(graph->tiles, sizeof *exchange.sent)};
    if (!exchange.sent)
        return lower_no_memory(lowering);
    uint32_t first_copy = (uint32_t)graph->copies.count;
    add_copies(&exchange, local ? local : planned);
    bool good = exchange.status != STATUS_OK;
    if (!good)
        good = (!local || add_local_step(&exchange, local)) &&
               (!planned || add_exchange_step(&exchange, planned, first_copy));
    assert(planned || graph->copies.count == first_copy);
    vec_free(&exchange.pieces);
    vec_free(&exchange.fills);
    vec_free(&exchange.tiles);
    mem_free(exchange.sent);
    if (exchange.status)
        return exchange.status;
    return good ? STATUS_OK : lower_no_memory(lowering);
}
