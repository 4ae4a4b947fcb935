/* The checks can fail: one flipped bit in a weight, an instruction or an input makes the result
 * differ from the twin's, or the run trap. */
#include "testing.h"

#include "api/api.h"
#include "base/random.h"
#include "check/check.h"
#include "isa/isa.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 96, INNER = 96, COLUMNS = 32 };

typedef struct Fixture {
    TwContext *context;
    TwGraph *graph;
    TwWeights *weights;
    TwPackage *package;
    uint8_t x[ROWS * INNER];
    F16 twin[ROWS * COLUMNS];
} Fixture;

static int set_up(void **state) {
    Fixture *f = mem_alloc(1, sizeof *f);
    const Precision f8 = {PRECISION_F8F143, -4};
    TwCompileOptions options = {.tiles = 1};
    *state = f;
    f->context = tw_open(1);
    if (tw_graph_gemm(f->context, ROWS, INNER, COLUMNS, (TwPrecision){TW_F8F143, -4}, &f->graph) ||
        tw_weights_generate(f->context, f->graph, 1, 0, &f->weights) ||
        tw_compile(f->context, f->graph, f->weights, &options, &f->package, NULL) ||
        model_generate_codes("x", ROWS * INNER, 1, 1, f8, f->x, NULL, NULL))
        return -1;
    CheckGemm gemm = {.rows = ROWS,
                      .inner = INNER,
                      .columns = COLUMNS,
                      .left_precision = f8,
                      .right_precision = f8,
                      .left = f->x,
                      .right = f->weights->parameters.items[0].codes};
    return check_gemm_twin(&gemm, NULL, f->twin, NULL) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state) {
    Fixture *f = *state;
    tw_package_free(f->package);
    tw_weights_free(f->weights);
    tw_graph_free(f->graph);
    tw_close(f->context);
    mem_free(f);
    return 0;
}

typedef enum Outcome { RIGHT, WRONG, TRAPPED } Outcome;

static Outcome run(Fixture *f, const uint8_t *x) {
    TwDevice *device;
    TwRunReport report;
    F16 found[ROWS * COLUMNS];
    assert_int_equal(tw_device_open(f->context, f->package, &device), 0);
    Diag *diag = &f->context->diag;
    assert_int_equal(run_set(device->device, "x", RUN_CODES, x, ROWS * INNER, diag), STATUS_OK);
    Outcome outcome = TRAPPED;
    if (tw_device_run(device, false, &report) == 0) {
        assert_int_equal(run_get(device->device, "y", RUN_CODES, found, ROWS * COLUMNS, diag),
                         STATUS_OK);
        outcome = memcmp(found, f->twin, sizeof found) == 0 ? RIGHT : WRONG;
    }
    tw_device_close(device);
    tw_clear_messages(f->context);
    return outcome;
}

/* The content of a segment, to be changed in place. */
static uint8_t *content(const Fixture *f, const PackageSegment *segment, uint32_t *size) {
    const PackageBlob *blob = &f->package->package->blobs.items[segment->blob];
    *size = blob->size;
    return (uint8_t *)blob->bytes;
}

static void test_intact(void **state) {
    Fixture *f = *state;
    assert_int_equal(run(f, f->x), RIGHT);
}

/* Any bit of any weight changes its value, so some of the 96 sums; a change below half a unit of
 * all of them may vanish in the rounding to F16, so the lowest mantissa bit is left out. */
static void test_weights(void **state) {
    Fixture *f = *state;
    Random random = random_seed(5);
    const Package *package = f->package->package;
    const PackageBinding *w = package_find(package, "w");
    for (int round = 0; round < 40; round++) {
        const PackageSlice *slice = &w->slices[random_below(&random, w->slice_count)];
        for (size_t i = 0; i < package->segments.count; i++) {
            const PackageSegment *segment = &package->segments.items[i];
            if (segment->tile != slice->tile || segment->address != slice->address)
                continue;
            uint32_t size;
            uint8_t *bytes = content(f, segment, &size);
            uint8_t *byte = bytes + random_below(&random, size);
            uint8_t bit = (uint8_t)(2u << random_below(&random, 7));
            *byte ^= bit;
            assert_int_equal(run(f, f->x), WRONG);
            *byte ^= bit;
        }
    }
    assert_int_equal(run(f, f->x), RIGHT);
}

static void test_inputs(void **state) {
    Fixture *f = *state;
    Random random = random_seed(6);
    for (int round = 0; round < 40; round++) {
        uint8_t x[ROWS * INNER];
        memcpy(x, f->x, sizeof x);
        x[random_below(&random, sizeof x)] ^= (uint8_t)(2u << random_below(&random, 7));
        assert_int_equal(run(f, x), WRONG);
    }
}

/* Offset of the next inner loop that adds to partial sums: bundles behind an `rpt`, whose matrix
 * instruction takes partials from $a2:3. 0 if there is none behind `at`. */
static uint32_t find_loop(const uint8_t *bytes, uint32_t size, uint32_t at) {
    bool behind = false;
    for (; at + 8 <= size; at += 4) {
        uint32_t words[2];
        memcpy(words, bytes + at, sizeof words);
        IsaPacket packet;
        if (!isa_decode_packet(words, 2, ISA_WORKER, &packet))
            continue;
        if (behind && packet.aux.form == ISA_F8V8HIHOV4AMP) {
            if (packet.aux.operand[2] == 2)
                return at;
            behind = false;
        }
        const IsaFormInfo *info =
            packet.main.form ? isa_form_info((IsaForm)packet.main.form) : NULL;
        behind |= info && info->flags & ISA_F_REPEAT;
    }
    return 0;
}

/* Every bit of the four matrix instructions of a loop at `loop`. */
static void flip_loop(Fixture *f, uint8_t *loop, int outcomes[3]) {
    for (uint32_t bit = 0; bit < 4 * 64; bit++) {
        if (bit % 64 < 32) /* the memory access beside it */
            continue;
        loop[bit / 8] ^= (uint8_t)(1u << bit % 8);
        Outcome outcome = run(f, f->x);
        if (outcome == RIGHT)
            fail_msg("bit %u of the loop is not noticed", bit);
        outcomes[outcome]++;
        loop[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void test_instructions(void **state) {
    Fixture *f = *state;
    const Package *package = f->package->package;
    int outcomes[3] = {0};
    uint32_t count, first = package_tile_segments(package, 0, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (!(segment->flags & PACKAGE_EXECUTE))
            continue;
        uint32_t size, loop = 0;
        uint8_t *bytes = content(f, segment, &size);
        while ((loop = find_loop(bytes, size, loop)) != 0) {
            flip_loop(f, bytes + loop, outcomes);
            loop += 4 * 8;
        }
    }
    print_message("%d wrong results, %d traps\n", outcomes[WRONG], outcomes[TRAPPED]);
    assert_true(outcomes[WRONG] > 0 && outcomes[TRAPPED] > 0);
    assert_int_equal(run(f, f->x), RIGHT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intact),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_instructions),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
