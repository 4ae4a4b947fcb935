#include "xchg/row.h"

#include "chip/chip.h"

#include <assert.h>
#include <string.h>

#define WORD_RETURN    0x43a00000u
#define WORD_DELAY     0x40a00000u
#define WORD_DELAYPIC  0x60000000u
#define WORD_DELAYXPIC 0x64000000u
#define WORD_SEND      0x78000000u
#define WORD_SENDOFF   0x70000000u
#define WORD_SENDPIC   0x70100000u
#define WORD_SENDPICP  0xf0000000u

#define MAX_DELAY     524288
#define MAX_DELAYPIC  128
#define MAX_DELAYXPIC 4096
#define MAX_SEND      64u
#define MAX_SENDOFF   4096u

/* The instructions of a row, in an order in which each word matches one. */
typedef enum Kind {
    KIND_RETURN,
    KIND_DELAY,
    KIND_DELAYPIC,
    KIND_DELAYXPIC,
    KIND_SENDPICP,
    KIND_SENDPIC,
    KIND_SEND,
    KIND_SENDOFF,
    KIND_NONE
} Kind;

static Kind kind_of(uint32_t word) {
    static const struct {
        uint32_t mask, value;
    } kinds[] = {
        [KIND_RETURN] = {0xffffffffu, WORD_RETURN},
        [KIND_DELAY] = {0xfff80000u, WORD_DELAY},
        [KIND_DELAYPIC] = {0xfc000000u, WORD_DELAYPIC},
        [KIND_DELAYXPIC] = {0xfc000000u, WORD_DELAYXPIC},
        [KIND_SENDPICP] = {0xf0000000u, WORD_SENDPICP},
        [KIND_SENDPIC] = {0xf8100000u, WORD_SENDPIC},
        [KIND_SEND] = {0xf8000000u, WORD_SEND},
        [KIND_SENDOFF] = {0xf8100000u, WORD_SENDOFF},
    };
    int kind = KIND_RETURN;
    while (kind < KIND_NONE && (word & kinds[kind].mask) != kinds[kind].value)
        kind++;
    return (Kind)kind;
}

/* The events that an instruction takes, less one, as its word holds them. */
static uint32_t count_of(uint32_t word) {
    switch (kind_of(word)) {
    case KIND_DELAY: return word & 0x7ffff;
    case KIND_DELAYPIC: return word >> 19 & 127;
    case KIND_DELAYXPIC: return word >> 14 & 4095;
    case KIND_SENDOFF: return (word >> 21 & 63) | (word >> 14 & 63) << 6;
    default: return word >> 21 & 63;
    }
}

static uint32_t count_field(Kind kind, uint32_t count) {
    switch (kind) {
    case KIND_DELAY: return count;
    case KIND_DELAYPIC: return count << 19;
    case KIND_DELAYXPIC: return count << 14;
    case KIND_SENDOFF: return (count & 63) << 21 | (count >> 6) << 14;
    default: return count << 21;
    }
}

void row_program_free(RowProgram *program) {
    vec_free(&program->sends);
    vec_free(&program->controls);
}

const char *row_fault_text(RowFault fault) {
    switch (fault) {
    case ROW_OK: return "encoded";
    case ROW_NO_MEMORY: return "no memory left";
    case ROW_CONTROL_AT_START: return "a receive control falls one event after a send starts";
    case ROW_CONTROLS_MEET: return "two receive controls fall in one event";
    case ROW_ALIGNMENT: return "a two-word control cannot be brought to an even word";
    case ROW_RANGE: return "a value does not fit its field";
    case ROW_WORD: return "a word cannot stand there in a row";
    }
    return "unknown";
}

/* ---- encoder -------------------------------------------------------------------------------- */

typedef struct Encoder {
    const RowProgram *program;
    RowWords *words;
    size_t first;   /* index of the row's first word: parity counts from here */
    size_t segment; /* index behind the last two-word instruction, or `first` */
    int32_t t;      /* event at which the next instruction starts */
    size_t control; /* next control not yet emitted */
    int32_t at;     /* event to report */
} Encoder;

static bool on_even_word(const Encoder *e) {
    return (e->words->count - e->first) % 2 == 0;
}

static RowFault emit(Encoder *e, uint32_t word) {
    return vec_push(e->words, word) ? ROW_OK : ROW_NO_MEMORY;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        RowFault fault_ = (call);                                                                  \
        if (fault_ != ROW_OK)                                                                      \
            return fault_;                                                                         \
    } while (0)

static RowFault delay(Encoder *e, int32_t events) {
    if (events <= 0 || events > MAX_DELAY)
        return ROW_RANGE;
    e->t += events;
    return emit(e, WORD_DELAY | (uint32_t)(events - 1));
}

static RowFault delay_to(Encoder *e, int32_t event) {
    while (e->t < event)
        TRY(delay(e, MIN_OF(event - e->t, MAX_DELAY)));
    return ROW_OK;
}

/* How many controls share the event of the next one; 0 when none is left. */
static size_t group_size(const Encoder *e) {
    size_t left = e->program->controls.count - e->control;
    const RowControl *c = e->program->controls.items + e->control;
    size_t size = 0;
    while (size < left && c[size].event == c->event)
        size++;
    return size;
}

static int32_t next_event(const Encoder *e) {
    return e->control < e->program->controls.count ? e->program->controls.items[e->control].event
                                                   : INT32_MAX;
}

static bool control_fits(const RowControl *c) {
    return c->selector <= 1 && c->value < (c->stream == ROW_PIC ? 1u << 18 : 1u << 13);
}

/* Only the ordinary pointer and the ordinary source may be written in one event. */
static RowFault check_group(Encoder *e, size_t size) {
    const RowControl *c = e->program->controls.items + e->control;
    for (size_t i = 0; i < size; i++) {
        if (!control_fits(c + i))
            return ROW_RANGE;
    }
    if (size > 2 || (size == 2 && (c[0].stream == c[1].stream || c[0].selector || c[1].selector)))
        return ROW_CONTROLS_MEET;
    return ROW_OK;
}

static RowFault emit_sendpicp(Encoder *e, uint32_t events, uint32_t address, uint32_t sctl) {
    const RowControl *c = e->program->controls.items + e->control;
    const RowControl *pic = c[0].stream == ROW_PIC ? c : c + 1;
    const RowControl *xpic = c[0].stream == ROW_PIC ? c + 1 : c;
    TRY(emit(e, WORD_SENDPICP | (uint32_t)pic->selector << 27 | (events - 1) << 21 | address << 3 |
                    sctl));
    TRY(emit(e, (uint32_t)xpic->selector << 31 | xpic->value << 18 | pic->value));
    e->segment = e->words->count;
    e->control += 2;
    e->t += (int32_t)events;
    return ROW_OK;
}

/* The send control of the message that word `i` of this segment continues. */
static uint32_t stream_at(const Encoder *e, size_t i) {
    while (i-- > e->segment) {
        Kind kind = kind_of(e->words->items[i]);
        if (kind == KIND_SEND || kind == KIND_SENDOFF)
            return e->words->items[i] & 7;
    }
    assert(e->segment > e->first); /* then the two-word instruction before sends it */
    return e->words->items[e->segment - 2] & 7;
}

/* Takes one event off the instruction at word `i` and gives it to a word of its own. */
static RowFault split(Encoder *e, size_t i) {
    if (!vec_reserve(e->words, 1))
        return ROW_NO_MEMORY;
    uint32_t *words = e->words->items, word = words[i], count = count_of(word);
    Kind kind = kind_of(word);
    bool control = kind == KIND_DELAYPIC || kind == KIND_DELAYXPIC;
    /* A delay's control stands at its end: there the last event keeps the instruction. */
    uint32_t rest = control ? WORD_DELAY | (count - 1) : WORD_DELAY;
    uint32_t sctl = kind == KIND_DELAY || control ? 0
                    : kind == KIND_SENDPIC        ? stream_at(e, i)
                                                  : word & 7;
    if (sctl & ROW_SCTL_DIRECTIONS)
        rest = WORD_SENDOFF | sctl;
    words[i] = word - count_field(kind, control ? count : 1);
    size_t at = control ? i : kind == KIND_SENDPICP ? i + 2 : i + 1;
    memmove(words + at + 1, words + at, (e->words->count++ - at) * sizeof *words);
    words[at] = rest;
    return ROW_OK;
}

/* A two-word instruction is next: an even number of words must stand before it. If they are odd,
 * the last instruction that takes several events is split, at most as far back as the two-word
 * instruction before. Effects and times stay. */
static RowFault align(Encoder *e) {
    if (on_even_word(e))
        return ROW_OK;
    for (size_t i = e->words->count; i-- > e->segment;) {
        if (count_of(e->words->items[i]) > 0)
            return split(e, i);
    }
    if (e->segment > e->first && count_of(e->words->items[e->segment - 2]) > 0)
        return split(e, e->segment - 2);
    return ROW_ALIGNMENT;
}

/* One control outside any send: the delay instruction that carries it ends at its event. */
static RowFault encode_single(Encoder *e) {
    const RowControl *c = e->program->controls.items + e->control;
    int32_t most = c->stream == ROW_PIC ? MAX_DELAYPIC : MAX_DELAYXPIC;
    if (c->event <= e->t)
        return ROW_CONTROL_AT_START;
    if (c->event - e->t > most)
        TRY(delay_to(e, c->event - most));
    uint32_t count = (uint32_t)(c->event - e->t - 1);
    e->t = c->event;
    e->control++;
    if (c->stream == ROW_PIC)
        return emit(e, WORD_DELAYPIC | count << 19 | (uint32_t)c->selector << 18 | c->value);
    return emit(e, WORD_DELAYXPIC | count << 14 | (uint32_t)c->selector << 13 | c->value);
}

/* Two controls outside any send: a silent sendpicp that starts one event before them. */
static RowFault encode_double(Encoder *e, int32_t boundary) {
    int32_t start = next_event(e) - 1;
    if (start < e->t)
        return ROW_CONTROL_AT_START;
    TRY(delay_to(e, start));
    TRY(align(e));
    size_t after = e->control + 2;
    int32_t limit = after < e->program->controls.count
                        ? MIN_OF(e->program->controls.items[after].event - 1, boundary)
                        : boundary;
    if (limit <= start)
        return ROW_CONTROL_AT_START;
    return emit_sendpicp(e, (uint32_t)MIN_OF(limit - start, (int32_t)MAX_SEND), 0, 0);
}

/* Everything between the end of the last send and `boundary`. */
static RowFault encode_gap(Encoder *e, int32_t boundary) {
    while (next_event(e) <= boundary) {
        e->at = next_event(e);
        size_t size = group_size(e);
        TRY(check_group(e, size));
        TRY(size == 2 ? encode_double(e, boundary) : encode_single(e));
    }
    return delay_to(e, boundary);
}

/* `items` items of a message: send for the first ones, sendoff after. */
static RowFault encode_items(Encoder *e, const RowSend *m, uint32_t sent, uint32_t items) {
    while (items > 0) {
        uint32_t most = MIN_OF(items, sent == 0 ? MAX_SEND : MAX_SENDOFF), count = most - 1;
        TRY(emit(e, sent == 0 ? WORD_SEND | count << 21 | m->address << 3 | m->sctl
                              : WORD_SENDOFF | count_field(KIND_SENDOFF, count) | m->sctl));
        sent += most;
        items -= most;
        e->t += (int32_t)most;
    }
    return ROW_OK;
}

/* How long the merged instruction of a control group lasts: up to the next group or the end. */
static uint32_t merged_length(const Encoder *e, size_t size, int32_t end) {
    size_t after = e->control + size;
    const RowControl *c = e->program->controls.items;
    int32_t limit = end;
    if (after < e->program->controls.count && c[after].event <= end)
        limit = c[after].event - 1;
    return (uint32_t)MIN_OF(limit - e->t, (int32_t)MAX_SEND);
}

static RowFault encode_send(Encoder *e, const RowSend *m) {
    int32_t end = m->start + (int32_t)m->items;
    uint32_t sent = 0;
    while (next_event(e) <= end) {
        e->at = next_event(e);
        size_t size = group_size(e);
        TRY(check_group(e, size));
        int32_t start = e->at - 1;
        if (start < e->t || (sent == 0 && start == e->t))
            return ROW_CONTROL_AT_START;
        uint32_t before = (uint32_t)(start - e->t);
        TRY(encode_items(e, m, sent, before));
        sent += before;
        uint32_t length = merged_length(e, size, end);
        if (length == 0)
            return ROW_CONTROLS_MEET;
        if (size == 2) {
            TRY(align(e));
            TRY(emit_sendpicp(e, length, m->address + sent, m->sctl));
        } else {
            const RowControl *c = e->program->controls.items + e->control;
            uint32_t selector = (c->stream == ROW_PIC ? 2u : 0u) + c->selector;
            TRY(emit(e, WORD_SENDPIC | (length - 1) << 21 | selector << 18 | c->value));
            e->control++;
            e->t += (int32_t)length;
        }
        sent += length;
    }
    return encode_items(e, m, sent, m->items - sent);
}

RowFault row_encode(const RowProgram *program, RowWords *words, int32_t *event) {
    Encoder e = {
        .program = program, .words = words, .first = words->count, .segment = words->count};
    RowFault fault = ROW_OK;
    for (size_t i = 0; i < program->sends.count && fault == ROW_OK; i++) {
        const RowSend *m = program->sends.items + i;
        e.at = m->start;
        if (m->start < e.t || m->items == 0 || m->sctl > 7 || m->address + m->items > 1u << 18)
            fault = ROW_RANGE;
        else if ((fault = encode_gap(&e, m->start)) == ROW_OK)
            fault = encode_send(&e, m);
    }
    if (fault == ROW_OK && (int32_t)program->horizon < e.t) {
        e.at = e.t;
        fault = ROW_RANGE;
    }
    if (fault == ROW_OK)
        fault = encode_gap(&e, (int32_t)program->horizon);
    if (fault == ROW_OK && e.control < program->controls.count) {
        e.at = next_event(&e);
        fault = ROW_RANGE;
    }
    if (fault == ROW_OK)
        fault = emit(&e, WORD_RETURN);
    *event = e.at;
    return fault;
}

/* ---- decoder -------------------------------------------------------------------------------- */

typedef struct Decoder {
    RowProgram *program;
    int32_t t;
    bool sending; /* the last send may be continued at event t */
    bool out_of_memory;
} Decoder;

static bool add_control(Decoder *d, RowStream stream, uint32_t selector, uint32_t value,
                        int32_t event) {
    RowControl control = {event, (uint8_t)stream, (uint8_t)selector, value};
    d->out_of_memory = !vec_push(&d->program->controls, control);
    return !d->out_of_memory;
}

static bool start_send(Decoder *d, uint32_t items, uint32_t address, uint32_t sctl) {
    RowSend send = {d->t, items, address, sctl};
    d->t += (int32_t)items;
    d->sending = true;
    d->out_of_memory = !vec_push(&d->program->sends, send);
    return !d->out_of_memory;
}

/* Adds items to the message that is going on. */
static bool continue_send(Decoder *d, uint32_t items) {
    if (!d->sending)
        return false;
    d->program->sends.items[d->program->sends.count - 1].items += items;
    d->t += (int32_t)items;
    return true;
}

static bool decode_sendpicp(Decoder *d, uint32_t word, uint32_t second) {
    uint32_t items = count_of(word) + 1, address = word >> 3 & 0x3ffff, sctl = word & 7;
    bool ok = add_control(d, ROW_PIC, word >> 27 & 1, second & 0x3ffff, d->t + 1) &&
              add_control(d, ROW_XPIC, second >> 31, second >> 18 & 0x1fff, d->t + 1);
    if (!(sctl & ROW_SCTL_DIRECTIONS)) {
        d->t += (int32_t)items;
        d->sending = false;
        return ok;
    }
    /* A transmitting one restarts the stream at its own address: the next item of a message. */
    if (!d->sending)
        return false;
    const RowSend *last = d->program->sends.items + d->program->sends.count - 1;
    return last->sctl == sctl && last->address + last->items == address && ok &&
           continue_send(d, items);
}

static bool decode_delay(Decoder *d, Kind kind, uint32_t word) {
    d->t += (int32_t)count_of(word) + 1;
    d->sending = false;
    if (kind == KIND_DELAYPIC)
        return add_control(d, ROW_PIC, word >> 18 & 1, word & 0x3ffff, d->t);
    return kind == KIND_DELAY || add_control(d, ROW_XPIC, word >> 13 & 1, word & 0x1fff, d->t);
}

static bool decode_sendpic(Decoder *d, uint32_t word) {
    uint32_t selector = word >> 18 & 3, value = word & 0x3ffff;
    int32_t event = d->t + 1;
    return (selector >= 2 || value >> 13 == 0) && continue_send(d, count_of(word) + 1) &&
           add_control(d, selector < 2 ? ROW_XPIC : ROW_PIC, selector & 1, value, event);
}

static bool decode_word(Decoder *d, Kind kind, uint32_t word) {
    uint32_t items = count_of(word) + 1, sctl = word & 7;
    switch (kind) {
    case KIND_DELAY:
    case KIND_DELAYPIC:
    case KIND_DELAYXPIC: return decode_delay(d, kind, word);
    case KIND_SENDPIC: return decode_sendpic(d, word);
    case KIND_SEND:
        return (sctl & ROW_SCTL_DIRECTIONS) && start_send(d, items, word >> 3 & 0x3ffff, sctl);
    case KIND_SENDOFF: /* without a delta, as the stream that it continues */
        return d->sending && (word & 0x3ff8) == 0 &&
               d->program->sends.items[d->program->sends.count - 1].sctl == sctl &&
               continue_send(d, items);
    default: return false;
    }
}

/* The instruction at word `i`; the number of its words, or 0. */
static uint32_t decode_at(Decoder *d, const uint32_t *words, uint32_t i, uint32_t count) {
    Kind kind = kind_of(words[i]);
    if (d->t > INT32_MAX / 2)
        return 0;
    if (kind != KIND_SENDPICP)
        return decode_word(d, kind, words[i]) ? 1 : 0;
    return i % 2 == 0 && i + 1 < count && decode_sendpicp(d, words[i], words[i + 1]) ? 2 : 0;
}

RowFault row_decode(const uint32_t *words, uint32_t count, RowProgram *program, uint32_t *index) {
    Decoder d = {.program = program};
    for (*index = 0; *index < count;) {
        if (words[*index] == WORD_RETURN) {
            program->horizon = (uint32_t)d.t;
            ++*index;
            return ROW_OK;
        }
        uint32_t size = decode_at(&d, words, *index, count);
        if (size == 0)
            return d.out_of_memory ? ROW_NO_MEMORY : ROW_WORD;
        *index += size;
    }
    return ROW_WORD;
}

bool xchg_row_messages(const uint32_t *words, uint32_t count, uint32_t *messages,
                       uint32_t *paired) {
    RowProgram program = {0};
    uint32_t index;
    RowFault fault = row_decode(words, count, &program, &index);
    *messages = *paired = 0;
    for (size_t i = 0; fault == ROW_OK && i < program.sends.count; i++) {
        *messages += 1;
        *paired += (program.sends.items[i].sctl & ROW_SCTL_PAIRED) != 0;
    }
    row_program_free(&program);
    return fault != ROW_NO_MEMORY;
}
