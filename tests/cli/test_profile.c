/* Profiles: every cycle has one cause, through the file, the tables, the page and the trace. */
#include "command.h"

#include "api/api.h"
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

static double sum_rows(const json_t *list, const char *key) {
    double sum = 0;
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)list, i, row) sum += sum_of(json_object_get(row, key));
    return sum;
}

static double total_of(const json_t *list, const char *key) {
    double sum = 0;
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)list, i, row) sum += real(row, key);
    return sum;
}

/* Each figure's cycles, its causes in the whole, by phases and by kernels. */
static void check_figures(const json_t *root) {
    static const char *const keys[][3] = {
        {"predicted_cycles", "predicted_by_cause", "predicted"},
        {"scheduled_cycles", "scheduled_by_cause", "scheduled"},
        {"cycles", "cycles_by_cause", "simulated"},
    };
    const json_t *phases = json_object_get(root, "phases"),
                 *kernels = json_object_get(root, "kernels");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        double cycles = real(root, keys[i][0]);
        assert_true(fabs(sum_of(json_object_get(root, keys[i][1])) - cycles) < 1e-8);
        assert_true(fabs(sum_rows(phases, keys[i][1]) - cycles) < 1e-8);
        assert_true(fabs(sum_rows(kernels, keys[i][1]) - cycles) < 1e-8);
        assert_true(total_of(phases, keys[i][2]) == cycles);
        assert_true(total_of(kernels, keys[i][2]) == cycles);
    }
}

/* The bench's causes add up, and the schedule explains the simulated run. */
static void check_bench(const char *line, double ideal_rate) {
    json_t *root = document(line, 0);
    const json_t *causes = json_object_get(root, "cycles_by_cause");
    check_figures(root);
    assert_true(real(causes, "unscheduled") == 0);
    assert_true(json_equal(causes, json_object_get(root, "scheduled_by_cause")));
    const json_t *predicted = json_object_get(root, "predicted_by_cause");
    assert_true(real(predicted, "unscheduled") == 0);
    assert_true(real(predicted, "multiply_adds") == real(causes, "multiply_adds"));
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
    assert_true(json_equal(phases, json_object_get(bench, "phases")));
    check_figures(root);
    const json_t *tiles = json_object_get(root, "by_tile");
    assert_int_equal(json_array_size(tiles), 16);
    assert_true(fabs(sum_rows(tiles, "cycles_by_cause") - 16 * cycles) < 1e-8);
    size_t i, exchanges = 0;
    double horizon = 0;
    json_array_foreach((json_t *)phases, i, row) {
        bool exchange = strcmp(json_string_value(json_object_get(row, "name")), "exchange") == 0;
        assert_true((json_object_get(row, "bound") != NULL) == exchange);
        exchanges += exchange;
        horizon += exchange ? real(row, "horizon") : 0;
        /* Samples lie up to two rounds of the workers' slots apart from the steps' ends. */
        assert_true(fabs(real(row, "scheduled_sampled") - real(row, "simulated_sampled")) <= 12);
    }
    double sampled = real(bench, "cycles_sampled");
    assert_true(total_of(phases, "simulated_sampled") == sampled);
    assert_true(total_of(phases, "scheduled_sampled") == sampled);
    const json_t *exchange = json_object_get(root, "exchange");
    assert_true(exchanges > 0 && real(exchange, "horizon") == horizon);
    row = json_array_get(phases, (size_t)real(exchange, "worst_phase"));
    assert_true(real(row, "horizon") / real(row, "bound") >= real(exchange, "ratio"));
    json_decref(root);
    json_decref(bench);
}

/* Buffers of a dump of the tile graph but rows. */
static size_t lowered_buffers(const char *dump) {
    size_t count = 0;
    for (const char *line = dump; (line = strstr(line, "\n  b")); line++) {
        const char *role = strchr(line + 3, ' ') + 1;
        count += strncmp(role, "rows", 4) != 0;
    }
    return count;
}

/* Bytes read beyond an end are no content. */
enum { MOST_TAIL = 64 };

static bool is_apart(const ProfBuffer *a, const ProfBuffer *b) {
    const ProfBuffer *low = a->address <= b->address ? a : b, *high = low == a ? b : a;
    uint32_t end = low->address + low->size;
    return a->last < b->first || b->last < a->first || end <= high->address + MOST_TAIL ||
           end + MOST_TAIL >= high->address + high->size; /* one inside the other */
}

static void check_map(const ProfBuffer *buffers, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (!is_apart(&buffers[i], &buffers[k]))
                fail_msg("%s and %s of a tile meet", buffers[i].name, buffers[k].name);
}

/* Every buffer of every tile has a place, and none meets another one. */
static void check_memory(const char *workload) {
    char line[300], path[300];
    snprintf(line, sizeof line, "bench %s --dump=lower --profile %s/m --json", workload, folder);
    json_t *root = document(line, 0);
    const json_t *dumps = json_object_get(root, "dumps");
    size_t wanted = lowered_buffers(json_string_value(json_object_get(dumps, "lower")));
    Profile profile;
    Diag diag = {0};
    assert_int_equal(prof_read(in_folder("m", path), &profile, &diag), STATUS_OK);
    size_t found = 0;
    for (uint32_t tile = 0; tile < profile.tiles; tile++) {
        size_t first = 0, count = 0;
        while (first < profile.buffers.count &&
               profile.buffers.items[first].map != profile.map[tile])
            first++;
        while (first + count < profile.buffers.count &&
               profile.buffers.items[first + count].map == profile.map[tile])
            count++;
        check_map(profile.buffers.items + first, count);
        found += count;
    }
    assert_true(found > 0 && found == wanted);
    prof_free(&profile);
    json_decref(root);
}

static void test_memory(void **state) {
    (void)state;
    check_memory("gemm --rows 64 --inner 640 --columns 36 --tiles 24 --grid y=3,2,4");
    check_memory("mlp --tokens 37 --width 100 --hidden 84 --tiles 24 --blocks 2 --residual "
                 "--device-input --fp8-scale -4");
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
           "UPDATE attribution SET predicted = predicted + 1 WHERE step = 0 AND cause = 0");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("UPDATE attribution SET predicted = predicted - 1, simulated = simulated + 1"
           " WHERE step = 0 AND cause = 0");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("UPDATE attribution SET simulated = simulated - 1 WHERE step = 0 AND cause = 0");
    json_decref(document(at("profile %s/e --json"), 0));
    change("INSERT INTO attribution VALUES(99, 0, 0, 0, 0)");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("DELETE FROM attribution WHERE step = 99;"
           "UPDATE steps SET cells = substr(cells, 1, length(cells) - 4)");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("DROP TABLE tiles");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1802");
    change("PRAGMA user_version = 99");
    expect(at("profile %s/e"), EXIT_CLASS_INPUT, NULL, "TW1801");
    Profile profile = {0};
    Diag diag = {0};
    assert_int_equal(api_profile_end(NULL, 1ull << 31, &profile, &diag), ERR_PROF_LONG);
    diag_free(&diag);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),   cmocka_unit_test(test_tables),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_page_and_trace),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
