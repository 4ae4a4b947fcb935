/* Ten kinds of damage to row sets, and any flipped bit. The verifier rejects exactly those with
 * which the simulator stops or delivers another memory image: each damaged set goes through both.
 */
#include "phases.h"

#include "xchg/row.h"

/* A scheduled phase and its rows, sound at first. */
typedef struct Scene {
    TestPhase p;
    XchgSchedule schedule;
    XchgRows rows;
    uint32_t *row_address;
    Random random;
} Scene;

static uint32_t below(Scene *s, uint64_t bound) {
    return (uint32_t)random_below(&s->random, bound);
}

/* ---- phases --------------------------------------------------------------------------------- */

/* Messages into one tile whose pointers and sources fall into the same events. */
static void add_gather(TestPhase *p, Random *random) {
    uint32_t dest = p->tiles[random_below(random, p->used)];
    uint32_t words = 52 + 2 * chip_tile_row(chip_tile_physical(dest));
    for (uint32_t i = pick(random, 2, 4); i > 0; i--) {
        uint32_t source = p->tiles[random_below(random, p->used)];
        if (source == dest)
            continue;
        XchgDest to = {dest, pick_address(random, 4 * words, 4)};
        if (written_before(p, &to, words))
            continue;
        assert_int_equal(xchg_phase_add(&p->phase, source, pick_address(random, 4 * words, 4),
                                        words, &to, 1, NULL),
                         STATUS_OK);
    }
}

/* Through a tile that receives into the memory element that it sends from. */
static void add_element_mates(TestPhase *p, Random *random) {
    uint32_t tile = p->tiles[random_below(random, p->used)];
    uint32_t from = p->tiles[random_below(random, p->used)];
    uint32_t to = p->tiles[random_below(random, p->used)];
    if (from == tile || to == tile)
        return;
    uint32_t base = chip_effective_element_base(pick(random, 1, CHIP_EFFECTIVE_ELEMENTS - 1));
    uint32_t words = pick(random, 10, 200);
    XchgDest in = {tile, base + 4 * pick(random, 0, 1000)};
    XchgDest out = {to, pick_address(random, 4 * words, 4)};
    uint32_t source = base + 0x2000 + 4 * pick(random, 0, 1000);
    if (written_before(p, &in, words) || written_before(p, &out, words))
        return;
    assert_int_equal(
        xchg_phase_add(&p->phase, from, pick_address(random, 4 * words, 4), words, &in, 1, NULL),
        STATUS_OK);
    assert_int_equal(xchg_phase_add(&p->phase, tile, source, words, &out, 1, NULL), STATUS_OK);
}

static bool scene_create(Scene *s, uint64_t seed) {
    *s = (Scene){.random = random_seed(seed)};
    phase_random(&s->p, &s->random, (PhaseLimits){8, 12, 200, .write_once = true});
    add_gather(&s->p, &s->random);
    add_element_mates(&s->p, &s->random);
    XchgOptions options = {.no_pairing = below(s, 3) == 0};
    Status status =
        xchg_schedule(&s->p.phase, s->p.tile_count, &options, &s->schedule, &s->rows, NULL);
    assert_int_equal(status, STATUS_OK);
    s->row_address = place_rows(&s->rows, &s->random);
    return true;
}

static void scene_free(Scene *s) {
    mem_free(s->row_address);
    xchg_rows_free(&s->rows);
    xchg_schedule_free(&s->schedule);
    xchg_phase_free(&s->p.phase);
}

/* ---- changing rows -------------------------------------------------------------------------- */

static void replace_row(Scene *s, size_t index, const uint32_t *words, uint32_t count) {
    XchgRows rows = {0};
    for (size_t i = 0; i < s->rows.rows.count; i++) {
        XchgRow row = s->rows.rows.items[i];
        const uint32_t *from = i == index ? words : s->rows.words.items + row.first_word;
        if (rows.words.count % 2 != 0)
            assert_true(vec_push(&rows.words, 0));
        row.first_word = (uint32_t)rows.words.count;
        row.word_count = i == index ? count : row.word_count;
        for (uint32_t k = 0; k < row.word_count; k++)
            assert_true(vec_push(&rows.words, from[k]));
        assert_true(vec_push(&rows.rows, row));
        rows.max_bytes = MAX_OF(rows.max_bytes, 4 * row.word_count);
    }
    xchg_rows_free(&s->rows);
    s->rows = rows;
}

static size_t pick_row(Scene *s) {
    return below(s, s->rows.rows.count);
}

static void decode(const Scene *s, size_t index, RowProgram *program) {
    const XchgRow *row = s->rows.rows.items + index;
    uint32_t word;
    *program = (RowProgram){0};
    assert_int_equal(
        row_decode(s->rows.words.items + row->first_word, row->word_count, program, &word), ROW_OK);
}

static int compare_controls(const void *a, const void *b) {
    const RowControl *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return (int)x->stream - (int)y->stream;
}

/* Puts the program in the place of row `index`; false when no row can say it. Frees it. */
static bool encode(Scene *s, size_t index, RowProgram *program) {
    RowWords words = {0};
    int32_t event;
    if (program->controls.count > 1)
        qsort(program->controls.items, program->controls.count, sizeof *program->controls.items,
              compare_controls);
    bool ok = row_encode(program, &words, &event) == ROW_OK;
    if (ok)
        replace_row(s, index, words.items, (uint32_t)words.count);
    vec_free(&words);
    row_program_free(program);
    return ok;
}

/* A control of the row for which `wanted` holds, chosen at random; NULL if there is none. */
static RowControl *pick_control(Scene *s, RowProgram *program, bool (*wanted)(const RowControl *)) {
    RowControl *found = NULL;
    uint32_t seen = 0;
    for (size_t i = 0; i < program->controls.count; i++) {
        RowControl *c = program->controls.items + i;
        if (wanted(c) && below(s, ++seen) == 0)
            found = c;
    }
    return found;
}

static bool any_control(const RowControl *c) {
    return c->event > 0;
}

static bool is_source(const RowControl *c) {
    return c->stream == ROW_XPIC && c->value != CHIP_MUX_NEUTRAL;
}

static bool is_neutral(const RowControl *c) {
    return c->stream == ROW_XPIC && c->value == CHIP_MUX_NEUTRAL;
}

static bool is_pointer(const RowControl *c) {
    return c->stream == ROW_PIC && c->selector == 0;
}

/* ---- the damages: false when the scene offers no place for one --------------------------------
 */

static bool wrong_event(Scene *s) {
    size_t index = pick_row(s);
    RowProgram program;
    decode(s, index, &program);
    int32_t shift = (int32_t)pick(&s->random, 1, below(s, 2) ? 2 : 60);
    if (below(s, 2))
        shift = -shift;
    if (below(s, 2) && program.sends.count > 0) {
        program.sends.items[below(s, program.sends.count)].start += shift;
        return encode(s, index, &program);
    }
    RowControl *control = pick_control(s, &program, any_control);
    if (!control) {
        row_program_free(&program);
        return false;
    }
    control->event += shift;
    return encode(s, index, &program);
}

static bool wrong_source(Scene *s) {
    size_t index = pick_row(s);
    RowProgram program;
    decode(s, index, &program);
    RowControl *control = pick_control(s, &program, is_source);
    if (!control) {
        row_program_free(&program);
        return false;
    }
    uint32_t before = control->value;
    switch (below(s, 4)) {
    case 0: control->value ^= 2; break;
    case 1: control->value = below(s, CHIP_TILES); break;
    case 2: control->value = CHIP_MUX_HOST + below(s, 64); break;
    default: control->value = chip_tile_physical(s->p.tiles[below(s, s->p.used)]); break;
    }
    bool changed = control->value != before;
    return encode(s, index, &program) && changed;
}

static bool pointer_off(Scene *s) {
    size_t index = pick_row(s);
    RowProgram program;
    decode(s, index, &program);
    RowControl *control = pick_control(s, &program, is_pointer);
    if (!control) {
        row_program_free(&program);
        return false;
    }
    uint32_t before = control->value;
    switch (below(s, 3)) {
    case 0: control->value += pick(&s->random, 1, 8); break;
    case 1: control->value -= pick(&s->random, 1, 8); break;
    default: control->value = below(s, 1u << 18); break;
    }
    bool changed = control->value != before;
    return encode(s, index, &program) && changed;
}

static bool missing_neutral(Scene *s) {
    size_t index = pick_row(s);
    RowProgram program;
    decode(s, index, &program);
    RowControl *control = pick_control(s, &program, is_neutral);
    if (!control) {
        row_program_free(&program);
        return false;
    }
    *control = program.controls.items[--program.controls.count];
    return encode(s, index, &program);
}

/* Whether one of them writes what the other one reads or writes. */
static bool dependent(const XchgPhase *phase, const XchgTransfer *a, const XchgTransfer *b) {
    for (int turn = 0; turn < 2; turn++) {
        const XchgTransfer *from = turn ? a : b, *to = turn ? b : a;
        for (uint32_t i = 0; i < to->dest_count; i++) {
            const XchgDest *d = phase->dests.items + to->first_dest + i;
            if (d->tile == from->source &&
                overlap(d->address, to->words, from->address, from->words))
                return true;
            for (uint32_t k = 0; k < from->dest_count; k++) {
                const XchgDest *e = phase->dests.items + from->first_dest + k;
                if (d->tile == e->tile && overlap(d->address, to->words, e->address, from->words))
                    return true;
            }
        }
    }
    return false;
}

/* Whether dependent messages start in the order of their transfers. Rows do not show which one was
 * to be first; when both orders happen to end in one memory image, only the verifier minds. */
static bool in_order(const Scene *s) {
    for (size_t i = 0; i < s->schedule.messages.count; i++) {
        for (size_t k = 0; k < s->schedule.messages.count; k++) {
            const XchgMessage *a = s->schedule.messages.items + i;
            const XchgMessage *b = s->schedule.messages.items + k;
            if (a->transfer < b->transfer && a->start >= b->start &&
                dependent(&s->p.phase, s->p.phase.transfers.items + a->transfer,
                          s->p.phase.transfers.items + b->transfer))
                return false;
        }
    }
    return true;
}

/* Moves one message and encodes the schedule anew; false, and nothing changes, if that cannot be.
 */
static bool reschedule(Scene *s, XchgMessage *m, int32_t start) {
    XchgRows rows;
    int32_t before = m->start;
    m->start = start;
    if (start < 0 || !in_order(s) ||
        xchg_encode(&s->p.phase, s->p.tile_count, &s->schedule, &rows, NULL) != STATUS_OK) {
        m->start = before;
        return false;
    }
    xchg_rows_free(&s->rows);
    mem_free(s->row_address);
    s->rows = rows;
    s->row_address = place_rows(&s->rows, &s->random);
    return true;
}

static bool touches(const Scene *s, const XchgMessage *m, uint32_t tile) {
    const XchgTransfer *t = s->p.phase.transfers.items + m->transfer;
    return has_dest(s->p.phase.dests.items + t->first_dest, t->dest_count, tile);
}

/* A message moves into the time of another one of the same receiver, or a 64-bit one into the time
 * in which its sender's partner sends. */
static bool lanes_overlap(Scene *s) {
    if (s->schedule.messages.count < 2)
        return false;
    XchgMessage *m = s->schedule.messages.items + below(s, s->schedule.messages.count);
    const XchgMessage *other = s->schedule.messages.items + below(s, s->schedule.messages.count);
    const XchgTransfer *t = s->p.phase.transfers.items + m->transfer;
    const XchgTransfer *o = s->p.phase.transfers.items + other->transfer;
    if (m == other)
        return false;
    if (m->paired && o->source == (t->source ^ 1)) {
        int32_t start = other->start + (int32_t)below(s, other->items);
        return reschedule(s, m, start - (int32_t)below(s, m->items));
    }
    const XchgDest *dest = s->p.phase.dests.items + t->first_dest + below(s, t->dest_count);
    if (!touches(s, other, dest->tile))
        return false;
    /* Route times make the same event of both senders differ by up to 190 at the receiver. */
    uint32_t d = chip_tile_physical(dest->tile);
    int32_t shift = chip_route(chip_tile_physical(o->source), d).time -
                    chip_route(chip_tile_physical(t->source), d).time;
    int32_t start = other->start + shift + (int32_t)below(s, other->items);
    return reschedule(s, m, start - (int32_t)below(s, m->items));
}

/* A message moves into the time in which its sender receives into the element that it reads. */
static bool elements_clash(Scene *s) {
    XchgMessage *m = s->schedule.messages.items + below(s, s->schedule.messages.count);
    const XchgTransfer *t = s->p.phase.transfers.items + m->transfer;
    const XchgMessage *other = s->schedule.messages.items + below(s, s->schedule.messages.count);
    const XchgTransfer *o = s->p.phase.transfers.items + other->transfer;
    uint32_t units = chip_effective_mask(t->address, 4 * t->words);
    for (uint32_t i = 0; i < o->dest_count; i++) {
        const XchgDest *d = s->p.phase.dests.items + o->first_dest + i;
        if (d->tile != t->source || !(chip_effective_mask(d->address, 4 * o->words) & units))
            continue;
        int32_t start = other->start + (int32_t)pick(&s->random, 0, 165);
        return reschedule(s, m, start + (int32_t)below(s, o->words) - (int32_t)below(s, t->words));
    }
    return false;
}

/* Moves a row into or to the edge of a memory element that its tile sends from or receives into. */
static bool fetch_clashes(Scene *s) {
    size_t index = pick_row(s);
    const XchgRow *row = s->rows.rows.items + index;
    const XchgMessage *m = s->schedule.messages.items + below(s, s->schedule.messages.count);
    const XchgTransfer *t = s->p.phase.transfers.items + m->transfer;
    uint32_t address = 0, bytes = 4 * row->word_count;
    if (t->source == row->tile)
        address = t->address;
    for (uint32_t i = 0; i < t->dest_count; i++) {
        const XchgDest *d = s->p.phase.dests.items + t->first_dest + i;
        if (d->tile == row->tile)
            address = d->address;
    }
    if (address == 0 || address >= CHIP_REGION1_BASE)
        return false;
    uint32_t base = chip_effective_element_base(chip_effective_element(address));
    switch (below(s, 3)) {
    case 0: address = base + 8 * below(s, (CHIP_MEM_ELEM_SIZE - bytes) / 8); break;
    case 1: /* its look-ahead ends at the element or in it */
        address = (base - bytes - CHIP_FETCH_LOOKAHEAD_BYTES) / 8 * 8 + 8 * below(s, 4);
        break;
    default: address = base - 8 * pick(&s->random, 0, 12); break;
    }
    s->row_address[index] = address;
    return true;
}

#define IS_SENDPICP(word) (((word)&0xf0000000u) == 0xf0000000u)
#define IS_DELAY(word)    (((word)&0xfff80000u) == 0x40a00000u)
#define IS_SEND(word)     (((word)&0xf8000000u) == 0x78000000u)
#define IS_SENDOFF(word)  (((word)&0xf8100000u) == 0x70000000u)

/* Copies a row for changes; the first `room` words behind it are free. */
static uint32_t *copy_row(const Scene *s, size_t index, uint32_t room) {
    const XchgRow *row = s->rows.rows.items + index;
    uint32_t *words = mem_alloc(row->word_count + room, sizeof *words);
    assert_non_null(words);
    memcpy(words, s->rows.words.items + row->first_word, row->word_count * sizeof *words);
    return words;
}

/* Cuts the delay at `at` into one event and the rest; the row gets one word longer. */
static bool split_delay(uint32_t *words, uint32_t *count, uint32_t at) {
    uint32_t events = words[at] & 0x7ffff; /* less one */
    if (!IS_DELAY(words[at]) || events == 0)
        return false;
    memmove(words + at + 1, words + at, (*count - at) * sizeof *words);
    words[at] -= events;
    words[at + 1] -= 1;
    (*count)++;
    return true;
}

/* A row with the same effects in which a two-word control stands on an odd word, or which is
 * stored so. */
static bool sendpicp_misaligned(Scene *s) {
    size_t index = pick_row(s);
    uint32_t count = s->rows.rows.items[index].word_count;
    uint32_t *words = copy_row(s, index, 1);
    bool done = false;
    for (uint32_t i = 0; i < count && !done; i++) {
        if (!IS_SENDPICP(words[i]))
            continue;
        if (below(s, 2)) {
            s->row_address[index] += 4;
            done = true;
        }
        for (uint32_t k = i; k-- > 0 && !done;)
            done = split_delay(words, &count, k);
        break;
    }
    if (done)
        replace_row(s, index, words, count);
    mem_free(words);
    return done;
}

/* The message begins with an instruction that carries a control: neutral and a pointer, which
 * change nothing while the tile does not receive. */
static bool control_after_start(Scene *s) {
    size_t index = pick_row(s);
    uint32_t count = s->rows.rows.items[index].word_count, at = 0;
    uint32_t *words = copy_row(s, index, 2);
    while (at < count && !IS_SEND(words[at]))
        at += IS_SENDPICP(words[at]) ? 2 : 1;
    bool done = at < count;
    if (done && below(s, 2)) {
        words[at] = 0x70100000u | (words[at] & 63u << 21) | CHIP_MUX_NEUTRAL; /* sendpic */
    } else if (done) {
        if (at % 2 != 0)
            done = split_delay(words, &count, at - 1);
        at += at % 2;
        memmove(words + at + 2, words + at + 1, (count++ - at - 1) * sizeof *words);
        words[at] |= 0xf0000000u;
        words[at] &= ~(1u << 27);
        words[at + 1] = (uint32_t)CHIP_MUX_NEUTRAL << 18 | (PHASE_DATA / 4);
    }
    if (done)
        replace_row(s, index, words, count);
    mem_free(words);
    return done;
}

static bool row_truncated(Scene *s) {
    size_t index = pick_row(s);
    uint32_t count = s->rows.rows.items[index].word_count;
    uint32_t *words = copy_row(s, index, 1);
    uint32_t lost = pick(&s->random, 1, 3);
    count -= MIN_OF(lost, count);
    if (below(s, 2))
        words[count++] = 0x43a00000u;
    bool changed = count != s->rows.rows.items[index].word_count;
    if (changed)
        replace_row(s, index, words, count);
    mem_free(words);
    return changed;
}

/* Any bit of a row, whatever it means. */
static bool bit_flipped(Scene *s) {
    const XchgRow *row = s->rows.rows.items + pick_row(s);
    s->rows.words.items[row->first_word + below(s, row->word_count)] ^= 1u << below(s, 32);
    return true;
}

/* ---- both judges ---------------------------------------------------------------------------- */

typedef struct Damage {
    const char *name;
    bool (*inflict)(Scene *);
} Damage;

static const Damage damages[] = {
    {"wrong event", wrong_event},
    {"wrong source", wrong_source},
    {"pointer off", pointer_off},
    {"missing neutral", missing_neutral},
    {"overlap of lanes", lanes_overlap},
    {"element clash", elements_clash},
    {"fetch clash", fetch_clashes},
    {"misaligned sendpicp", sendpicp_misaligned},
    {"control at S + 1", control_after_start},
    {"truncated row", row_truncated},
    {"flipped bit", bit_flipped},
};

typedef struct Tally {
    uint32_t done, trapped, wrong_image, harmless;
} Tally;

static void judge(Board *board, Scene *s, const char *name, uint64_t seed, Tally *tally) {
    Diag diag;
    diag_init(&diag);
    Status verdict = xchg_verify(&s->p.phase, s->p.tile_count, &s->rows, s->row_address, &diag);
    board_map(board, s->p.tiles, s->p.used);
    board_expect(board, &s->p.phase);
    Status trap = board_play(board, &s->rows, s->row_address, s->p.tile_count);
    bool right = board_equal(board);
    board_undo(board);
    tally->done++;
    tally->trapped += trap != STATUS_OK;
    tally->wrong_image += trap == STATUS_OK && !right;
    tally->harmless += trap == STATUS_OK && right;
    if ((verdict == STATUS_OK) != (trap == STATUS_OK && right)) {
        diag_print(&diag, stderr);
        fail_msg("%s, seed %llu: verifier %s, simulator %s (%s), memory %s", name,
                 (unsigned long long)seed, status_code(verdict), status_code(trap),
                 trap == STATUS_OK ? "no trap" : board->trap.text, right ? "right" : "wrong");
    }
    diag_free(&diag);
}

static void test_damages(void **state) {
    Board *board = *state;
    uint32_t wanted = getenv("TW_TEST_ALL") ? 1000 : 100;
    uint64_t seed = 9000;
    printf("damages from seed %llu on\n", (unsigned long long)seed);
    for (size_t kind = 0; kind < COUNT_OF(damages); kind++) {
        Tally tally = {0};
        for (uint64_t n = 0; tally.done < wanted; n++) {
            assert_true(n < 100 * (uint64_t)wanted);
            Scene scene;
            scene_create(&scene, seed + n);
            bool done = false;
            for (int tries = 0; tries < 20 && !done; tries++)
                done = damages[kind].inflict(&scene);
            if (done)
                judge(board, &scene, damages[kind].name, seed + n, &tally);
            scene_free(&scene);
        }
        printf("%-20s %4u: %4u trap, %4u only change memory, %4u harmless\n", damages[kind].name,
               tally.done, tally.trapped, tally.wrong_image, tally.harmless);
        assert_true(tally.harmless < tally.done / 2);
    }
}

static int set_up(void **state) {
    *state = board_create();
    return 0;
}

static int tear_down(void **state) {
    board_free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damages),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
