/* Every tests/asm/cases/<topic>.txt holds cases: "==== title", source, "----", what assembling it
 * prints: messages, then the listing if there were no errors. TW_TEST_REFRESH=1 writes the expected
 * parts anew. Each object also survives ELF, and its disassembly assembles to the same bytes. */
#include "testing.h"

#include "asm/asm.h"
#include "base/file.h"
#include "round_trip.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char included[] = "    setzi $m1, 77 // from inside\n    .set from_include, 5\n";

static const char *include(void *context, const char *name, size_t *size) {
    (void)context;
    if (strcmp(name, "inner.S") != 0)
        return NULL;
    *size = strlen(included);
    return included;
}

static const AsmDefine defines[] = {{"DEFINED", 3}};
static const AsmOptions options = {defines, 1, include, NULL};

/* What the case prints. */
static char *run_case(const char *source, size_t size) {
    Diag diag = {0};
    AsmObject *object;
    Status status = asm_assemble("case.S", source, size, &options, &object, &diag);
    assert_true((status == STATUS_OK) == (diag.errors == 0));
    char *messages = round_trip_messages(&diag), *listing = NULL;
    if (status == STATUS_OK) {
        listing = asm_listing(object);
        assert_non_null(listing);
        round_trip_elf(object);
        round_trip_packets(object);
        round_trip_source(object);
        asm_object_free(object);
    }
    char *text = mem_printf("%s%s", messages, listing ? listing : "");
    assert_non_null(text);
    free(messages);
    mem_free(listing);
    diag_free(&diag);
    return text;
}

typedef struct Totals {
    unsigned cases, failures, errors; /* errors: messages, each compared to the letter */
} Totals;

enum { LEAST_ERRORS = 80 };

static void check_file(const char *path, bool refresh, Totals *totals) {
    uint8_t *bytes;
    size_t size;
    assert_int_equal(file_read(path, &bytes, &size, NULL), STATUS_OK);
    char *text = (char *)bytes, *fresh = NULL;
    size_t fresh_size = 0;
    FILE *out = open_memstream(&fresh, &fresh_size);
    char *at = strstr(text, "==== ");
    fwrite(text, 1, at ? (size_t)(at - text) : size, out);
    while (at) {
        char *source = strchr(at, '\n') + 1, *middle = strstr(at, "\n----\n");
        assert_non_null(middle);
        char *expected = middle + 6, *next = strstr(expected - 1, "\n==== ");
        char *end = next ? next + 1 : text + size;
        char *got = run_case(source, (size_t)(middle + 1 - source));
        totals->cases++;
        for (const char *error = got; (error = strstr(error, "error TW")) != NULL; error++)
            totals->errors += error == got || error[-1] == '\n';
        if (strlen(got) != (size_t)(end - expected) || memcmp(got, expected, strlen(got)) != 0) {
            totals->failures += !refresh;
            if (!refresh)
                printf("%s: %.*s\nexpected:\n%.*sgot:\n%s", path, (int)strcspn(at, "\n"), at,
                       (int)(end - expected), expected, got);
        }
        fwrite(at, 1, (size_t)(expected - at), out);
        fputs(got, out);
        mem_free(got);
        at = next ? next + 1 : NULL;
    }
    fclose(out);
    if (refresh)
        assert_int_equal(file_write_atomic(path, fresh, fresh_size, NULL), STATUS_OK);
    free(fresh);
    mem_free(bytes);
}

static void test_cases(void **state) {
    (void)state;
    bool refresh = getenv("TW_TEST_REFRESH") != NULL;
    Totals totals = {0};
    struct dirent **entries;
    int count = scandir("tests/asm/cases", &entries, NULL, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(entries[i]->d_name);
        if (length > 4 && strcmp(entries[i]->d_name + length - 4, ".txt") == 0) {
            char path[300];
            snprintf(path, sizeof path, "tests/asm/cases/%s", entries[i]->d_name);
            check_file(path, refresh, &totals);
        }
        free(entries[i]);
    }
    free(entries);
    printf("%u cases, %u errors\n", totals.cases, totals.errors);
    assert_true(totals.errors >= LEAST_ERRORS);
    assert_int_equal(totals.failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
