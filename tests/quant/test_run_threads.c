/* One, two and five threads give the same bytes, with all that runs in threads: statistics in float
 * and double, factors, scales by error, columns, forward passes with F143 inputs. */
#include "quant/tiny.h"

static Tiny tiny;

static void run_with(unsigned threads, QuantOptions options, const char *name) {
    Pool *usual = tiny.pool;
    tiny.pool = pool_create(threads);
    assert_int_equal(pool_threads(tiny.pool), threads);
    json_decref(tiny_run(&tiny, options, name));
    pool_free(tiny.pool);
    tiny.pool = usual;
}

static void test_threads(void **state) {
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        QuantOptions options = tiny_options(&tiny, NULL);
        options.sequential = options.operands = options.wide = options.center = variant;
        options.solve.scale_rule = variant ? SCALE_RULE_ERROR : SCALE_RULE_MAXIMUM;
        static const unsigned threads[] = {1, 2, 5};
        for (size_t i = 0; i < COUNT_OF(threads); i++) {
            char name[32];
            snprintf(name, sizeof name, "by-%u-%d", threads[i], variant);
            run_with(threads[i], options, name);
            char *command = mem_printf("cmp %s/by-1-%d/model.safetensors %s/%s/model.safetensors",
                                       tiny.folder, variant, tiny.folder, name);
            assert_int_equal(shell_run(command), 0);
            mem_free(command);
        }
    }
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
