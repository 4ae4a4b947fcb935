/* Matrix products, a row late.
 *
 * A row of a matrix product is four AMP instructions, phases 0 … 3, whose results leave in the four
 * instructions of the next row. So their arithmetic can wait: an instruction notes its input and
 * its partials, and hands out results of the row before. At the next phase 0 the row is computed as
 * a whole, together with the finished rows of the other workers (num/amp.h, amp_rows_*).
 *
 * The queue stands for `compute` and `shift`, which are out of date meanwhile. It holds
 * accumulators by channel; slot s is the four channels that move in one instruction. After k
 * phases, 1 … 4, compute  is what `partial` becomes by the inputs x[0 … k-1]; if `computed`, `sums`
 *   shift    is the slots k … 3 of `sums` (of the row before), then the slots 0 … k-1 of `next`
 * All else that knows of accumulators, formats or weights calls exec_rows_settle first. */
#include "sim/rounding.h"
#include "sim/rows.h"

#include <assert.h>

#define SLOTS ((unsigned)AMP_PHASES)

static unsigned queued_phases(const RowQueue *rows) {
    unsigned phase = rows->expected % SLOTS;
    return phase ? phase : SLOTS;
}

/* They were prepared when the queue began, so that there is memory for them. */
static const AmpWeights *weights_again(Context *context) {
    const AmpWeights *weights = exec_row_weights(context, context->rows.expected & ROW_F8);
    assert(weights);
    return weights;
}

/* Computing -------------------------------------------------------------------------------------*/

/* Whether `other` has a finished row that `context`'s weights apply to. */
static bool goes_along(const Context *context, const Context *other) {
    return other->rows.expected == context->rows.expected && !other->rows.computed &&
           (context->rows.expected == ROW_F16 ||
            (other->fp_format == context->fp_format && other->fp_scale == context->fp_scale));
}

static void compute_run(Context *first, unsigned count, const AmpWeights *weights) {
    RowQueue *rows = &first->rows;
    AmpRows call = {.x = rows->x,
                    .partial = rows->partial,
                    .out = rows->rounded,
                    .x_stride = sizeof *first,
                    .partial_stride = sizeof *first,
                    .out_stride = sizeof *first,
                    .rows = count,
                    .overflow = F16_OVERFLOW_SATURATE,
                    .sums = rows->sums,
                    .sums_stride = sizeof *first};
    if (rows->expected == ROW_F8)
        amp_rows_f8(&call, weights);
    else
        amp_rows_f16(&call, weights);
    for (unsigned i = 0; i < count; i++)
        first[i].rows.computed = true;
}

void rows_compute_finished(Context *context) {
    const AmpWeights *weights = weights_again(context);
    Context *at = context->tile->context, *end = at + WORKERS;
    while (at < end) {
        Context *first = at;
        while (at < end && goes_along(context, at))
            at++;
        if (at > first)
            compute_run(first, (unsigned)(at - first), weights);
        at++;
    }
}

/* Leaving the queue -----------------------------------------------------------------------------*/

static void compute_now(Context *c, float accumulator[AMP_CHANNELS]) {
    RowQueue *rows = &c->rows;
    unsigned count = queued_phases(rows);
    if (count == SLOTS && !rows->computed)
        rows_compute_finished(c);
    if (rows->computed) {
        memcpy(accumulator, rows->sums, sizeof rows->sums);
        return;
    }
    const AmpWeights *weights = weights_again(c);
    f16_widen_all(accumulator, rows->partial, AMP_CHANNELS);
    for (unsigned phase = 0; phase < count; phase++) {
        if (rows->expected & ROW_F8)
            amp_phase_f8(accumulator, (const void *)&rows->x[phase], weights, (int)phase);
        else
            amp_phase_f16(accumulator, (const void *)&rows->x[phase], weights, (int)phase);
    }
}

void exec_rows_leave(Context *c) {
    RowQueue *rows = &c->rows;
    unsigned taken_in = 4 * queued_phases(rows);
    float shift[AMP_CHANNELS], compute[AMP_CHANNELS];
    f16_widen_all(shift, rows->next, AMP_CHANNELS);
    memcpy(shift + taken_in, rows->sums + taken_in, sizeof shift - taken_in * sizeof *shift);
    compute_now(c, compute);
    for (unsigned i = 0; i < AMP_CHANNELS; i++) {
        c->shift[exec_unit_of_channel[i]] = shift[(i + taken_in) % AMP_CHANNELS];
        c->compute[exec_unit_of_channel[i]] = compute[i];
    }
    rows->expected = 0;
}

void exec_weights_change(Tile *tile) {
    if (tile->row_key)
        for (unsigned i = 0; i < WORKERS; i++)
            exec_rows_settle(&tile->context[i]);
    tile->prepared_key = tile->row_key = 0;
}

/* Queueing --------------------------------------------------------------------------------------*/

/* A queue can begin at phase 0, with partials that came as F16. */
static bool begin(Context *c, unsigned phase, bool f8) {
    RowQueue *rows = &c->rows;
    float shift[AMP_CHANNELS], widened[AMP_CHANNELS];
    exec_rows_settle(c);
    if (!c->queues_rows || !c->plain_rounding || phase != 0 || !exec_row_weights(c, f8))
        return false;
    for (unsigned i = 0; i < AMP_CHANNELS; i++) {
        shift[i] = c->shift[exec_unit_of_channel[i]];
        rows->sums[i] = c->compute[exec_unit_of_channel[i]];
    }
    f16_narrow_all(rows->next, shift, AMP_CHANNELS, F16_OVERFLOW_INFINITE);
    f16_widen_all(widened, rows->next, AMP_CHANNELS);
    if (memcmp((const void *)widened, (const void *)shift, sizeof shift) != 0)
        return false;
    f16_narrow_all(rows->rounded, rows->sums, AMP_CHANNELS, F16_OVERFLOW_SATURATE);
    rows->computed = true;
    return true;
}

/* Results that may have overflowed, or are NaN. */
static void put_with_flags(Context *c, unsigned r, unsigned phase) {
    F16 d[4];
    for (unsigned i = 0; i < 4; i++)
        d[i] = round_f16_out(c, c->rows.sums[4 * phase + i]);
    set_lanes_f16(c, r, d, 4);
}

static inline bool queue_phase(Context *c, const Half *h, bool f8) {
    RowQueue *rows = &c->rows;
    const unsigned kind = f8 ? ROW_F8 : ROW_F16;
    unsigned phase = (unsigned)(h->imm - CHIP_TAMP_F16V4_E4_P0);
    if (__builtin_expect(rows->expected != (kind | phase), 0) && !begin(c, phase, f8))
        return false;
    if (phase == 0) {
        if (!rows->computed)
            rows_compute_finished(c);
        memcpy(rows->partial, rows->next, sizeof rows->partial);
        rows->computed = false;
    }
    rows->expected = (uint8_t)(kind | (phase + 1) % SLOTS);
    uint64_t results;
    memcpy(&results, &rows->rounded[4 * phase], 8);
    memcpy(&rows->x[phase], &c->a[h->r[1]], 8);
    memcpy(&rows->next[4 * phase], &c->a[h->r[2]], 8);
    if (__builtin_expect(extreme_lanes(results) != 0, 0))
        put_with_flags(c, h->r[0], phase);
    else
        memcpy(&c->a[h->r[0]], &results, 8);
    return true;
}

static void f16v4hihov4amp(Context *c, const Half *h) {
    if (!queue_phase(c, h, false))
        exec_function_plain(ISA_F16V4HIHOV4AMP)(c, h);
}
static void f8v8hihov4amp(Context *c, const Half *h) {
    if (!queue_phase(c, h, true))
        exec_function_plain(ISA_F8V8HIHOV4AMP)(c, h);
}
GROUP(f16v4hihov4amp)
GROUP(f8v8hihov4amp)

GroupTable group_rows = {
    [ISA_F16V4HIHOV4AMP] = f16v4hihov4amp_group,
    [ISA_F8V8HIHOV4AMP] = f8v8hihov4amp_group,
};
ExecTable exec_rows = {
    [ISA_F16V4HIHOV4AMP] = f16v4hihov4amp,
    [ISA_F8V8HIHOV4AMP] = f8v8hihov4amp,
};
