/* The generated tower under every scheme of the published tables. */
#include "quant/tiny.h"

#include <math.h>

static Tiny tiny;

typedef struct Scheme {
    const char *name, *version;
    double table[6];
    double tolerance; /* of each cosine; 0: only the least one counts, and may not fall by more than
                         a thousandth */
} Scheme;

static void check_scheme(const Scheme *scheme, QuantOptions options) {
    json_t *report = tiny_run(&tiny, options, scheme->name);
    double least = 1, table_least = 1, worst = 0;
    for (size_t i = 0; i < 6; i++) {
        double found = tiny_cosine(report, i, scheme->version);
        least = fmin(least, found);
        table_least = fmin(table_least, scheme->table[i]);
        worst = fmax(worst, fabs(found - scheme->table[i]));
    }
    print_message("%-28s least %.6f (table %.6f), largest difference %.6f\n", scheme->name, least,
                  table_least, worst);
    if (scheme->tolerance > 0 ? worst > scheme->tolerance : least < table_least - 1e-3)
        fail_msg("%s: %.6f off", scheme->name, worst);
    json_decref(report);
}

static void test_nearest(void **state) {
    (void)state;
    QuantOptions nearest = tiny_options(&tiny, NULL), changed;
    nearest.solve.algorithm = ALGORITHM_NEAREST;
    nearest.solve.bias_correction = false;
    static const double operands[] = {.997423, .997806, .997417, .997016, .996399, .997097};
    check_scheme(
        &(Scheme){
            "nearest-w", "weights", {.998356, .998410, .997800, .998172, .998064, .997954}, 2e-5},
        nearest);
    Scheme both = {"nearest", "weights_and_inputs", {0}, 4e-4};
    memcpy(both.table, operands, sizeof operands);
    check_scheme(&both, nearest);
    changed = nearest;
    changed.solve.granularity = GRANULARITY_BLOCK;
    both.name = "nearest-blocks";
    check_scheme(&both, changed);
    changed = nearest;
    changed.solve.bias_correction = true;
    check_scheme(&(Scheme){"nearest-bias",
                           "weights_and_inputs",
                           {.998492, .997907, .998670, .998475, .997611, .998368},
                           4e-4},
                 changed);
    changed = nearest;
    changed.share_roles = changed.share_operands = true;
    check_scheme(&(Scheme){"shared",
                           "weights_and_inputs",
                           {.997186, .997589, .997419, .997130, .996284, .996873},
                           4e-4},
                 changed);
    changed = nearest;
    changed.weight_offset = 7;
    check_scheme(&(Scheme){"weights-raised",
                           "weights_and_inputs",
                           {.997586, .997390, .997410, .997000, .995874, .996792},
                           4e-4},
                 changed);
}

static uint64_t clipped(const char *name) {
    char *path = mem_printf("%s/%s/quantization.json", tiny.folder, name);
    json_t *report = json_load_file(path, 0, NULL), *record;
    uint64_t sum = 0;
    size_t index;
    json_array_foreach(json_object_get(report, "evaluation"), index, record) sum +=
        (uint64_t)json_integer_value(json_object_get(record, "inputs_clipped"));
    json_decref(report);
    mem_free(path);
    return sum;
}

static void test_lowered(void **state) {
    (void)state;
    QuantOptions nearest = tiny_options(&tiny, NULL);
    nearest.solve.algorithm = ALGORITHM_NEAREST;
    nearest.solve.bias_correction = false;
    static const struct {
        int offset;
        uint64_t clipped;
        Scheme scheme;
    } rows[] = {
        {-1,
         180,
         {"lowered-1",
          "weights_and_inputs",
          {.996903, .996875, .997222, .996127, .996015, .996723},
          4e-4}},
        {-2,
         14823,
         {"lowered-2",
          "weights_and_inputs",
          {.971315, .976322, .958838, .966413, .978617, .973189},
          4e-4}},
        {-4,
         115947,
         {"lowered-4",
          "weights_and_inputs",
          {.490693, .429041, .503843, .396105, .589912, .368703},
          8e-4}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        nearest.input_offset = rows[i].offset;
        check_scheme(&rows[i].scheme, nearest);
        double found = (double)clipped(rows[i].scheme.name), wanted = (double)rows[i].clipped;
        print_message("%-28s %.0f inputs clipped (table %.0f)\n", "", found, wanted);
        assert_true(fabs(found - wanted) <= 0.001 * wanted);
    }
}

static const json_t *linear_record(const json_t *report, size_t index) {
    return json_array_get(json_object_get(report, "linears"), index);
}

static double real(const json_t *record, const char *key) {
    return json_number_value(json_object_get(record, key));
}

static void test_gptq(void **state) {
    (void)state;
    QuantOptions gptq = tiny_options(&tiny, NULL), changed = gptq;
    changed.solve.bias_correction = false;
    check_scheme(&(Scheme){"gptq-no-bias",
                           "weights_and_inputs",
                           {.998695, .998876, .998840, .998310, .997249, .997690},
                           0},
                 changed);
    check_scheme(
        &(Scheme){"gptq-w", "weights", {.999712, .999726, .999774, .999685, .998558, .999110}, 0},
        gptq);
    check_scheme(&(Scheme){"gptq",
                           "weights_and_inputs",
                           {.998825, .998964, .999055, .998676, .998042, .997604},
                           0},
                 gptq);
    changed = gptq;
    changed.sequential = true;
    check_scheme(&(Scheme){"gptq-sequential",
                           "weights_and_inputs",
                           {.999023, .999056, .998700, .998755, .998311, .997451},
                           0},
                 changed);
    changed = gptq;
    changed.equalize = true;
    check_scheme(&(Scheme){"equalized",
                           "weights_and_inputs",
                           {.999257, .998442, .998746, .999100, .997507, .998831},
                           0},
                 changed);
}

static void test_objectives(void **state) {
    (void)state;
    static const double ratios[18] = {.3287, .3143, .3152, .2323, .3303, .2779,
                                      .3341, .3302, .3200, .1249, .3014, .2918,
                                      .2950, .2675, .2783, .0543, .2659, .2653};
    static const double nearest[6] = {6.620, 6.653, 6.734, 0.8333, 17.86, 2.727};
    static const int input_scales[6] = {-5, -5, -5, -6, -5, -5};
    static const int weight_scales[6] = {-9, -9, -9, -9, -9, -10};
    json_t *report = tiny_run(&tiny, tiny_options(&tiny, NULL), "objectives");
    assert_int_equal(json_array_size(json_object_get(report, "linears")), 18);
    for (size_t i = 0; i < 18; i++) {
        const json_t *record = linear_record(report, i);
        assert_float_equal(real(record, "ratio"), ratios[i], 0.003);
        if (i < 6)
            assert_true(fabs(real(record, "nearest") - nearest[i]) < 0.002 * nearest[i]);
        assert_int_equal(real(record, "rows"), 64);
        assert_int_equal(real(record, "input_scale"), input_scales[i % 6]);
        assert_int_equal(real(record, "weight_scale_least"), weight_scales[i % 6]);
        assert_string_equal(json_string_value(json_object_get(record, "method")), "gptq");
        assert_int_equal(real(record, "fallback_blocks"), 0);
    }
    assert_float_equal(real(json_object_get(report, "summary"), "objective_ratio"), .29448, 0.003);
    json_decref(report);
}

static void test_equalization(void **state) {
    (void)state;
    static const struct {
        double alpha, ratio;
    } rows[6] = {{.5, .9771}, {.75, .9842}, {.75, .9801}, {0, .9993}, {0, .9914}, {.75, .9843}};
    static const int scales[3][2] = {{-6, -5}, {-6, -6}, {-5, -5}}; /* q, k, v; fc1 */
    QuantOptions options = tiny_options(&tiny, NULL);
    options.equalize = true;
    json_t *report = tiny_run(&tiny, options, "equalization");
    const json_t *groups = json_object_get(report, "equalization");
    assert_int_equal(json_array_size(groups), 6);
    for (size_t i = 0; i < 6; i++) {
        const json_t *group = json_array_get(groups, i);
        assert_float_equal(real(group, "alpha"), rows[i].alpha, 0);
        assert_float_equal(real(group, "objective_ratio"), rows[i].ratio, 2e-4);
        const json_t *linear = linear_record(report, i / 2 * 6 + (i % 2 ? 4 : 0));
        assert_int_equal(real(linear, "input_scale"), scales[i / 2][i % 2]);
    }
    json_decref(report);
}

static int open_tiny(void **state) {
    (void)state;
    tiny = tiny_open();
    return 0;
}

static int close_tiny(void **state) {
    (void)state;
    tiny_close(&tiny);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),      cmocka_unit_test(test_lowered),
        cmocka_unit_test(test_gptq),         cmocka_unit_test(test_objectives),
        cmocka_unit_test(test_equalization),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
