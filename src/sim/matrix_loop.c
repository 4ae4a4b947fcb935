/* Repeats that stream a matrix product: every bundle an AMP instruction and a paced access that
 * loads its input (and partials) and stores results, as the inner loops of GEMM kernels do.
 *
 * Where a worker's accesses of some rounds lie follows from its pointers and strides. If no access
 * can trap, and nobody loads or stores what another worker stores, then the workers may run in
 * turn, and each one's loads, matrix rows and stores as well: that is what matrix_loop_run does,
 * with whole rows through amp_rows_*. Otherwise it does nothing. */
#include "sim/pace.h"
#include "sim/rounding.h"
#include "sim/rows.h"

enum {
    BUNDLES_MOST = 8, /* of a body; a multiple of 4 */
    CHUNK = 128,      /* bundles of a worker at a time */
    FRONT = BUNDLES_MOST,
    STREAMS = 3, /* the addresses of a packed pair: two loads and a store */
    STORE = 2,
};

/* The body --------------------------------------------------------------------------------------*/

/* Arithmetic registers are pairs here, 0 … 3; 4 … 7 read as zero. The input of an AMP was loaded
 * `lag` bundles before, and so on. */
typedef struct Body {
    unsigned bundles;
    unsigned phase; /* of the first bundle */
    bool f8;
    bool has_partials; /* stream 1 is used: else the partials are zero */
    unsigned pair;     /* main registers that hold the addresses */
    unsigned x_stream, x_lag, partial_lag, store_lag;
    const Packet *packet[BUNDLES_MOST];
} Body;

enum { ORIGIN_ENTRY, ORIGIN_LOAD, ORIGIN_RESULT };

/* What wrote a register pair: which stream loaded it, in which bundle counted over two rounds. */
typedef struct Origin {
    uint8_t kind, stream, bundle;
} Origin;

static bool is_product(const Packet *packet) {
    return packet->aux_form == ISA_F8V8HIHOV4AMP || packet->aux_form == ISA_F16V4HIHOV4AMP;
}

/* The same kind of bundle throughout, phases in order, one pair of pointers. */
static bool is_uniform(Body *body, const Packet *first, const Packet *end) {
    size_t words = (size_t)(end - first);
    body->bundles = (unsigned)(words / 2);
    if (words > 2 * BUNDLES_MOST || words % 8 != 0 || !is_product(first))
        return false;
    if (first->main_form != ISA_LD2XST64PACE && first->main_form != ISA_LDST64PACE)
        return false;
    body->has_partials = first->main_form == ISA_LD2XST64PACE;
    body->f8 = first->aux_form == ISA_F8V8HIHOV4AMP;
    body->pair = first->main.r[2];
    body->phase = (unsigned)(first->aux.imm - CHIP_TAMP_F16V4_E4_P0);
    for (unsigned i = 0; i < body->bundles; i++) {
        const Packet *packet = first + 2 * i;
        unsigned phase = (unsigned)(packet->aux.imm - CHIP_TAMP_F16V4_E4_P0);
        if (packet->shape < SHAPE_MAIN_AUX || packet->shape > SHAPE_CROSSED || packet->slots != 1 ||
            packet->main_form != first->main_form || packet->aux_form != first->aux_form ||
            packet->main.r[2] != body->pair || phase != (body->phase + i) % AMP_PHASES ||
            packet->main.r[3] / 2 == body->pair / 2)
            return false;
        body->packet[i] = packet;
    }
    return body->phase < AMP_PHASES && body->pair + 1 < 12;
}

/* Keeps a lag, which has to be the same in all bundles; 0: not known yet. */
static bool same_lag(unsigned *lag, unsigned bundle, const Origin *origin) {
    unsigned value = bundle - origin->bundle;
    if (*lag == 0)
        *lag = value;
    return *lag == value;
}

/* Finds where the bundle's operands come from; `writer` is what wrote each register pair before. */
static bool follow_reads(Body *body, unsigned bundle, const Packet *packet,
                         const Origin writer[4]) {
    unsigned x = packet->aux.r[1] / 2u, partial = packet->aux.r[2] / 2u;
    unsigned stored = packet->main.r[1] / 2u;
    if (x >= 4 || writer[x].kind != ORIGIN_LOAD || stored >= 4 ||
        writer[stored].kind != ORIGIN_RESULT || (partial < 4) != body->has_partials)
        return false;
    if (body->x_lag == 0)
        body->x_stream = writer[x].stream;
    if (writer[x].stream != body->x_stream || !same_lag(&body->x_lag, bundle, &writer[x]) ||
        !same_lag(&body->store_lag, bundle, &writer[stored]))
        return false;
    return !body->has_partials ||
           (writer[partial].kind == ORIGIN_LOAD && writer[partial].stream != body->x_stream &&
            same_lag(&body->partial_lag, bundle, &writer[partial]));
}

static void follow_writes(const Body *body, unsigned bundle, const Packet *packet,
                          Origin writer[4]) {
    unsigned result = packet->aux.r[0] / 2u, loaded = packet->main.r[0] / 2u;
    if (result < 4)
        writer[result] = (Origin){ORIGIN_RESULT, 0, (uint8_t)bundle};
    for (unsigned stream = 0; stream <= body->has_partials; stream++)
        if (loaded + stream < 4)
            writer[loaded + stream] = (Origin){ORIGIN_LOAD, (uint8_t)stream, (uint8_t)bundle};
}

/* Understands a body; `writer` receives what its last round leaves in the register pairs. */
static bool understand(Body *body, Origin writer[4], const Packet *first, const Packet *end) {
    if (!is_uniform(body, first, end))
        return false;
    for (unsigned bundle = 0; bundle < 2 * body->bundles; bundle++) {
        const Packet *packet = body->packet[bundle % body->bundles];
        if (bundle >= body->bundles && !follow_reads(body, bundle, packet, writer))
            return false;
        follow_writes(body, bundle, packet, writer);
    }
    return true;
}

/* Where accesses go -----------------------------------------------------------------------------*/

/* The accesses of one stream of a worker: bundle i of round r is at first + offset[i] + r * round.
 */
typedef struct Track {
    uint32_t first;
    int32_t offset[BUNDLES_MOST], round;
    uint32_t least, most; /* addresses */
    bool rising;          /* never goes back */
    bool dense;           /* one word after the other */
} Track;

typedef struct Worker {
    Context *context;
    Track track[STREAMS];
} Worker;

/* False if some access could trap by itself. */
static bool follow_track(Track *track, uint32_t address, const int32_t units[], unsigned bundles,
                         unsigned rounds) {
    int32_t at = 0, least = 0, most = 0;
    *track = (Track){.first = address, .rising = true, .dense = true};
    for (unsigned i = 0; i < bundles; i++) {
        track->offset[i] = at;
        least = MIN_OF(least, at);
        most = MAX_OF(most, at);
        track->rising &= units[i] >= 0;
        track->dense &= units[i] == 1;
        at += units[i] * CHIP_ATOM_SIZE;
    }
    track->round = at;
    int32_t last = at * (int32_t)(rounds - 1);
    int64_t first = address;
    if (address % CHIP_ATOM_SIZE != 0 || first + least + MIN_OF(last, 0) < CHIP_TILE_MEM_BASE ||
        first + most + MAX_OF(last, 0) >= CHIP_TILE_MEM_END)
        return false;
    track->least = (uint32_t)(first + least + MIN_OF(last, 0));
    track->most = (uint32_t)(first + most + MAX_OF(last, 0));
    return true;
}

static bool goes_like(const Track *one, const Track *other, unsigned bundles) {
    return one->round == other->round &&
           memcmp(one->offset, other->offset, bundles * sizeof *one->offset) == 0;
}

/* Whether two accesses of a bundle are always in different elements. */
static bool are_apart(const Track *one, const Track *other, unsigned bundles) {
    if (chip_effective_element(one->most) < chip_effective_element(other->least) ||
        chip_effective_element(other->most) < chip_effective_element(one->least))
        return true;
    return chip_interleaved(one->least) && chip_interleaved(other->least) &&
           ((one->first ^ other->first) & CHIP_ATOM_SIZE) && goes_like(one, other, bundles);
}

static bool overlap(const Track *one, const Track *other) {
    return one->least <= other->most && other->least <= one->most;
}

/* Whether nothing is loaded that the same worker has stored in these rounds. */
static bool loads_first(const Track *load, const Track *store, unsigned bundles) {
    return !overlap(load, store) ||
           (load->first > store->first && store->rising && goes_like(load, store, bundles));
}

static bool is_writable(const Tile *tile, const Track *store) {
    uint32_t last = (store->most - CHIP_TILE_MEM_BASE) >> PAGE_BITS;
    for (uint32_t i = (store->least - CHIP_TILE_MEM_BASE) >> PAGE_BITS; i <= last; i++)
        if (!tile->writable[i])
            return false;
    return true;
}

/* False unless the worker's accesses cannot trap and can be taken out of their order. */
static bool follow_worker(Worker *worker, const Body *body, unsigned rounds) {
    Context *c = worker->context;
    Pack pack = unpack(c, body->pair);
    unsigned bundles = body->bundles;
    for (unsigned stream = 0, used = 0; stream < STREAMS; stream++) {
        int32_t units[BUNDLES_MOST];
        if (stream == 1 && !body->has_partials)
            continue;
        for (unsigned i = 0; i < bundles; i++) {
            const Half *half = &body->packet[i]->main;
            units[i] = pace_units(c->m[half->r[3]], (uint32_t)half->imm >> 2 * used);
        }
        if (!follow_track(&worker->track[stream], pack.address[stream], units, bundles, rounds))
            return false;
        used++;
    }
    const Track *track = worker->track;
    if (!body->has_partials)
        worker->track[1] = track[0];
    return are_apart(&track[0], &track[STORE], bundles) &&
           are_apart(&track[1], &track[STORE], bundles) &&
           (!body->has_partials || are_apart(&track[0], &track[1], bundles)) &&
           loads_first(&track[0], &track[STORE], bundles) &&
           loads_first(&track[1], &track[STORE], bundles) && is_writable(c->tile, &track[STORE]);
}

/* Whether no worker loads or stores what another one stores. */
static bool share_nothing(const Worker workers[], unsigned count) {
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++)
            for (unsigned stream = 0; i != k && stream < STREAMS; stream++)
                if (overlap(&workers[i].track[STORE], &workers[k].track[stream]))
                    return false;
    return true;
}

/* Whether a worker has the row in progress queued, and results cannot trap. */
static bool is_ready(const Context *c, const Body *body) {
    const uint32_t traps = FLAG_INVALID | FLAG_OVERFLOW;
    return c->rows.expected == ((body->f8 ? ROW_F8 : ROW_F16) | body->phase) &&
           !(c->fp_control & traps);
}

/* Running ---------------------------------------------------------------------------------------*/

/* Words of a worker in some rounds, counted in phases from the row on that is in progress. */
typedef struct Words {
    uint64_t x[CHUNK + 2 * BUNDLES_MOST];
    uint64_t partial[CHUNK + 3 * BUNDLES_MOST]; /* of the row in which they are used */
    float sums[4 * (CHUNK + 2 * BUNDLES_MOST)]; /* of the row in which they are handed out */
    /* The same rounded, from FRONT on, and before them what the registers held that are stored. */
    uint64_t result[FRONT + CHUNK + 2 * BUNDLES_MOST];
} Words;

static void load_track(const Tile *tile, const Track *track, unsigned bundles, unsigned rounds,
                       uint64_t *words) {
    if (track->dense) {
        memory_copy_out(tile, track->first, words, 8 * (size_t)(bundles * rounds));
        return;
    }
    uint32_t base = track->first;
    for (unsigned round = 0; round < rounds; round++, base += (uint32_t)track->round)
        for (unsigned i = 0; i < bundles; i++)
            memcpy(words++, memory_at(tile, base + (uint32_t)track->offset[i]), 8);
}

static uint8_t *writable_at(const Tile *tile, uint32_t address) {
    uint32_t offset = address - CHIP_TILE_MEM_BASE;
    return tile->writable[offset >> PAGE_BITS] + offset % PAGE_BYTES;
}

static void store_track(const Tile *tile, const Track *track, unsigned bundles, unsigned rounds,
                        const uint64_t *words) {
    uint32_t base = track->first, left = 8 * bundles * rounds;
    while (track->dense && left > 0) {
        uint32_t part = MIN_OF(left, PAGE_BYTES - (base - CHIP_TILE_MEM_BASE) % PAGE_BYTES);
        memcpy(writable_at(tile, base), words, part);
        words += part / 8;
        base += part;
        left -= part;
    }
    for (unsigned round = 0; !track->dense && round < rounds; round++)
        for (unsigned i = 0; i < bundles; i++)
            memcpy(writable_at(tile,
                               base + (uint32_t)(track->offset[i] + (int32_t)round * track->round)),
                   words++, 8);
}

/* Puts what the queue and the registers hold before what the loop loads. */
static void fill_beginning(const Context *c, const Body *body, Words *words) {
    const RowQueue *rows = &c->rows;
    unsigned phase = body->phase;
    memcpy(words->x, rows->x, 8 * phase);
    memcpy(words->partial, phase ? rows->partial : rows->next, sizeof rows->partial);
    memcpy(words->partial + AMP_PHASES, rows->next, 8 * phase);
    memcpy(words->result + FRONT, rows->rounded, sizeof rows->rounded);
    memcpy(words->sums, rows->sums, sizeof rows->sums);
    for (unsigned i = 0; i < body->x_lag; i++)
        memcpy(&words->x[phase + i], &c->a[body->packet[i % body->bundles]->aux.r[1]], 8);
    for (unsigned i = 0; i < body->partial_lag; i++)
        memcpy(&words->partial[AMP_PHASES + phase + i],
               &c->a[body->packet[i % body->bundles]->aux.r[2]], 8);
}

/* Rounds again the results that are extreme, with the flags that they raise. */
static void raise_flags(Context *c, Words *words, unsigned first, unsigned count) {
    uint64_t any = 0;
    for (unsigned i = first; i < first + count; i++)
        any |= extreme_lanes(words->result[FRONT + i]);
    for (unsigned i = first; any && i < first + count; i++) {
        F16 lanes[4];
        for (unsigned lane = 0; lane < 4; lane++)
            lanes[lane] = round_f16_out(c, words->sums[4 * i + lane]);
        memcpy(&words->result[FRONT + i], lanes, 8);
    }
}

/* Leaves the queue `rows` rows later, at the same phase. */
static void leave_queue(RowQueue *queue, const Words *words, unsigned rows) {
    unsigned at = AMP_PHASES * rows;
    memcpy(queue->x, words->x + at, sizeof queue->x);
    memcpy(queue->partial, words->partial + at, sizeof queue->partial);
    memcpy(queue->next, words->partial + at + AMP_PHASES, sizeof queue->next);
    memcpy(queue->rounded, words->result + FRONT + at, sizeof queue->rounded);
    memcpy(queue->sums, words->sums + 4 * at, sizeof queue->sums);
    queue->computed = false;
}

/* Leaves the registers as the last bundles do; `at` is the phase of the last round's first one. */
static void leave_registers(Context *c, const Body *body, const Origin writer[4],
                            const Words *words, unsigned at) {
    for (unsigned i = 0; i < 4; i++) {
        unsigned phase = at + writer[i].bundle - body->bundles;
        if (writer[i].kind == ORIGIN_RESULT)
            memcpy(&c->a[2 * i], &words->result[FRONT + phase], 8);
        else if (writer[i].kind == ORIGIN_LOAD && writer[i].stream == body->x_stream)
            memcpy(&c->a[2 * i], &words->x[phase + body->x_lag], 8);
        else if (writer[i].kind == ORIGIN_LOAD)
            memcpy(&c->a[2 * i], &words->partial[AMP_PHASES + phase + body->partial_lag], 8);
    }
}

static void leave_pointers(const Worker *worker, const Body *body, unsigned rounds) {
    Pack pack = unpack(worker->context, body->pair);
    for (unsigned stream = 0; stream < STREAMS; stream++)
        if (stream != 1 || body->has_partials)
            pack.address[stream] += (uint32_t)worker->track[stream].round * rounds;
    repack(worker->context, body->pair, &pack);
}

static void run_worker(const Worker *worker, const Body *body, unsigned rounds,
                       const Origin writer[4]) {
    Context *c = worker->context;
    unsigned bundles = body->bundles, count = bundles * rounds, phase = body->phase;
    unsigned finished = (phase + count - 1) / AMP_PHASES; /* rows */
    Words words;
    if (phase == 0 && !c->rows.computed)
        rows_compute_finished(c);
    fill_beginning(c, body, &words);
    load_track(c->tile, &worker->track[body->x_stream], bundles, rounds,
               words.x + phase + body->x_lag);
    if (body->has_partials)
        load_track(c->tile, &worker->track[!body->x_stream], bundles, rounds,
                   words.partial + AMP_PHASES + phase + body->partial_lag);
    else
        memset(words.partial + AMP_PHASES + phase, 0, 8 * (size_t)count);
    AmpRows call = {.x = words.x,
                    .partial = (const F16 *)words.partial,
                    .out = (F16 *)(words.result + FRONT + AMP_PHASES),
                    .x_stride = 8 * AMP_PHASES,
                    .partial_stride = 8 * AMP_PHASES,
                    .out_stride = 8 * AMP_PHASES,
                    .rows = finished,
                    .overflow = F16_OVERFLOW_SATURATE,
                    .sums = words.sums + AMP_CHANNELS,
                    .sums_stride = AMP_CHANNELS * sizeof *words.sums};
    if (body->f8)
        amp_rows_f8(&call, exec_row_weights(c, true));
    else
        amp_rows_f16(&call, exec_row_weights(c, false));
    raise_flags(c, &words, phase, count);
    leave_queue(&c->rows, &words, finished);
    uint64_t *stored = words.result + FRONT + phase - body->store_lag;
    for (unsigned i = 0; i < body->store_lag; i++)
        memcpy(&stored[i], &c->a[body->packet[i % bundles]->main.r[1]], 8);
    store_track(c->tile, &worker->track[STORE], bundles, rounds, stored);
    leave_registers(c, body, writer, &words, phase + count - bundles);
    leave_pointers(worker, body, rounds);
}

uint32_t matrix_loop_run(Context *const contexts[], unsigned count, const Packet *begin,
                         const Packet *close, uint32_t rounds) {
    Body body = {0};
    Origin writer[4] = {{ORIGIN_ENTRY, 0, 0}};
    Worker workers[WORKERS];
    if (rounds < 2 || !understand(&body, writer, begin, close))
        return 0;
    rounds = MIN_OF(rounds, (uint32_t)CHUNK / body.bundles);
    for (unsigned i = 0; i < count; i++) {
        workers[i].context = contexts[i];
        if (!is_ready(contexts[i], &body) || !follow_worker(&workers[i], &body, rounds))
            return 0;
    }
    if (!share_nothing(workers, count))
        return 0;
    for (unsigned i = 0; i < count; i++)
        run_worker(&workers[i], &body, rounds, writer);
    return rounds;
}
