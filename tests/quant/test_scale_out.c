/* Shards, resumption and encoding: the same bits by every way. */
#include "quant/tiny.h"

#include "num/f8.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static Tiny tiny;
static char *many; /* 19 images: three blocks */

static QuantOptions options_of(void) {
    QuantOptions options = tiny_options(&tiny, NULL);
    options.calibration = (const char *const *)&many;
    options.evaluation_count = 0;
    return options;
}

static void expect_same(const char *a, const char *b) {
    char *command = mem_printf("cmp %s/%s/model.safetensors %s/%s/model.safetensors", tiny.folder,
                               a, tiny.folder, b);
    assert_int_equal(shell_run(command), 0);
    mem_free(command);
}

static Status run(QuantOptions options, char *output, Diag *diag) {
    char *report;
    options.output = output;
    Status status = quant_run(&options, tiny.pool, &report, diag);
    mem_free(report);
    mem_free(output);
    return status;
}

static void run_good(QuantOptions options, const char *name) {
    Diag diag = {0};
    if (run(options, tiny_path(&tiny, name), &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        fail_msg("%s", name);
    }
    diag_free(&diag);
}

/* Makes n shards and merges them, in reversed order, into `name`. */
static void make_statistics(QuantOptions options, uint32_t n, const char *name) {
    char *paths[8];
    for (uint32_t i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof text, "part-%u", i);
        options.shard = i + 1;
        options.shards = n;
        run_good(options, text);
        paths[n - 1 - i] = tiny_path(&tiny, text);
    }
    char *merged = tiny_path(&tiny, name);
    assert_int_equal(quant_merge((const char *const *)paths, n, merged, NULL), STATUS_OK);
    for (uint32_t i = 0; i < n; i++)
        mem_free(paths[i]);
    mem_free(merged);
}

static void test_shards(void **state) {
    (void)state;
    run_good(options_of(), "whole");
    for (uint32_t n = 1; n <= 5; n += 2) {
        make_statistics(options_of(), n, "merged");
        QuantOptions options = options_of();
        char *merged = tiny_path(&tiny, "merged"), name[32];
        options.statistics = merged;
        snprintf(name, sizeof name, "of-%u", n);
        run_good(options, name);
        expect_same("whole", name);
        mem_free(merged);
    }
    /* Double sums too. */
    QuantOptions options = options_of();
    options.wide = true;
    run_good(options, "wide");
    make_statistics(options, 2, "merged");
    char *merged = tiny_path(&tiny, "merged");
    options.statistics = merged;
    run_good(options, "wide-merged");
    expect_same("wide", "wide-merged");
    mem_free(merged);
}

static void test_sequential_shards(void **state) {
    (void)state;
    QuantOptions options = options_of();
    options.sequential = true;
    run_good(options, "sequence");
    char *work = tiny_path(&tiny, "sequence-sharded.partial"), *merged = tiny_path(&tiny, "merged");
    for (int layer = 0; layer < 3; layer++) {
        QuantOptions part = options;
        part.layer = layer;
        part.state = work;
        make_statistics(part, 2, "merged");
        part.state = NULL;
        part.statistics = merged;
        part.resume = true;
        run_good(part, "sequence-sharded");
    }
    expect_same("sequence", "sequence-sharded");
    /* A shard of a layer whose predecessors are missing. */
    Diag diag = {0};
    options.layer = 2;
    options.shard = options.shards = 1;
    assert_int_equal(run(options, tiny_path(&tiny, "early"), &diag), ERR_QUANT_STATE);
    diag_free(&diag);
    mem_free(work);
    mem_free(merged);
}

static void test_bad_statistics(void **state) {
    (void)state;
    QuantOptions options = options_of();
    make_statistics(options, 3, "merged");
    char *paths[] = {tiny_path(&tiny, "part-0"), tiny_path(&tiny, "part-2"),
                     tiny_path(&tiny, "part-1"), tiny_path(&tiny, "part-1"), tiny.calibration};
    char *out = tiny_path(&tiny, "bad");
    Diag diag = {0};
    assert_int_equal(quant_merge((const char *const *)paths, 2, out, &diag),
                     ERR_QUANT_STATISTICS); /* the middle is missing */
    assert_int_equal(quant_merge((const char *const *)paths, 1, out, &diag),
                     ERR_QUANT_STATISTICS); /* the end is */
    assert_int_equal(quant_merge((const char *const *)paths, 4, out, &diag),
                     ERR_QUANT_STATISTICS); /* one is there twice */
    assert_int_equal(quant_merge((const char *const *)paths + 4, 1, out, &diag),
                     ERR_QUANT_STATISTICS); /* no statistics */
    options.statistics = paths[0];          /* not merged */
    assert_int_equal(run(options, tiny_path(&tiny, "bad"), &diag), ERR_QUANT_STATISTICS);
    char *merged = tiny_path(&tiny, "merged");
    options.statistics = merged;
    options.solve.damp = 0.5; /* another run */
    options.restart = true;
    assert_int_equal(run(options, tiny_path(&tiny, "bad"), &diag), ERR_QUANT_STATISTICS);
    diag_free(&diag);
    for (int i = 0; i < 4; i++)
        mem_free(paths[i]);
    mem_free(merged);
    mem_free(out);
}

/* Ends in a child after a time; the output is absent or complete, and resuming gives the same. */
static bool kill_after(QuantOptions options, const char *name, unsigned microseconds) {
    char *output = tiny_path(&tiny, name);
    pid_t child = fork();
    if (child == 0) {
        char *report;
        Pool *pool = pool_create(1);
        options.output = output;
        quant_run(&options, pool, &report, NULL);
        _exit(0);
    }
    usleep(microseconds);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    char *model = mem_printf("%s/model.safetensors", output),
         *report = mem_printf("%s/quantization.json", output);
    bool there = access(output, F_OK) == 0;
    if (there)
        assert_true(access(model, F_OK) == 0 && access(report, F_OK) == 0);
    mem_free(model);
    mem_free(report);
    mem_free(output);
    return there;
}

static void test_killed(void **state) {
    (void)state;
    int rounds = getenv("TW_TEST_ALL") ? 50 : 6, complete = 0;
    uint64_t seed = 20;
    Random random = random_seed(seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    QuantOptions options = options_of();
    options.sequential = true;
    run_good(options, "undisturbed");
    for (int i = 0; i < rounds; i++) {
        char name[32];
        snprintf(name, sizeof name, "killed-%d", i);
        options.resume = true;
        complete += kill_after(options, name, (unsigned)random_below(&random, 400000));
        char *path = tiny_path(&tiny, name);
        if (access(path, F_OK) != 0)
            run_good(options, name);
        expect_same("undisturbed", name);
        mem_free(path);
    }
    print_message("%d of %d were finished when they were killed\n", complete, rounds);
}

static void test_resume(void **state) {
    (void)state;
    QuantOptions options = options_of();
    char *folder = tiny_path(&tiny, "again.partial"), *run_file = mem_printf("%s/run.txt", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(file_write_atomic(run_file, "x", 1, NULL), STATUS_OK);
    Diag diag = {0};
    assert_int_equal(run(options, tiny_path(&tiny, "again"), &diag), ERR_QUANT_STATE);
    options.resume = true; /* of another run */
    assert_int_equal(run(options, tiny_path(&tiny, "again"), &diag), ERR_QUANT_STATE);
    diag_free(&diag);
    options.resume = false;
    options.restart = true;
    run_good(options, "again");
    assert_int_not_equal(access(folder, F_OK), 0);
    mem_free(folder);
    mem_free(run_file);
}

static void test_encode(void **state) {
    (void)state;
    for (int tensor = 0; tensor < 2; tensor++) {
        QuantOptions options = tiny_options(&tiny, NULL);
        options.solve.granularity = tensor ? GRANULARITY_TENSOR : GRANULARITY_BLOCK;
        run_good(options, tensor ? "floats-t" : "floats-b");
        options.encode = true;
        run_good(options, tensor ? "codes-t" : "codes-b");
        char *in = mem_printf("%s/%s", tiny.folder, tensor ? "codes-t" : "codes-b"),
             *out = mem_printf("%s/decoded-%d.safetensors", tiny.folder, tensor), *report,
             *floats = mem_printf("%s/%s", tiny.folder, tensor ? "floats-t" : "floats-b");
        EncodeOptions decode = {.input = in, .output = out, .decode = true, .version = "test"};
        assert_int_equal(quant_encode(&decode, &report, NULL), STATUS_OK);
        Checkpoint *a, *b;
        assert_int_equal(checkpoint_open(floats, &a, NULL), STATUS_OK);
        assert_int_equal(checkpoint_open(out, &b, NULL), STATUS_OK);
        for (size_t i = 0; i < a->count; i++) {
            const SafeTensor *x = a->tensors[i].tensor, *y = checkpoint_find(b, x->name);
            assert_non_null(y);
            assert_int_equal(x->bytes, y->bytes);
            for (uint64_t k = 0; k < x->count; k++) { /* −0 becomes 0 */
                float u, v;
                memcpy(&u, x->data + 4 * k, 4);
                memcpy(&v, y->data + 4 * k, 4);
                assert_true(u == v);
            }
        }
        assert_int_equal(b->count, a->count + 18); /* input scales */
        checkpoint_close(a);
        checkpoint_close(b);
        mem_free(report);
        mem_free(in);
        mem_free(out);
        mem_free(floats);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards),         cmocka_unit_test(test_sequential_shards),
        cmocka_unit_test(test_bad_statistics), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_resume),         cmocka_unit_test(test_encode),
    };
    tiny = tiny_open();
    many = tiny_images(&tiny, "many.safetensors", 0, 19);
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    mem_free(many);
    tiny_close(&tiny);
    return failures;
}
