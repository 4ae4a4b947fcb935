#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "isa/isa.h"
#include "isa/table.h"

#include <stdlib.h>
#include <string.h>

/* Every encoding that public material gives: words of LLVM's MC tests, ipu-stack and
 * graphcore-ipu-research. `and` with an immediate has operation 8 (see docs/chip/encoding.md). */
static const struct {
    uint32_t words[2];
    const char *text;
} known[] = {
    {{0x19E00000, 0}, "nop"},
    {{0x19800640, 0}, "setzi $m8, 1600"},
    {{0x438080A6, 0}, "put 166, $m8"},
    {{0x43F080A7, 0}, "put 167, $mzero"},
    {{0x436080A7, 0}, "put 167, $m6"},
    {{0x18A13040, 0}, "call $m10, 0x4c100"},
    {{0x43A00000, 0}, "br $m10"},
    {{0x13013040, 0}, "brz $m0, 0x4c100"},
    {{0x11013040, 0}, "brnz $m0, 0x4c100"},
    {{0x13093040, 0}, "brnzdec $m0, 0x4c100"},
    {{0x40813040, 0}, "bri 0x4c100"},
    {{0x01B8F001, 0}, "ld32 $m8, $m11, $mzero, 1"},
    {{0x4FB2F000, 0}, "st32 $m2, $m11, $mzero, 0"},
    {{0x22BBFFE0, 0}, "add $m11, $m11, -32"},
    {{0x42808001, 0}, "and $m0, $m8, 1"},
    {{0x427AA002, 0}, "shl $m10, $m7, 2"},
    {{0x42219003, 0}, "or $m1, $m2, 3"},
    {{0x4221C003, 0}, "or $m1, $m2, 0x300000"},
    {{0x4221B003, 0}, "andc $m1, $m2, 3"},
    {{0x4221D003, 0}, "shr $m1, $m2, 3"},
    {{0x44203311, 0}, "or $m1, $m2, $m3"},
    {{0x44203112, 0}, "cmpeq $m1, $m2, $m3"},
    {{0x28210003, 0}, "cmpeq $m1, $m2, 3"},
    {{0x2A210003, 0}, "cmpult $m1, $m2, 3"},
    {{0x41050001, 0}, "get $m5, 1"},
    {{0x41800000, 0}, "sync 0"},
    {{0x41800001, 0}, "sync 1"},
    {{0x41800002, 0}, "sync 2"},
    {{0x41800003, 0}, "sync 3"},
    {{0x41800007, 0}, "sync 7"},
    {{0x4180000F, 0}, "sync 15"},
    {{0x41801001, 0}, "trap 1"},
    {{0x40C00000, 0}, "sans 0"},
    {{0x40C00001, 0}, "sans 1"},
    {{0x4D000805, 0}, "ld128 $a0:3, $m0, $m0, $m0"},
    {{0x56402800, 0}, "ld2xst64pace $a0:3, $a0:1, $m2:3+=, $m4, 0"},
    {{0x40A00016, 0}, "delay 22"},
    {{0x61998000, 0}, "delaypic 51, 0, 0x18000"},
    {{0x63FC0002, 0}, "delaypic 127, 1, 2"},
    {{0x641C0400, 0}, "delayxpic 112, 0, 1024"},
    {{0x67FFC640, 0}, "delayxpic 4095, 0, 1600"},
    {{0x78400001, 0}, "send 2, 0, 1"},
    {{0x7B6A0241, 0}, "send 27, 0x14048, 1"},
    {{0x782A03CB, 0}, "send 1, 0x14079, 3"},
    {{0x7FE50005, 0}, "send 63, 0xa000, 5"},
    {{0x70000001, 0}, "sendoff 0, 0, 1"},
    {{0x70004003, 0}, "sendoff 64, 0, 3"},
    {{0x766FC001, 0}, "sendoff 4083, 0, 1"},
    {{0x77EFC002, 0}, "sendoff 4095, 0, 2"},
    {{0x70F00640, 0}, "sendpic 7, 0, 1600"},
    {{0x71F95000, 0}, "sendpic 15, 2, 0x15000"},
    {{0xF54A0109, 0x19015000}, "sendpicp 42, 0x14021, 1, 0, 0, 1600, 0x15000"},
    {{0xF6600000, 0x03014048}, "sendpicp 51, 0, 0, 0, 0, 192, 0x14048"},
    {{0xF8000000, 0x80140002}, "sendpicp 0, 0, 0, 1, 1, 5, 2"},
};

static void test_known_words(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        IsaInstr instr;
        unsigned size = isa_decode(known[i].words, 2, &instr);
        assert_int_equal(size, known[i].words[0] >> 28 == 0xF ? 8 : 4);
        char text[ISA_TEXT_SIZE];
        isa_disassemble(&instr, ISA_BOTH, text);
        assert_string_equal(text, known[i].text);
        uint32_t words[2];
        assert_int_equal(isa_encode(&instr, words), size);
        assert_int_equal(words[0], known[i].words[0]);
        assert_int_equal(words[1], known[i].words[1]);
        assert_int_not_equal(isa_form_info(instr.form)->encoding_class, ISA_OURS);
    }
}

static int32_t random_operand(Random *random, const IsaOperand *operand) {
    bool arithmetic;
    unsigned registers = isa_operand_registers(operand, &arithmetic);
    if (registers)
        return (int32_t)(random_below(random, 16 / registers) * registers);
    int64_t least, greatest;
    isa_operand_range(operand, &least, &greatest);
    uint64_t pick = random_below(random, 8);
    int64_t value = pick == 0 ? least
                    : pick == 1
                        ? greatest
                        : least + (int64_t)random_below(random, (uint64_t)(greatest - least) + 1);
    if (operand->kind == ISA_KIND_HI12)
        value &= ~(int64_t)0xFFFFF;
    if (operand->kind == ISA_KIND_TARGET)
        value &= ~(int64_t)3;
    if (operand->kind == ISA_KIND_EVEN)
        value &= ~(int64_t)1;
    assert_true(isa_operand_valid(operand, value));
    return (int32_t)value;
}

/* How many values an operand has, and the one of a number below that. */
static uint64_t value_count(const IsaOperand *operand) {
    bool arithmetic;
    unsigned registers = isa_operand_registers(operand, &arithmetic);
    if (registers)
        return 16 / registers;
    switch (operand->kind) {
    case ISA_KIND_HI12: return 1u << 12;
    case ISA_KIND_TARGET: return 1u << 19;
    case ISA_KIND_EVEN: return 1u << (operand->bits - 1);
    default: return 1ull << operand->bits;
    }
}

static int32_t nth_value(const IsaOperand *operand, uint64_t n) {
    bool arithmetic;
    unsigned registers = isa_operand_registers(operand, &arithmetic);
    if (registers)
        return (int32_t)(n * registers);
    switch (operand->kind) {
    case ISA_KIND_HI12: return (int32_t)(uint32_t)(n << 20);
    case ISA_KIND_TARGET: return (int32_t)(n << 2);
    case ISA_KIND_EVEN: return (int32_t)(n << 1);
    case ISA_KIND_SIGNED: return (int32_t)n - (1 << (operand->bits - 1));
    default: return (int32_t)n;
    }
}

static void check_round_trip(const IsaInstr *instr) {
    uint32_t words[2], again[2];
    IsaInstr back;
    unsigned size = isa_encode(instr, words);
    if (isa_decode(words, 2, &back) != size || instr->form != back.form ||
        memcmp(instr->operand, back.operand, sizeof back.operand) != 0 ||
        isa_encode(&back, again) != size || memcmp(words, again, sizeof words) != 0)
        fail_msg("%s: 0x%08X does not come back", isa_form_info((IsaForm)instr->form)->id,
                 words[0]);
}

/* Encode, decode, encode: every instruction of a form that has fewer than 2^24, a million at random
 * of the others. That is the whole test; without TW_TEST_ALL a tenth of a second of it. */
static void test_round_trip(void **state) {
    (void)state;
    uint64_t seed = 1, exhaustive = 0, checked = 0;
    bool all = getenv("TW_TEST_ALL") != NULL;
    const uint64_t limit = all ? 1u << 24 : 1u << 13, turns = all ? 1000000 : 1000;
    Random random = random_seed(seed);
    for (IsaForm form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info(form);
        uint64_t combinations = 1;
        for (unsigned i = 0; i < info->operand_count && combinations <= 1u << 24; i++)
            combinations *= value_count(&info->operand[i]);
        bool every = combinations < limit;
        exhaustive += every;
        for (uint64_t turn = 0; turn < (every ? combinations : turns); turn++, checked++) {
            IsaInstr instr = {.form = (uint16_t)form};
            uint64_t rest = turn;
            for (unsigned i = 0; i < info->operand_count; i++) {
                uint64_t count = value_count(&info->operand[i]);
                instr.operand[i] = every ? nth_value(&info->operand[i], rest % count)
                                         : random_operand(&random, &info->operand[i]);
                rest /= count;
            }
            check_round_trip(&instr);
        }
    }
    printf("seed %llu, %llu instructions, %llu of %d forms whole\n", (unsigned long long)seed,
           (unsigned long long)checked, (unsigned long long)exhaustive, ISA_FORM_COUNT - 1);
}

/* Two forms overlap if some word satisfies both masks. */
static void test_no_overlap(void **state) {
    (void)state;
    const IsaRow *rows = isa_rows();
    for (IsaForm a = ISA_INVALID + 1; a < ISA_FORM_COUNT; a++) {
        for (IsaForm b = a + 1; b < ISA_FORM_COUNT; b++) {
            uint32_t common = (uint32_t)(rows[a].mask & rows[b].mask);
            if (((rows[a].value ^ rows[b].value) & common) == 0)
                fail_msg("%s and %s overlap", rows[a].info.id, rows[b].info.id);
        }
    }
}

static void test_shape_of_the_table(void **state) {
    (void)state;
    const IsaRow *rows = isa_rows();
    for (IsaForm form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = &rows[form].info;
        bool exchange = (info->flags & ISA_F_EXCHANGE) != 0;
        /* Bit 31 belongs to bundles; sendpicp is the one exception, and never in a worker. */
        if (form != ISA_SENDPICP)
            assert_true((rows[form].mask & ISA_BUNDLE_BIT) && !(rows[form].value & ISA_BUNDLE_BIT));
        if (info->lane == ISA_LANE_AUX)
            assert_int_equal(info->modes, ISA_WORKER);
        if (exchange)
            assert_int_equal(info->modes, ISA_SUPERVISOR);
        assert_in_range(info->slots, 1, 6);
        assert_true(strlen(info->effect) > 5);
        /* Every operand has a field that holds all its bits, and no bit twice. */
        uint32_t covered[ISA_MAX_OPERANDS] = {0};
        for (unsigned i = 0; i < rows[form].field_count; i++) {
            const IsaField *field = &rows[form].field[i];
            uint32_t bits = (uint32_t)(((1ull << field->width) - 1) << field->shift);
            assert_int_equal(covered[field->operand] & bits, 0);
            covered[field->operand] |= bits;
        }
        for (unsigned i = 0; i < info->operand_count; i++) {
            bool arithmetic;
            const IsaOperand *operand = &info->operand[i];
            uint32_t needed = (uint32_t)((1ull << operand->bits) - 1);
            unsigned registers = isa_operand_registers(operand, &arithmetic);
            if (registers)
                needed = 16 - registers;
            if (operand->kind == ISA_KIND_HI12)
                needed = 0xFFF00000;
            if (operand->kind == ISA_KIND_TARGET)
                needed = 0x1FFFFC;
            assert_int_equal(covered[i] & needed, needed);
            if (arithmetic)
                assert_int_equal(info->modes, ISA_WORKER);
        }
        bool found = false;
        for (IsaForm f = isa_form_next(info->mnemonic, ISA_INVALID); f;
             f = isa_form_next(info->mnemonic, f))
            found |= f == form;
        assert_true(found);
    }
    assert_int_equal(isa_form_next("frobnicate", ISA_INVALID), ISA_INVALID);
}

/* Flipping a bit outside the fields must give another form or none. */
static void test_uncovered_bits(void **state) {
    (void)state;
    const IsaRow *rows = isa_rows();
    Random random = random_seed(2);
    for (IsaForm form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        IsaInstr instr = {.form = (uint16_t)form}, back;
        for (unsigned i = 0; i < rows[form].info.operand_count; i++)
            instr.operand[i] = random_operand(&random, &rows[form].info.operand[i]);
        uint32_t words[2];
        isa_encode(&instr, words);
        for (unsigned bit = 0; bit < 32; bit++) {
            if (!(rows[form].mask >> bit & 1))
                continue;
            uint32_t changed[2] = {words[0] ^ 1u << bit, words[1]};
            if (isa_decode(changed, 2, &back))
                assert_int_not_equal(back.form, form);
        }
    }
}

/* Words chosen at random decode to something that encodes to the same word, or to nothing. */
static void test_random_words(void **state) {
    (void)state;
    Random random = random_seed(3);
    uint64_t turns = getenv("TW_TEST_ALL") ? 1u << 28 : 2000000, decoded = 0;
    for (uint64_t i = 0; i < turns; i++) {
        uint64_t bits = random_next(&random);
        uint32_t words[2] = {(uint32_t)bits, (uint32_t)(bits >> 32)}, again[2];
        IsaInstr instr;
        unsigned size = isa_decode(words, 2, &instr);
        if (size == 0)
            continue;
        decoded++;
        isa_encode(&instr, again);
        assert_int_equal(words[0], again[0]);
        if (size == 8)
            assert_int_equal(words[1], again[1]);
    }
    assert_true(decoded > turns / 100);
}

static void test_rejects(void **state) {
    (void)state;
    IsaInstr instr;
    uint32_t words[2] = {0x4D000815, 0}; /* ld128 to $a1:4 */
    assert_int_equal(isa_decode(words, 1, &instr), 0);
    words[0] = 0xF0000000; /* half a sendpicp */
    assert_int_equal(isa_decode(words, 1, &instr), 0);
    assert_int_equal(isa_decode(words, 0, &instr), 0);
    IsaPacket packet;
    words[0] = 0x41800002;
    assert_false(isa_decode_packet(words, 1, ISA_WORKER, &packet)); /* sync in a worker */
    assert_true(isa_decode_packet(words, 1, ISA_SUPERVISOR, &packet));
    assert_int_equal(packet.main.form, ISA_SYNC);
    words[0] = 0x19E00000 | ISA_BUNDLE_BIT; /* nop, without room for its other half */
    assert_false(isa_decode_packet(words, 1, ISA_WORKER, &packet));
    assert_false(isa_decode_packet(words, 2, ISA_WORKER, &packet));
    IsaInstr nop = {ISA_SETZI, {14, 0}}, tanh = {ISA_F32TANH, {1, 2}};
    isa_encode_bundle(&nop, &tanh, words);
    assert_true(isa_decode_packet(words, 2, ISA_WORKER, &packet));
    assert_int_equal(packet.size, 8);
    assert_int_equal(packet.slots, CHIP_SLOTS_F32TANH);
    char text[2 * ISA_TEXT_SIZE];
    isa_disassemble_packet(&packet, ISA_WORKER, text);
    assert_string_equal(text, "{nop; f32tanh $a1, $a2}");
    uint32_t swapped[2] = {words[1] | ISA_BUNDLE_BIT, words[0] & ~ISA_BUNDLE_BIT};
    assert_false(isa_decode_packet(swapped, 2, ISA_WORKER, &packet));
    assert_false(isa_decode_packet(words, 2, ISA_SUPERVISOR, &packet));
}

static void test_names(void **state) {
    (void)state;
    char text[ISA_TEXT_SIZE];
    IsaInstr get = {ISA_GET, {0, 1}}, uput = {ISA_UPUT, {1, 3}};
    isa_disassemble(&get, ISA_WORKER, text);
    assert_string_equal(text, "get $m0, $WSR");
    isa_disassemble(&get, ISA_SUPERVISOR, text);
    assert_string_equal(text, "get $m0, $SSR");
    isa_disassemble(&uput, ISA_WORKER, text);
    assert_string_equal(text, "uput $FP_CLR, $a3");
    IsaInstr step = {ISA_LD64STEP, {14, 15, 3, -4}};
    isa_disassemble(&step, ISA_WORKER, text);
    assert_string_equal(text, "ld64step $a14:15, $mzero, $m3+=, -4");
    IsaInstr bc = {ISA_F16V4MUL_BU, {2, 7, 4}};
    isa_disassemble(&bc, ISA_WORKER, text);
    assert_string_equal(text, "f16v4mul $a2:3, $a7:BU, $a4:5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_words),    cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_no_overlap),     cmocka_unit_test(test_shape_of_the_table),
        cmocka_unit_test(test_uncovered_bits), cmocka_unit_test(test_random_words),
        cmocka_unit_test(test_rejects),        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
