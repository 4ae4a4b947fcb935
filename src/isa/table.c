#include "isa/table.h"

#include "base/mem.h"
#include "base/random.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* isa.def as text; parsed once into `rows`. */
typedef struct Source {
    const char *id, *mnemonic, *operands, *encoding, *effect;
    IsaLane lane;
    IsaMode modes;
    unsigned slots, flags;
    IsaEncoding encoding_class;
    ChipEvidence evidence;
} Source;

static const Source sources[ISA_FORM_COUNT] = {
#define FORM(id, mnemonic, operands, lane, modes, slots, flags, encoding, class, evidence, effect) \
    [ISA_##id] = {#id,         mnemonic, operands, encoding,    effect,         ISA_LANE_##lane,   \
                  ISA_##modes, slots,    flags,    ISA_##class, CHIP_##evidence},
#include "isa/isa.def"
#undef FORM
};

static IsaRow rows[ISA_FORM_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Mnemonic -> first form, open addressing. */
#define NAME_SLOTS 1024
static uint16_t name_slots[NAME_SLOTS];

/* Word -> form: forms that may start with a top byte differ in few masks, so a word is looked up
 * once for each mask of its top byte in one open-addressed table of fixed values. */
#define WORD_SLOTS 1024
#define MAX_MASKS  8
static uint16_t word_slots[WORD_SLOTS];
static struct {
    uint32_t mask[MAX_MASKS];
    unsigned count;
} top_bytes[256];

static unsigned word_hash(uint32_t value, uint32_t mask) {
    uint64_t mixed = (value ^ ((uint64_t)mask << 32)) * 0x9E3779B97F4A7C15u;
    return (unsigned)(mixed >> 54);
}

static const struct {
    const char *token;
    IsaKind kind;
    uint8_t bits;
} kinds[] = {
    {"m", ISA_KIND_M, 0},       {"mz", ISA_KIND_MZ, 0},       {"a", ISA_KIND_A, 0},
    {"m2", ISA_KIND_M2, 0},     {"a2", ISA_KIND_A2, 0},       {"a4", ISA_KIND_A4, 0},
    {"aB", ISA_KIND_AB, 0},     {"aBL", ISA_KIND_ABL, 0},     {"aBU", ISA_KIND_ABU, 0},
    {"m+=", ISA_KIND_M_INC, 0}, {"m2+=", ISA_KIND_M2_INC, 0}, {"m++", ISA_KIND_M_PP, 0},
    {"m@", ISA_KIND_M_AT, 0},   {"m>>", ISA_KIND_M_SHR, 0},   {"hi12", ISA_KIND_HI12, 32},
    {"csr", ISA_KIND_CSR, 8},   {"ucsr", ISA_KIND_UCSR, 8},   {"target", ISA_KIND_TARGET, 21},
};

static void parse_kind(IsaOperand *operand, const char *token, size_t length) {
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strlen(kinds[i].token) == length && memcmp(kinds[i].token, token, length) == 0) {
            operand->kind = (uint8_t)kinds[i].kind;
            operand->bits = kinds[i].bits;
            return;
        }
    }
    assert(token[0] == 'u' || token[0] == 'i' || token[0] == 'e');
    operand->kind = token[0] == 'u'   ? ISA_KIND_UNSIGNED
                    : token[0] == 'i' ? ISA_KIND_SIGNED
                                      : ISA_KIND_EVEN;
    operand->bits = (uint8_t)strtoul(token + 1, NULL, 10);
    assert(operand->bits >= 1 && operand->bits <= 20);
}

/* "=d:m s:m i:u12" */
static void parse_operands(IsaFormInfo *info) {
    for (const char *at = info->operands; *at;) {
        assert(info->operand_count < ISA_MAX_OPERANDS);
        IsaOperand *operand = &info->operand[info->operand_count++];
        operand->written = *at == '=' || *at == '+';
        operand->read = *at != '=';
        at += operand->written;
        size_t name = strcspn(at, ":");
        assert(name < sizeof operand->name && at[name] == ':');
        memcpy(operand->name, at, name);
        at += name + 1;
        size_t kind = strcspn(at, " ");
        parse_kind(operand, at, kind);
        if (operand->kind >= ISA_KIND_M_INC && operand->kind <= ISA_KIND_M_SHR)
            operand->read = operand->written = true;
        at += kind;
        at += *at == ' ';
    }
}

static uint8_t operand_by_name(const IsaFormInfo *info, const char *name, size_t length) {
    for (unsigned i = 0; i < info->operand_count; i++)
        if (strlen(info->operand[i].name) == length &&
            memcmp(info->operand[i].name, name, length) == 0)
            return (uint8_t)i;
    assert(false && "a field names no operand");
    return 0;
}

/* "13080000 s@20:4 t@0:19>>2" */
static void parse_encoding(IsaRow *row) {
    char *end;
    row->value = strtoul(row->info.encoding, &end, 16);
    uint64_t covered = 0;
    row->info.size = 4;
    while (*end == ' ') {
        const char *name = end + 1;
        size_t length = strcspn(name, "@");
        assert(name[length] == '@' && row->field_count < ISA_MAX_FIELDS);
        IsaField *field = &row->field[row->field_count++];
        field->operand = operand_by_name(&row->info, name, length);
        field->lowest = (uint8_t)strtoul(name + length + 1, &end, 10);
        assert(*end == ':');
        field->width = (uint8_t)strtoul(end + 1, &end, 10);
        if (end[0] == '>' && end[1] == '>')
            field->shift = (uint8_t)strtoul(end + 2, &end, 10);
        uint64_t bits = ((1ull << field->width) - 1) << field->lowest;
        assert((covered & bits) == 0 && (row->value & bits) == 0);
        covered |= bits;
        if (field->lowest >= 32)
            row->info.size = 8;
    }
    assert(*end == 0);
    row->mask = ~covered & (row->info.size == 8 ? UINT64_MAX : UINT32_MAX);
}

static void insert_name(IsaForm form) {
    unsigned slot = (unsigned)fnv1a64(rows[form].info.mnemonic) % NAME_SLOTS;
    for (; name_slots[slot]; slot = (slot + 1) % NAME_SLOTS) {
        IsaRow *row = &rows[name_slots[slot]];
        if (strcmp(row->info.mnemonic, rows[form].info.mnemonic) == 0) {
            while (row->next)
                row = &rows[row->next];
            row->next = (uint16_t)form;
            return;
        }
    }
    name_slots[slot] = (uint16_t)form;
}

static void insert_word(IsaForm form) {
    uint32_t value = (uint32_t)rows[form].value, mask = (uint32_t)rows[form].mask;
    unsigned slot = word_hash(value, mask);
    while (word_slots[slot])
        slot = (slot + 1) % WORD_SLOTS;
    word_slots[slot] = (uint16_t)form;
    for (uint32_t top = 0; top < 256; top++) {
        if (((top << 24 ^ value) & mask) >> 24)
            continue;
        unsigned i = 0;
        while (i < top_bytes[top].count && top_bytes[top].mask[i] != mask)
            i++;
        assert(i < MAX_MASKS);
        top_bytes[top].mask[i] = mask;
        if (i == top_bytes[top].count)
            top_bytes[top].count++;
    }
}

static void build(void) {
    for (IsaForm form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const Source *source = &sources[form];
        rows[form].info = (IsaFormInfo){
            .id = source->id,
            .mnemonic = source->mnemonic,
            .operands = source->operands,
            .encoding = source->encoding,
            .effect = source->effect,
            .lane = source->lane,
            .modes = source->modes,
            .slots = source->slots,
            .flags = source->flags,
            .encoding_class = source->encoding_class,
            .evidence = source->evidence,
        };
        parse_operands(&rows[form].info);
        parse_encoding(&rows[form]);
        insert_name(form);
        insert_word(form);
    }
}

const IsaRow *isa_rows(void) {
    pthread_once(&once, build);
    return rows;
}

IsaForm isa_lookup_word(uint32_t word) {
    pthread_once(&once, build);
    for (unsigned i = 0; i < top_bytes[word >> 24].count; i++) {
        uint32_t mask = top_bytes[word >> 24].mask[i], key = word & mask;
        for (unsigned slot = word_hash(key, mask); word_slots[slot];
             slot = (slot + 1) % WORD_SLOTS) {
            const IsaRow *row = &rows[word_slots[slot]];
            if ((uint32_t)row->value == key && (uint32_t)row->mask == mask)
                return (IsaForm)word_slots[slot];
        }
    }
    return ISA_INVALID;
}

const IsaFormInfo *isa_form_info(IsaForm form) {
    assert(form > ISA_INVALID && form < ISA_FORM_COUNT);
    return &isa_rows()[form].info;
}

IsaForm isa_form_next(const char *mnemonic, IsaForm last) {
    const IsaRow *table = isa_rows();
    if (last != ISA_INVALID)
        return (IsaForm)table[last].next;
    for (unsigned slot = (unsigned)fnv1a64(mnemonic) % NAME_SLOTS; name_slots[slot];
         slot = (slot + 1) % NAME_SLOTS)
        if (strcmp(table[name_slots[slot]].info.mnemonic, mnemonic) == 0)
            return (IsaForm)name_slots[slot];
    return ISA_INVALID;
}

bool isa_form_has_suffix(IsaForm form, const char *suffix, size_t length) {
    const char *id = isa_form_info(form)->id;
    size_t whole = strlen(id);
    return whole > length + 1 && id[whole - length - 1] == '_' &&
           strncasecmp(id + whole - length, suffix, length) == 0;
}

const char *isa_tested_by(const char *mnemonic) {
    static const struct {
        const char *mnemonic, *test;
    } tested[] = {
#define TESTED(mnemonic, test) {mnemonic, test},
#include "isa/tested.def"
#undef TESTED
    };
    for (size_t i = 0; i < COUNT_OF(tested); i++)
        if (strcmp(tested[i].mnemonic, mnemonic) == 0)
            return tested[i].test;
    return NULL;
}
