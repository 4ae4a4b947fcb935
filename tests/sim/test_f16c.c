/* The functions that use the host's conversion instructions equal the plain ones in every bit of
 * the context, special values, rounding modes and sticky flags included. */
#include "testing.h"

#include "base/cpu.h"
#include "base/random.h"
#include "sim/internal.h"

#include <stdlib.h>

/* Halves that hurt: zeros, subnormals, ends of the range, infinities, NaN. */
static const uint16_t special[] = {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x8400, 0x3C00, 0xBC00,
                                   0x7BFF, 0xFBFF, 0x7BFE, 0x7C00, 0xFC00, 0x7E00, 0xFD55, 0x3555};
static const uint32_t special32[] = {0x477FEFFF, 0x477FF000, 0xC77FF000, 0x38800000, 0x33000000,
                                     0x33000001, 0x7F800000, 0x7FC00000, 0x80000000, 0x387FFFFF};

static uint32_t random_register(Random *random) {
    uint64_t draw = random_next(random);
    switch (draw >> 60) {
    case 0:
    case 1:
    case 2: /* two halves, one or both special */
        return special[draw & 15] |
               (uint32_t)(draw >> 59 & 1 ? special[draw >> 4 & 15] : draw >> 16 & 0xFFFF) << 16;
    case 3: return special32[draw % COUNT_OF(special32)];
    case 4:
    case 5: /* float32 in the range of halves */
        return (uint32_t)(draw & 0x87FFFFFF) + 0x30000000u + (uint32_t)(draw >> 32 & 0x0FFFFFFF);
    default: return (uint32_t)draw;
    }
}

static void random_context(Random *random, Context *context, Tile *tile) {
    memset(context, 0, sizeof *context);
    tile->trap.code = STATUS_OK;
    tile->prepared_key = 0;
    for (unsigned i = 0; i < COUNT_OF(tile->weights); i += 1 + (unsigned)random_below(random, 40))
        tile->weights[i] = random_register(random) | (uint64_t)random_register(random) << 32;
    context->tile = tile;
    context->fp_format = (uint32_t)random_below(random, 4);
    context->fp_scale = (uint32_t)random_below(random, 64);
    for (unsigned i = 0; i < 8; i++)
        context->a[i] = random_register(random);
    /* Accumulators never hold another NaN than the canonical one. */
    for (unsigned i = 0; i < AMP_CHANNELS; i++) {
        float compute = f32_from_bits(random_register(random));
        float shift = f32_from_bits(random_register(random));
        context->compute[i] = compute == compute ? compute : f32_from_bits(F32_QNAN);
        context->shift[i] = shift == shift ? shift : f32_from_bits(F32_QNAN);
    }
    uint32_t control = 0;
    if (random_below(random, 4) == 0)
        control = (uint32_t)random_below(random, 4) << 16 | (uint32_t)random_below(random, 2) << 19;
    if (random_below(random, 2))
        control |= 1u << 20;
    exec_set_fp_control(context, control);
    context->random[0] = random_next(random);
    context->random[1] = random_next(random);
}

/* All that such an instruction may change, bit by bit. */
static bool same(const Context *one, const Context *other) {
    bool equal = memcmp(one->a, other->a, sizeof one->a) == 0 &&
                 memcmp(one->m, other->m, sizeof one->m) == 0 &&
                 memcmp(one->random, other->random, sizeof one->random) == 0 &&
                 one->fp_status == other->fp_status;
    for (unsigned i = 0; i < AMP_CHANNELS; i++)
        equal = equal && f32_bits(one->compute[i]) == f32_bits(other->compute[i]) &&
                f32_bits(one->shift[i]) == f32_bits(other->shift[i]);
    return equal;
}

static void equal_to_the_plain_functions(void **state) {
    (void)state;
    if (cpu_level_native() < CPU_AVX2)
        skip();
    unsigned count = getenv("TW_TEST_ALL") ? 1000000 : 20000, forms = 0;
    uint64_t seed = 31;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    static Context before, fast, plain;
    static Tile tile;
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        if (!exec_f16c[form])
            continue;
        forms++;
        ExecFunction reference = exec_float[form] ? exec_float[form] : exec_amp[form];
        assert_non_null(reference);
        for (unsigned i = 0; i < count; i++) {
            random_context(&random, &before, &tile);
            fast = plain = before;
            bool amp = isa_form_info((IsaForm)form)->flags & ISA_F_AMP;
            Half half = {.imm = amp ? (int32_t)random_below(&random, 8) : 0,
                         .r = {(uint8_t)(4 * random_below(&random, 2)),
                               (uint8_t)(4 * random_below(&random, 2)),
                               (uint8_t)(2 * random_below(&random, 4))}};
            exec_f16c[form](&fast, &half);
            reference(&plain, &half);
            if (!same(&fast, &plain))
                fail_msg("%s %s differs, control 0x%X", isa_form_info((IsaForm)form)->mnemonic,
                         isa_form_info((IsaForm)form)->operands, before.fp_control);
        }
    }
    mem_free(tile.prepared_block);
    print_message("%u forms\n", forms);
    assert_true(forms > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_to_the_plain_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
