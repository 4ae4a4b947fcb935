#include "tensor/span.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

/* A rectangle in the terms of order.h. Axes that form one row-major index space (the leading ones,
 * with the rows if flattened) are covered in `blocks` runs of equal length that do not touch. A run
 * is a range of outer indices if flattened, else a range of matrices. */
typedef struct Cover {
    uint32_t k0, k1; /* inner range */
    uint32_t n0, n1; /* outer range, if not flattened */
    uint64_t first, run, blocks;
    uint32_t odometer;               /* the first `odometer` axes number the blocks */
    uint64_t stride[SHAPE_MAX_RANK]; /* step of a run's first index for each of these axes */
} Cover;

static bool region_empty(const Layout *layout, const Region *region) {
    for (uint32_t i = 0; i < layout->rank; i++)
        if (region->start[i] >= region->end[i])
            return true;
    return layout_count(layout) == 0;
}

/* Axes of that index space. */
static uint32_t leading_axes(const Layout *layout) {
    uint32_t last = layout->flattened ? 1 : 2;
    return layout->rank > last ? layout->rank - last : 0;
}

static Cover region_cover(const Layout *layout, const Region *region) {
    uint32_t rank = layout->rank;
    uint32_t rows[2] = {0, 1}, columns[2] = {0, 1};
    if (rank >= 2) {
        rows[0] = region->start[rank - 2];
        rows[1] = region->end[rank - 2];
    }
    if (rank >= 1) {
        columns[0] = region->start[rank - 1];
        columns[1] = region->end[rank - 1];
    }
    Cover cover = {.run = 1, .blocks = 1};
    const uint32_t *k = layout->inner_is_row ? rows : columns;
    const uint32_t *n = layout->inner_is_row ? columns : rows;
    cover.k0 = k[0];
    cover.k1 = k[1];
    cover.n0 = n[0];
    cover.n1 = n[1];
    uint64_t step = 1;
    bool whole = true; /* all axes right of this one are covered completely */
    for (uint32_t i = leading_axes(layout); i-- > 0;) {
        uint32_t width = region->end[i] - region->start[i];
        cover.first += region->start[i] * step;
        cover.stride[i] = step;
        if (whole) {
            cover.run *= width;
            cover.odometer = i;
        } else {
            cover.blocks *= width;
        }
        whole = whole && width == layout->dims[i];
        step *= layout->dims[i];
    }
    return cover;
}

/* Runs that the columns [from, to) of one drained line take. */
static uint32_t drain_runs(uint32_t from, uint32_t to) {
    uint32_t runs = 0;
    bool inside = false;
    for (int i = 0; i < 16; i++) {
        bool covered = order_drain_column[i] >= from && order_drain_column[i] < to;
        runs += covered && !inside;
        inside = covered;
    }
    return runs;
}

static uint32_t line_runs(const Layout *layout, uint32_t from, uint32_t to) {
    return layout->drain ? drain_runs(from, to) : 1;
}

uint64_t region_bytes(const Layout *layout, const Region *region) {
    if (region_empty(layout, region))
        return 0;
    uint64_t count = layout->value_bytes;
    for (uint32_t i = 0; i < layout->rank; i++)
        count *= region->end[i] - region->start[i];
    return count;
}

/* Runs before panels merge: one for each group and panel where the group is whole, else one or more
 * for each line. */
static uint64_t count_raw(const Layout *layout, const Cover *cover, uint64_t lines,
                          uint64_t panels) {
    uint32_t g = layout->group;
    uint32_t first = cover->k0 / g, last = (cover->k1 - 1) / g;
    uint32_t x = cover->k0 % g, y = (cover->k1 - 1) % g + 1;
    if (first == last)
        return y - x == g ? panels : lines * line_runs(layout, x, y);
    uint64_t count = (uint64_t)(last - first - 1) * panels;
    count += x == 0 ? panels : lines * line_runs(layout, x, g);
    return count + (y == g ? panels : lines * line_runs(layout, 0, y));
}

/* Whole blocks in [from, to), the last one of the extent, which may be shorter, among them. */
static uint32_t whole_blocks(uint32_t from, uint32_t to, uint32_t block, uint32_t extent) {
    uint32_t low = (uint32_t)div_up(from, block);
    uint32_t high = to == extent ? (uint32_t)div_up(to, block) : to / block;
    return high > low ? high - low : 0;
}

/* Flattened orders have one panel a group, the runs of rows being cut out of it; the end of one
 * panel meets the start of the next if the first run starts and the last one ends the panel. */
static uint64_t count_flattened(const Layout *layout, const Cover *cover, const Region *region) {
    uint64_t end = cover->first + cover->run;
    for (uint32_t i = 0; i < cover->odometer; i++)
        end += (region->end[i] - region->start[i] - 1) * cover->stride[i];
    uint64_t count = count_raw(layout, cover, cover->run * cover->blocks, cover->blocks);
    if (cover->first == 0 && end == layout->outer)
        count -= (cover->k1 - 1) / layout->group - cover->k0 / layout->group;
    return count;
}

uint64_t span_count(const Layout *layout, const Region *region) {
    if (region_empty(layout, region))
        return 0;
    Cover cover = region_cover(layout, region);
    if (layout->flattened)
        return count_flattened(layout, &cover, region);
    uint32_t g = layout->group, ib = layout->inner_block, ob = layout->outer_block;
    uint32_t panels = (cover.n1 - 1) / ob - cover.n0 / ob + 1;
    uint64_t count = count_raw(layout, &cover, cover.n1 - cover.n0, panels);
    uint32_t groups_crossed = (cover.k1 - 1) / g - cover.k0 / g;
    uint32_t blocks_crossed = (cover.k1 - 1) / ib - cover.k0 / ib;
    /* A panel whole along the outer axis meets the next group's; */
    count -= (uint64_t)whole_blocks(cover.n0, cover.n1, ob, layout->outer) *
             (groups_crossed - blocks_crossed);
    /* the last group of a whole inner block meets the first group of the next panel column; */
    count -= (uint64_t)(panels - 1) * whole_blocks(cover.k0, cover.k1, ib, layout->inner);
    /* an inner block covered to the outer end meets the next one; a whole matrix meets the next. */
    bool whole_outer = cover.n0 == 0 && cover.n1 == layout->outer;
    if (whole_outer)
        count -= blocks_crossed;
    bool whole = whole_outer && cover.k0 == 0 && cover.k1 == layout->inner;
    return cover.blocks * (count * cover.run - (whole ? cover.run - 1 : 0));
}

/* A piece of the walk: inner range [k0, k1) of one group, outer range [n0, n1) of one panel. */
typedef struct Piece {
    uint64_t matrix;
    uint32_t k0, k1, n0, n1;
} Piece;

typedef struct Walk {
    const Layout *layout;
    const Region *region;
    Cover cover;
    void (*body)(void *context, const Layout *layout, const Piece *piece);
    void *context;
} Walk;

/* Calls visit(walk, first index of the run, piece) for each run of the cover, ascending. */
static void walk_blocks(const Walk *walk, Piece piece,
                        void (*visit)(const Walk *walk, uint64_t first, Piece piece)) {
    uint32_t counter[SHAPE_MAX_RANK] = {0};
    for (;;) {
        uint64_t first = walk->cover.first;
        for (uint32_t i = 0; i < walk->cover.odometer; i++)
            first += counter[i] * walk->cover.stride[i];
        visit(walk, first, piece);
        uint32_t i = walk->cover.odometer;
        for (; i > 0; i--) {
            if (++counter[i - 1] < walk->region->end[i - 1] - walk->region->start[i - 1])
                break;
            counter[i - 1] = 0;
        }
        if (i == 0)
            return;
    }
}

static void visit_rows(const Walk *walk, uint64_t first, Piece piece) {
    piece.n0 = (uint32_t)first;
    piece.n1 = (uint32_t)(first + walk->cover.run);
    walk->body(walk->context, walk->layout, &piece);
}

/* Groups of one inner block, in memory order, inside [from, to). */
static void walk_panel(const Walk *walk, Piece piece, uint32_t from, uint32_t to) {
    uint32_t g = walk->layout->group;
    for (piece.k0 = from; piece.k0 < to; piece.k0 = piece.k1) {
        piece.k1 = MIN_OF(to, piece.k0 / g * g + g);
        walk->body(walk->context, walk->layout, &piece);
    }
}

static void visit_matrices(const Walk *walk, uint64_t first, Piece piece) {
    uint32_t ib = walk->layout->inner_block, ob = walk->layout->outer_block;
    const Cover *cover = &walk->cover;
    for (uint64_t m = 0; m < cover->run; m++) {
        piece.matrix = first + m;
        for (uint32_t k = cover->k0, next; k < cover->k1; k = next) {
            next = MIN_OF(cover->k1, k / ib * ib + ib);
            for (piece.n0 = cover->n0; piece.n0 < cover->n1; piece.n0 = piece.n1) {
                piece.n1 = MIN_OF(cover->n1, piece.n0 / ob * ob + ob);
                walk_panel(walk, piece, k, next);
            }
        }
    }
}

/* Visits a rectangle by ascending offset. */
static void walk_region(const Layout *layout, const Region *region,
                        void (*body)(void *context, const Layout *layout, const Piece *piece),
                        void *context) {
    if (region_empty(layout, region))
        return;
    Walk walk = {layout, region, region_cover(layout, region), body, context};
    if (!layout->flattened) {
        walk_blocks(&walk, (Piece){0}, visit_matrices);
        return;
    }
    uint32_t g = layout->group;
    for (uint32_t k = walk.cover.k0, next; k < walk.cover.k1; k = next) {
        next = MIN_OF(walk.cover.k1, k / g * g + g);
        walk_blocks(&walk, (Piece){.k0 = k, .k1 = next}, visit_rows);
    }
}

/* Index of the value at inner position k, outer position n of a matrix. */
static void piece_index(const Layout *layout, uint64_t matrix, uint32_t k, uint32_t n,
                        uint32_t index[]) {
    uint32_t rank = layout->rank;
    uint32_t row = layout->inner_is_row ? k : n, column = layout->inner_is_row ? n : k;
    if (layout->flattened && rank >= 2) {
        matrix = row / layout->dims[rank - 2];
        row %= layout->dims[rank - 2];
    }
    if (rank >= 1)
        index[rank - 1] = column;
    if (rank >= 2)
        index[rank - 2] = row;
    for (uint32_t i = rank >= 2 ? rank - 2 : 0; i-- > 0;) {
        index[i] = (uint32_t)(matrix % layout->dims[i]);
        matrix /= layout->dims[i];
    }
}

static uint64_t piece_offset(const Layout *layout, const Piece *piece, uint32_t n) {
    uint32_t index[SHAPE_MAX_RANK] = {0};
    piece_index(layout, piece->matrix, piece->k0, n, index);
    return layout_offset(layout, index) * layout->value_bytes;
}

typedef struct SpanSink {
    Span pending;
    void (*body)(void *context, Span span);
    void *context;
} SpanSink;

static void span_add(SpanSink *sink, uint64_t offset, uint64_t bytes) {
    if (sink->pending.bytes > 0 && sink->pending.offset + sink->pending.bytes == offset) {
        sink->pending.bytes += bytes;
        return;
    }
    if (sink->pending.bytes > 0)
        sink->body(sink->context, sink->pending);
    sink->pending = (Span){offset, bytes};
}

static void span_piece(void *context, const Layout *layout, const Piece *piece) {
    SpanSink *sink = context;
    uint32_t g = layout->group;
    uint64_t b = layout->value_bytes, line = g * b;
    if (piece->k1 - piece->k0 == g) {
        span_add(sink, piece_offset(layout, piece, piece->n0), (piece->n1 - piece->n0) * line);
        return;
    }
    Piece start = *piece;
    start.k0 = piece->k0 / g * g;
    uint64_t offset = piece_offset(layout, &start, piece->n0);
    uint32_t from = piece->k0 - start.k0, to = piece->k1 - start.k0;
    for (uint32_t n = piece->n0; n < piece->n1; n++, offset += line) {
        if (!layout->drain) {
            span_add(sink, offset + from * b, (to - from) * b);
            continue;
        }
        for (uint32_t i = 0; i < 16; i++)
            if (order_drain_column[i] >= from && order_drain_column[i] < to)
                span_add(sink, offset + i * b, b);
    }
}

void span_each(const Layout *layout, const Region *region, void (*body)(void *context, Span span),
               void *context) {
    SpanSink sink = {.body = body, .context = context};
    walk_region(layout, region, span_piece, &sink);
    if (sink.pending.bytes > 0)
        body(context, sink.pending);
}

typedef struct FragmentSink {
    const Layout *source;
    const Region *from, *to;
    Fragment pending;
    void (*body)(void *context, Fragment fragment);
    void *context;
} FragmentSink;

static void fragment_add(FragmentSink *sink, Fragment next) {
    Fragment *pending = &sink->pending;
    if (pending->bytes > 0 && pending->source + pending->bytes == next.source &&
        pending->destination + pending->bytes == next.destination) {
        pending->bytes += next.bytes;
        return;
    }
    if (pending->bytes > 0)
        sink->body(sink->context, *pending);
    *pending = next;
}

/* Values from inner position k on, at most `count`, that follow each other in the source too. */
static uint32_t fragment_length(const Layout *source, const Layout *destination, uint32_t k,
                                uint32_t count) {
    bool same_axis = source->inner_is_row == destination->inner_is_row;
    if (!same_axis || source->drain || destination->drain)
        return 1;
    return MIN_OF(count, source->group - k % source->group);
}

static void fragment_piece(void *context, const Layout *layout, const Piece *piece) {
    FragmentSink *sink = context;
    uint32_t rank = layout->rank, b = layout->value_bytes;
    uint32_t inner_axis = layout->inner_is_row ? rank - 2 : rank - 1;
    uint32_t steps = layout->drain ? 16 : piece->k1 - piece->k0;
    uint32_t group_start = piece->k0 / layout->group * layout->group;
    for (uint32_t n = piece->n0; n < piece->n1; n++) {
        for (uint32_t step = 0, length; step < steps; step += length) {
            uint32_t k = layout->drain ? group_start + order_drain_column[step] : piece->k0 + step;
            length = 1;
            if (k < piece->k0 || k >= piece->k1)
                continue;
            uint32_t at[SHAPE_MAX_RANK] = {0}, of[SHAPE_MAX_RANK] = {0};
            piece_index(layout, piece->matrix, k, n, at);
            for (uint32_t i = 0; i < rank; i++)
                of[i] = at[i] - sink->to->start[i] + sink->from->start[i];
            if (rank > 0)
                length = fragment_length(sink->source, layout, of[inner_axis], piece->k1 - k);
            fragment_add(sink, (Fragment){layout_offset(sink->source, of) * b,
                                          layout_offset(layout, at) * b, (uint64_t)length * b});
        }
    }
}

void fragment_each(const Layout *source, const Region *from, const Layout *destination,
                   const Region *to, void (*body)(void *context, Fragment fragment),
                   void *context) {
    assert(source->value_bytes == destination->value_bytes && source->rank == destination->rank);
    FragmentSink sink = {source, from, to, {0}, body, context};
    walk_region(destination, to, fragment_piece, &sink);
    if (sink.pending.bytes > 0)
        body(context, sink.pending);
}
