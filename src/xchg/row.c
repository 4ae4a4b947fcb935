#include "xchg/row.h"

#include "chip/chip.h"

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
    }
    return "unknown";
}

/* ---- encoder -------------------------------------------------------------------------------- */

typedef struct Encoder {
    const RowProgram *program;
    RowWords *words;
    size_t first;   /* index of the row's first word: parity counts from here */
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
    e->control += 2;
    e->t += (int32_t)events;
    return ROW_OK;
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
    int32_t gap = start - e->t;
    if (gap < 0)
        return ROW_CONTROL_AT_START;
    if (gap > 0 && on_even_word(e)) {
        if (gap < 2)
            return ROW_ALIGNMENT;
        TRY(delay(e, MIN_OF(gap - 1, MAX_DELAY)));
    } else if (gap == 0 && !on_even_word(e)) {
        return ROW_ALIGNMENT;
    }
    TRY(delay_to(e, start));
    if (!on_even_word(e))
        return ROW_ALIGNMENT;
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

/* Fewest words that carry `items` more items of a message. */
static uint32_t item_words(uint32_t sent, uint32_t items) {
    if (items == 0)
        return 0;
    if (sent > 0)
        return (uint32_t)div_up(items, MAX_SENDOFF);
    return 1 + (items > MAX_SEND ? (uint32_t)div_up(items - MAX_SEND, MAX_SENDOFF) : 0);
}

/* `items` items of a message: send for the first ones, sendoff after. `words` says in how many
 * words; more than needed is fine, as long as each carries one item. */
static RowFault encode_items(Encoder *e, const RowSend *m, uint32_t sent, uint32_t items,
                             uint32_t words) {
    if (items < words)
        return ROW_ALIGNMENT;
    for (; words > 0; words--) {
        uint32_t most = MIN_OF(sent == 0 ? MAX_SEND : MAX_SENDOFF, items - (words - 1));
        uint32_t count = most - 1;
        TRY(emit(e, sent == 0 ? WORD_SEND | count << 21 | m->address << 3 | m->sctl
                              : WORD_SENDOFF | (count & 63) << 21 | (count >> 6) << 14 | m->sctl));
        sent += most;
        items -= most;
        e->t += (int32_t)most;
    }
    return ROW_OK;
}

/* How long the merged instruction of a control group may last: up to the next group or the end. */
static uint32_t merged_length(const Encoder *e, size_t size, int32_t end) {
    size_t after = e->control + size;
    const RowControl *c = e->program->controls.items;
    int32_t limit = end;
    size_t following = 0;
    if (after < e->program->controls.count && c[after].event <= end) {
        limit = c[after].event - 1;
        following = after + 1 < e->program->controls.count && c[after + 1].event == c[after].event;
    }
    uint32_t length = (uint32_t)MIN_OF(limit - e->t, (int32_t)MAX_SEND);
    /* A two-word group that follows at once on an odd word needs one item for an extra sendoff. */
    bool odd_after = (e->words->count - e->first + size) % 2 != 0;
    if (following && e->t + (int32_t)length == limit && odd_after && length > 1)
        length--;
    return length;
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
        uint32_t words = item_words(sent, before);
        /* A two-word control must start on an even word: spend one word more. */
        if (size == 2 && (e->words->count - e->first + words) % 2 != 0)
            words++;
        TRY(encode_items(e, m, sent, before, words));
        sent += before;
        uint32_t length = merged_length(e, size, end);
        if (length == 0)
            return ROW_CONTROLS_MEET;
        if (size == 2) {
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
    uint32_t rest = m->items - sent;
    return encode_items(e, m, sent, rest, item_words(sent, rest));
}

RowFault row_encode(const RowProgram *program, RowWords *words, int32_t *event) {
    Encoder e = {.program = program, .words = words, .first = words->count};
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
} Decoder;

static bool add_control(Decoder *d, RowStream stream, uint32_t selector, uint32_t value,
                        int32_t event) {
    return vec_push(&d->program->controls,
                    (RowControl){event, (uint8_t)stream, (uint8_t)selector, value});
}

static bool start_send(Decoder *d, uint32_t items, uint32_t address, uint32_t sctl) {
    RowSend send = {d->t, items, address, sctl};
    d->t += (int32_t)items;
    d->sending = true;
    return vec_push(&d->program->sends, send);
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
    uint32_t items = (word >> 21 & 63) + 1, address = word >> 3 & 0x3ffff, sctl = word & 7;
    bool ok = add_control(d, ROW_PIC, word >> 27 & 1, second & 0x3ffff, d->t + 1) &&
              add_control(d, ROW_XPIC, second >> 31, second >> 18 & 0x1fff, d->t + 1);
    if (!(sctl & ROW_SCTL_DIRECTIONS)) {
        d->t += (int32_t)items;
        d->sending = false;
        return ok;
    }
    /* A transmitting one restarts the stream at its own address: the next item of a message. */
    if (d->sending) {
        const RowSend *last = d->program->sends.items + d->program->sends.count - 1;
        if (last->sctl == sctl && last->address + last->items == address)
            return ok && continue_send(d, items);
    }
    return false;
}

static bool decode_word(Decoder *d, uint32_t word) {
    if ((word & 0xfff80000u) == WORD_DELAY) {
        d->t += (int32_t)(word & 0x7ffff) + 1;
        d->sending = false;
        return true;
    }
    if ((word & 0xfc000000u) == WORD_DELAYPIC || (word & 0xfc000000u) == WORD_DELAYXPIC) {
        bool pic = (word & 0xfc000000u) == WORD_DELAYPIC;
        d->t += (int32_t)(pic ? word >> 19 & 127 : word >> 14 & 4095) + 1;
        d->sending = false;
        return pic ? add_control(d, ROW_PIC, word >> 18 & 1, word & 0x3ffff, d->t)
                   : add_control(d, ROW_XPIC, word >> 13 & 1, word & 0x1fff, d->t);
    }
    if ((word & 0xf8100000u) == WORD_SENDPIC) {
        uint32_t selector = word >> 18 & 3;
        if (selector < 2 && (word & 0x3ffff) >> 13)
            return false;
        int32_t event = d->t + 1;
        return continue_send(d, (word >> 21 & 63) + 1) &&
               add_control(d, selector < 2 ? ROW_XPIC : ROW_PIC, selector & 1, word & 0x3ffff,
                           event);
    }
    if ((word & 0xf8000000u) == WORD_SEND) {
        return (word & ROW_SCTL_DIRECTIONS) &&
               start_send(d, (word >> 21 & 63) + 1, word >> 3 & 0x3ffff, word & 7);
    }
    if ((word & 0xf8100000u) == WORD_SENDOFF) {
        if (!d->sending || (word & 0x3ff8) ||
            d->program->sends.items[d->program->sends.count - 1].sctl != (word & 7))
            return false;
        return continue_send(d, ((word >> 21 & 63) | (word >> 14 & 63) << 6) + 1);
    }
    return false;
}

bool row_decode(const uint32_t *words, uint32_t count, RowProgram *program, uint32_t *index) {
    Decoder d = {.program = program};
    for (uint32_t i = 0; i < count; i++) {
        *index = i;
        if (d.t > INT32_MAX / 2)
            return false;
        if (words[i] == WORD_RETURN) {
            program->horizon = (uint32_t)d.t;
            *index = i + 1;
            return true;
        }
        if ((words[i] & 0xf0000000u) == WORD_SENDPICP) {
            if (i % 2 != 0 || i + 1 >= count || !decode_sendpicp(&d, words[i], words[i + 1]))
                return false;
            i++;
        } else if (!decode_word(&d, words[i])) {
            return false;
        }
    }
    *index = count;
    return false;
}
