/* Instructions: aliases, bundles, words. */
#include "asm/assembler.h"

#include "base/text.h"

#include <string.h>

/* ---- aliases: rewritten into instructions of the table */

static ParsedOperand register_operand(const Parsed *parsed, bool arithmetic, uint8_t number,
                                      uint8_t count) {
    return (ParsedOperand){
        .arithmetic = arithmetic, .number = number, .count = count, .place = parsed->place};
}

static ParsedOperand number_operand(Assembler *a, const Parsed *parsed, int64_t number) {
    return (ParsedOperand){.expr = asm_number(a, number, parsed->place), .place = parsed->place};
}

static bool is_number(const Parsed *parsed, unsigned index) {
    return index < parsed->count && parsed->operand[index].expr;
}
static bool is_register(const Parsed *parsed, unsigned index, bool arithmetic, unsigned count) {
    return index < parsed->count && !parsed->operand[index].expr &&
           parsed->operand[index].arithmetic == arithmetic && parsed->operand[index].count == count;
}

static void wrong_alias(Assembler *a, Parsed *parsed, const char *usage) {
    asm_error(a, ERR_ASM_OPERANDS, parsed->place, "expected %s", usage);
    parsed->form = ISA_INVALID;
}

static void alias_nop(Assembler *a, Parsed *parsed, bool aux) {
    if (parsed->count) {
        wrong_alias(a, parsed, aux ? "fnop without operands" : "nop without operands");
        return;
    }
    parsed->form = aux ? ISA_SETZI_A : ISA_SETZI;
    parsed->count = 2;
    parsed->operand[0] = register_operand(parsed, aux, aux ? 13 : 14, 1);
    parsed->operand[1] = number_operand(a, parsed, 0);
}

static void alias_mov(Assembler *a, Parsed *parsed) {
    if (parsed->count == 2 && is_register(parsed, 0, false, 1) && is_register(parsed, 1, true, 1)) {
        parsed->form = ISA_ATOM;
    } else if (is_register(parsed, 0, false, 1) && is_register(parsed, 1, false, 1) &&
               parsed->count == 2) {
        parsed->form = ISA_OR_U12;
        parsed->operand[2] = number_operand(a, parsed, 0);
        parsed->count = 3;
    } else if (is_register(parsed, 0, true, 1) && is_register(parsed, 1, true, 1) &&
               parsed->count == 2) {
        parsed->form = ISA_OR_A;
        parsed->operand[2] = register_operand(parsed, true, 15, 1);
        parsed->count = 3;
    } else if (is_register(parsed, 0, true, 2) && is_register(parsed, 1, true, 2) &&
               parsed->count == 2) {
        parsed->form = ISA_OR64;
        parsed->operand[2] = register_operand(parsed, true, 14, 2);
        parsed->count = 3;
    } else {
        wrong_alias(a, parsed, "mov $m, $m; $a, $a; $a0:1, $a0:1; or $m, $a");
    }
}

static void alias_zero(Assembler *a, Parsed *parsed) {
    if (parsed->count == 1 && is_register(parsed, 0, true, 2)) {
        parsed->form = ISA_OR64;
        parsed->operand[1] = parsed->operand[2] = register_operand(parsed, true, 14, 2);
        parsed->count = 3;
    } else if (parsed->count == 1 && !parsed->operand[0].expr && parsed->operand[0].count == 1) {
        parsed->form = parsed->operand[0].arithmetic ? ISA_SETZI_A : ISA_SETZI;
        parsed->operand[1] = number_operand(a, parsed, 0);
        parsed->count = 2;
    } else {
        wrong_alias(a, parsed, "zero $m, $a or $a0:1");
    }
}

/* op d, s: with zero; op d, s, number: the form with that extension. */
static void alias_short(Assembler *a, Parsed *parsed, IsaForm form, const char *usage) {
    if (parsed->count == 2)
        parsed->operand[parsed->count++] = number_operand(a, parsed, 0);
    if (parsed->count == 3 && is_number(parsed, 2))
        parsed->form = form;
    else
        wrong_alias(a, parsed, usage);
    parsed->exact = true;
}

/* sub with a number last is add of the negative. */
static void rewrite_sub(Assembler *a, Parsed *parsed) {
    if (parsed->count != 3 || !is_number(parsed, 2) || is_number(parsed, 1))
        return;
    ParsedOperand *last = &parsed->operand[2];
    last->expr = asm_unary(a, OP_NEG, last->expr, 0, last->place);
    if (!last->expr) {
        parsed->form = ISA_INVALID;
        return;
    }
    parsed->form = ISA_ADD_I16;
    parsed->exact = true;
}

/* get and put with an arithmetic register are uget and uput. */
static void rewrite_csr(Parsed *parsed, bool get) {
    if (parsed->count == 2 && is_register(parsed, get ? 0 : 1, true, 1))
        parsed->form = get ? ISA_UGET : ISA_UPUT;
}

static bool alias(Assembler *a, const Name *name, Parsed *parsed) {
    const char *word = name->text;
    size_t length = name->length;
    if (asm_word_is(word, length, "nop"))
        alias_nop(a, parsed, false);
    else if (asm_word_is(word, length, "fnop"))
        alias_nop(a, parsed, true);
    else if (asm_word_is(word, length, "mov"))
        alias_mov(a, parsed);
    else if (asm_word_is(word, length, "zero"))
        alias_zero(a, parsed);
    else if (asm_word_is(word, length, "cmpeqz"))
        alias_short(a, parsed, ISA_CMPEQ_Z16, "cmpeqz $m, $m[, number]");
    else if (asm_word_is(word, length, "addz"))
        alias_short(a, parsed, ISA_ADD_Z16, "addz $m, $m[, number]");
    else if (asm_word_is(word, length, "adds"))
        alias_short(a, parsed, ISA_ADD_I16, "adds $m, $m[, number]");
    else if (asm_word_is(word, length, "strap"))
        parsed->form = ISA_TRAP;
    else
        return false;
    return true;
}

/* ---- words */

static void set_words(Section *section, const Packet *packet, const uint32_t *words) {
    if (section->flags & ASM_NOBITS)
        return;
    for (uint32_t i = 0; i < packet->size; i++)
        section->bytes.items[packet->offset + i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
}

static void add_reloc(Assembler *a, Section *section, const Packet *packet, unsigned half,
                      const Match *match) {
    if (!match->symbol)
        return;
    if (match->addend < INT32_MIN || match->addend > INT32_MAX) {
        asm_error(a, ERR_ASM_RANGE, packet->half[half]->place, "this offset is too large");
        return;
    }
    PendingReloc reloc = {{.offset = packet->offset + 4 * half,
                           .addend = (int32_t)match->addend,
                           .line = packet->line,
                           .type = match->reloc},
                          match->symbol};
    ASM_PUSH(a, &section->relocs, reloc);
}

/* Matches both halves and writes the words. False: it must wait for labels, or an error was told.
 */
static bool encode_packet(Assembler *a, Section *section, Packet *packet, bool final) {
    Match match[2];
    unsigned halves = packet->half[1] ? 2 : 1;
    for (unsigned i = 0; i < halves; i++) {
        match[i] = asm_match(a, packet->half[i], final);
        if (match[i].known == INVALID)
            return false;
        if (match[i].known == UNKNOWN) {
            packet->pending = true;
            return false;
        }
        packet->instr[i] = match[i].instr;
    }
    packet->relocated = match[0].symbol != NULL;
    uint32_t words[2] = {0};
    if (halves == 2) {
        isa_encode_bundle(&match[0].instr, &match[1].instr, words);
        asm_check_overlap(a, packet->half, packet->instr);
    } else {
        isa_encode(&match[0].instr, words);
    }
    for (unsigned i = 0; i < halves; i++) {
        asm_check_operands(a, packet->half[i], &match[i].instr);
        if (match[i].pattern)
            asm_warning(a, ERR_ASM_DIALECT, packet->half[i]->place,
                        "a number above 0x7FFFFFFF is taken for the negative one of its 32 bits");
        add_reloc(a, section, packet, i, &match[i]);
    }
    set_words(section, packet, words);
    return true;
}

void asm_encode_pending(Assembler *a, Section *section) {
    for (size_t i = 0; i < section->packets.count; i++)
        if (section->packets.items[i].pending)
            encode_packet(a, section, &section->packets.items[i], true);
}

static const Parsed *keep(Assembler *a, const Parsed *parsed) {
    Parsed *copy = ASM_NEW(a, Parsed, 1);
    *copy = *parsed;
    return copy;
}

/* Emits one instruction, or a bundle of two. `likely` are forms of the right lane and size. */
static void emit_packet(Assembler *a, const Parsed *first, const Parsed *second,
                        const IsaInstr likely[2]) {
    Section *section = asm_current(a);
    if (section->size % 4) {
        asm_error(a, ERR_ASM_DIRECTIVE, first->place,
                  "an instruction must stand at a multiple of 4: use .align 4");
        return;
    }
    const IsaFormInfo *info = isa_form_info((IsaForm)likely[0].form);
    Packet packet = {.size = second ? 8 : info->size,
                     .half = {keep(a, first), second ? keep(a, second) : NULL},
                     .instr = {likely[0], likely[1]},
                     .unchecked = a->allow_repeat,
                     .labelled = section->labelled};
    section->labelled = false;
    if (!second && packet.size == 8 && section->size % 8) {
        asm_error(a, ERR_ASM_OPERANDS, first->place,
                  "%s must stand at a multiple of 8: use .align 8", info->mnemonic);
        return;
    }
    if ((!second && packet.size == 8) || (info->flags & ISA_F_REPEAT))
        section->align = MAX_OF(section->align, 8);
    packet.offset = asm_emit(a, NULL, packet.size, first->place);
    packet.line = asm_add_line(a, packet.offset, packet.size, true, first->place);
    if (a->stop)
        return;
    encode_packet(a, section, &packet, false);
    ASM_PUSH(a, &section->packets, packet);
}

/* ---- one instruction */

/* A single instruction, or the next half of the open bundle. */
static void take_instruction(Assembler *a, const Parsed *parsed) {
    if (!a->bundle.open) {
        Match match = asm_match(a, parsed, false);
        if (match.known == INVALID)
            return;
        asm_check_mode(a, parsed, &match.instr);
        emit_packet(a, parsed, NULL, (IsaInstr[2]){match.instr});
        return;
    }
    if (a->bundle.count < 2)
        a->bundle.half[a->bundle.count] = *parsed;
    else if (a->bundle.count == 2)
        asm_error(a, ERR_ASM_BUNDLE, parsed->place,
                  "a bundle has two instructions, this is a third");
    a->bundle.count++;
}

/* setzi with the low 20 bits, then or with the high 12 if they are not zero. */
static void load_constant(Assembler *a, Parsed *parsed) {
    if (parsed->count != 2 || parsed->operand[0].expr || parsed->operand[0].count != 1 ||
        !is_number(parsed, 1)) {
        wrong_alias(a, parsed, "ldconst $m or $a, number");
        return;
    }
    bool arithmetic = parsed->operand[0].arithmetic;
    parsed->form = arithmetic ? ISA_SETZI_A : ISA_SETZI;
    Value value;
    const char *why = "";
    Known known = asm_evaluate(a, parsed->operand[1].expr, false, &value, &why);
    if (known != KNOWN || value.base) {
        take_instruction(a, parsed);
        return;
    }
    if (value.number < INT32_MIN || value.number > UINT32_MAX) {
        asm_error(a, ERR_ASM_RANGE, parsed->operand[1].place, "%lld does not fit into 32 bits",
                  (long long)value.number);
        return;
    }
    uint32_t bits = (uint32_t)value.number;
    parsed->operand[1].expr = asm_number(a, bits & 0xFFFFF, parsed->place);
    if (bits >> 20 == 0) {
        take_instruction(a, parsed);
    } else if (a->bundle.open && (bits & 0xFFFFF) == 0) {
        parsed->form = arithmetic ? ISA_OR_A_HI12 : ISA_OR_HI12;
        parsed->exact = true;
        parsed->operand[1] = register_operand(parsed, arithmetic, 15, 1);
        parsed->operand[2] = number_operand(a, parsed, bits);
        parsed->count = 3;
        asm_warning(a, ERR_ASM_DIALECT, parsed->place,
                    "ldconst of 0x%X in a bundle becomes one `or` with zero", bits);
        take_instruction(a, parsed);
    } else if (a->bundle.open) {
        asm_error(a, ERR_ASM_BUNDLE, parsed->place,
                  "ldconst of 0x%X takes two instructions and cannot stand in a bundle", bits);
    } else {
        take_instruction(a, parsed);
        parsed->form = arithmetic ? ISA_OR_A_HI12 : ISA_OR_HI12;
        parsed->exact = true;
        parsed->operand[1] = parsed->operand[0];
        parsed->operand[2] = number_operand(a, parsed, bits & 0xFFF00000);
        parsed->count = 3;
        take_instruction(a, parsed);
    }
}

static IsaForm form_of(const char *text, size_t length) {
    char word[24] = {0};
    if (length >= sizeof word)
        return ISA_INVALID;
    for (size_t i = 0; i < length; i++)
        word[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    return isa_form_next(word, ISA_INVALID);
}

/* Finds the mnemonic, once for each name; `add.i16` is the form ADD_I16. */
static void find_form(Name *name, Parsed *parsed) {
    const char *dot = memchr(name->text, '.', name->length);
    if (name->form < 0)
        name->form = (int32_t)form_of(name->text, dot ? (size_t)(dot - name->text) : name->length);
    parsed->form = (IsaForm)name->form;
    parsed->word = name->text;
    parsed->suffix = dot ? dot + 1 : NULL;
    while (dot && parsed->form && !isa_form_has_suffix(parsed->form, dot + 1, strlen(dot + 1)))
        parsed->form = isa_form_next(isa_form_info(parsed->form)->mnemonic, parsed->form);
}

static void unknown_instruction(Assembler *a, const Name *name, Place place) {
    asm_error(a, ERR_ASM_MNEMONIC, place, "there is no instruction or macro `%s`", name->text);
    Nearest nearest = nearest_begin(name->text);
    for (IsaForm form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++)
        nearest_offer(&nearest, isa_form_info(form)->mnemonic);
    for (size_t i = 0; i < a->names.count; i++)
        if (a->names.items[i] && a->names.items[i]->macro)
            nearest_offer(&nearest, a->names.items[i]->text);
    if (nearest.best)
        diag_fix(a->diag, "did you mean %s?", nearest.best);
}

void asm_instruction(Assembler *a, Name *name, Cursor *cursor, Place place) {
    Parsed parsed = {.mode = (uint8_t)a->mode, .place = place};
    while (!asm_at_end(cursor)) {
        if (parsed.count == ISA_MAX_OPERANDS) {
            asm_error(a, ERR_ASM_OPERANDS, asm_cursor_place(a, cursor), "too many operands");
            return;
        }
        if (!asm_operand(a, cursor, &parsed.operand[parsed.count]))
            return;
        parsed.count++;
        if (!asm_take(cursor, ',')) {
            if (!asm_expect_end(a, cursor))
                return;
            break;
        }
        if (asm_at_end(cursor)) {
            asm_error(a, ERR_ASM_SYNTAX, asm_cursor_place(a, cursor),
                      "an operand is missing after the comma");
            return;
        }
    }
    find_form(name, &parsed);
    if (asm_word_is(name->text, name->length, "ldconst")) {
        load_constant(a, &parsed);
        return;
    }
    if (parsed.form == ISA_INVALID && !alias(a, name, &parsed)) {
        unknown_instruction(a, name, place);
        return;
    }
    if (parsed.form == ISA_SUB && !parsed.suffix)
        rewrite_sub(a, &parsed);
    else if (parsed.form == ISA_GET || parsed.form == ISA_PUT)
        rewrite_csr(&parsed, parsed.form == ISA_GET);
    if (parsed.form != ISA_INVALID)
        take_instruction(a, &parsed);
}

/* ---- bundles */

void asm_open_bundle(Assembler *a, Place place) {
    if (a->bundle.open)
        asm_error(a, ERR_ASM_BUNDLE, place, "a bundle inside a bundle");
    else
        a->bundle = (Bundle){.open = true, .place = place, .errors = a->errors};
}

/* Invalid bundles are errors, or after .warn_on_invalid_bundles warnings: then the instructions go
 * out one by one. */
static void invalid_bundle(Assembler *a, Bundle *bundle, const char *why) {
    if (!a->warn_bundles) {
        asm_error(a, ERR_ASM_BUNDLE, bundle->place, "%s", why);
        return;
    }
    asm_warning(a, ERR_ASM_BUNDLE, bundle->place, "%s", why);
    for (unsigned i = 0; i < bundle->count && i < 2; i++)
        take_instruction(a, &bundle->half[i]);
}

void asm_close_bundle(Assembler *a, Place place) {
    Bundle bundle = a->bundle;
    if (!bundle.open) {
        asm_error(a, ERR_ASM_BUNDLE, place, "`}` without `{`");
        return;
    }
    a->bundle.open = false;
    if (bundle.count > 2)
        return;
    if (bundle.count < 2) {
        /* Nothing to say if the missing half is one with an error. */
        if (bundle.count == 1 && a->errors == bundle.errors)
            invalid_bundle(a, &bundle, "a bundle has two instructions, this one has one");
        else if (a->errors == bundle.errors)
            asm_error(a, ERR_ASM_BUNDLE, bundle.place, "an empty bundle");
        return;
    }
    IsaInstr likely[2];
    IsaLane lane[2];
    for (unsigned i = 0; i < 2; i++) {
        Match match = asm_match(a, &bundle.half[i], false);
        if (match.known == INVALID)
            return;
        likely[i] = match.instr;
        lane[i] = isa_form_info((IsaForm)match.instr.form)->lane;
        asm_check_mode(a, &bundle.half[i], &match.instr);
    }
    unsigned first = 0;
    if (lane[0] == lane[1]) {
        invalid_bundle(a, &bundle,
                       lane[0] == ISA_LANE_MAIN
                           ? "both instructions of this bundle are for the main lane"
                           : "both instructions of this bundle are for the aux lane");
        return;
    }
    if (lane[0] == ISA_LANE_AUX) {
        if (!a->allow_optimizations) {
            invalid_bundle(a, &bundle, "a bundle is a main instruction, then an aux instruction");
            return;
        }
        first = 1;
    }
    if (a->mode == ISA_SUPERVISOR && !a->allow_mode) {
        asm_error(a, ERR_ASM_MODE, bundle.place, "supervisor code has no bundles");
        return;
    }
    if (isa_form_info((IsaForm)likely[first].form)->size == 8) {
        asm_error(a, ERR_ASM_BUNDLE, bundle.place, "sendpicp cannot stand in a bundle");
        return;
    }
    emit_packet(a, &bundle.half[first], &bundle.half[1 - first],
                (IsaInstr[2]){likely[first], likely[1 - first]});
}
