/* Profiles: every cycle has one cause, through the file, the tables, the page and the trace. */
#include "command.h"

#include "base/file.h"
#include "pack/folder.h"
#include "prof/prof.h"

#include <math.h>
#include <sqlite3.h>

/* `format` with the folder for each %s. Valid until the next call. */
static const char *at(const char *format) {
    static char line[1000];
    snprintf(line, sizeof line, format, folder, folder, folder);
    return line;
}

static double real(const json_t *root, const char *key) {
    const json_t *value = json_object_get(root, key);
    if (!json_is_number(value))
        fail_msg("%s is missing", key);
    return json_number_value(value);
}

static double sum_of(const json_t *causes) {
    double sum = 0;
    const char *key;
    json_t *value;
    assert_int_equal(json_object_size(causes), PROF_CAUSES);
    json_object_foreach((json_t *)causes, key, value) sum += json_number_value(value);
    return sum;
}

static double sum_rows(const json_t *list) {
    double sum = 0;
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)list, i, row) sum +=
        sum_of(json_object_get(row, "cycles_by_cause"));
    return sum;
}

/* The bench's causes add up, and the schedule explains the simulated run. */
static void check_bench(const char *line, double ideal_rate) {
    json_t *root = document(line, 0);
    const json_t *causes = json_object_get(root, "cycles_by_cause");
    assert_true(fabs(sum_of(causes) - real(root, "cycles")) < 1e-6);
    assert_true(real(causes, "unscheduled") == 0);
    /* Rounded to whole cycles for each call. */
    assert_true(fabs(real(causes, "multiply_adds") - real(root, "ideal_cycles")) < ideal_rate);
    json_decref(root);
}

static void test_sums(void **state) {
    (void)state;
    check_bench("bench gemm --rows 37 --inner 100 --columns 84 --tiles 24 --f16 --json", 2);
    check_bench("bench gemm --rows 64 --inner 640 --columns 32 --tiles 32 --grid y=2,1,4 "
                "--fp8-scale -4 --json",
                2);
    check_bench("bench mlp --tokens 40 --width 64 --hidden 96 --tiles 16 --bias --device-input "
                "--fp8-scale -4 --json",
                4);
}

static void test_tables(void **state) {
    (void)state;
    json_t *bench =
        document(at("bench mlp --tokens 40 --width 64 --hidden 96 --tiles 16 --fp8-scale "
                    "-4 --profile %s/p --json"),
                 0);
    json_t *root = document(at("profile %s/p --by phase,kernel,tile --json"), 0);
    double cycles = real(bench, "cycles");
    assert_true(real(root, "cycles") == cycles && real(root, "tiles") == 16);
    assert_true(json_equal(json_object_get(root, "cycles_by_cause"),
                           json_object_get(bench, "cycles_by_cause")));
    const json_t *phases = json_object_get(root, "phases"), *row;
    assert_true(fabs(sum_rows(phases) - cycles) < 1e-6);
    assert_true(fabs(sum_rows(json_object_get(root, "kernels")) - cycles) < 1e-6);
    const json_t *tiles = json_object_get(root, "by_tile");
    assert_int_equal(json_array_size(tiles), 16);
    assert_true(fabs(sum_rows(tiles) - 16 * cycles) < 1e-6);
    double scheduled = 0, sampled = 0, simulated = 0;
    size_t i;
    json_array_foreach((json_t *)phases, i, row) {
        scheduled += real(row, "scheduled");
        sampled += real(row, "scheduled_sampled");
        simulated += real(row, "simulated_sampled");
        /* Samples lie up to two rounds of the workers' slots apart from the steps' ends. */
        assert_true(fabs(real(row, "scheduled_sampled") - real(row, "simulated_sampled")) <= 12);
    }
    assert_true(scheduled == cycles && simulated == real(bench, "cycles_sampled"));
    assert_true(sampled == simulated);
    json_decref(root);
    json_decref(bench);
}

static char *file_text(const char *name) {
    char path[300];
    uint8_t *bytes;
    size_t size;
    Diag diag = {0};
    assert_int_equal(file_read(in_folder(name, path), &bytes, &size, &diag), STATUS_OK);
    return (char *)bytes;
}

/* Sums of the runs in the page's data, and of the durations in the trace. */
static void test_page_and_trace(void **state) {
    (void)state;
    json_t *root = document(at("bench gemm --rows 64 --inner 640 --columns 32 --tiles 32 --grid "
                               "y=2,1,4 --profile %s/g --json"),
                            0);
    double cycles = real(root, "cycles");
    json_decref(root);
    root = document(at("profile %s/g --html %s/g.html --trace %s/g.json --json"), 0);
    json_decref(root);
    char *page = file_text("g.html"), *trace = file_text("g.json");
    assert_null(strstr(page, "http"));
    char *data = strstr(page, "id=\"data\">") + strlen("id=\"data\">");
    *strstr(data, "</script>") = 0;
    json_t *found = json_loads(data, 0, NULL), *events = json_loads(trace, 0, NULL), *item;
    assert_true(found && events);
    double sum = 0;
    size_t i;
    json_array_foreach(json_object_get(found, "cells"), i, item) {
        json_t *runs = json_array_get(item, 2);
        for (size_t r = 0; r < json_array_size(runs); r += 2)
            sum += json_number_value(json_array_get(runs, r)) *
                   json_number_value(json_array_get(runs, r + 1));
    }
    assert_true(sum == 32 * cycles);
    sum = 0;
    json_array_foreach(json_object_get(events, "traceEvents"), i, item) sum +=
        json_number_value(json_object_get(item, "dur"));
    assert_true(sum == 32 * cycles);
    assert_true(json_object_size(json_object_get(found, "buffers")) > 0);
    json_decref(found);
    json_decref(events);
    mem_free(page);
    mem_free(trace);
}

static void change(const char *sql) {
    char path[300];
    sqlite3 *database;
    assert_int_equal(sqlite3_open(in_folder("e", path), &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static void test_errors(void **state) {
    (void)state;
    json_t *root =
        document(at("bench gemm --rows 8 --inner 16 --columns 8 --tiles 2 --profile %s/e "
                    "--package %s/package --json"),
                 0);
    json_decref(root);
    expect(at("profile %s/nowhere"), EXIT_CLASS_INPUT, NULL, "TW0102");
    expect(at("profile %s/package"), EXIT_CLASS_INPUT, NULL, "TW1801");
    expect(at("profile README.md"), EXIT_CLASS_INPUT, NULL, "TW1801");
    expect(at("profile %s/e --html /nowhere/page"), EXIT_CLASS_INPUT, NULL, "TW0104");
    change("UPDATE meta SET value = value + 1 WHERE key = 'cycles'");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("UPDATE meta SET value = value - 1 WHERE key = 'cycles';"
           "UPDATE steps SET cells = substr(cells, 1, length(cells) - 4)");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("DROP TABLE tiles");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("PRAGMA user_version = 99");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1801");
    Profile profile = {0};
    Diag diag = {0};
    assert_int_equal(prof_end(NULL, 1ull << 31, &profile, &diag), ERR_PROF_LONG);
    diag_free(&diag);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_page_and_trace),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
