/* The sink of errors: contents, text form, merging, and life without memory. */
#include "testing.h"

#include "base/diag.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static char *printed(const Diag *diag) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    diag_print(diag, out);
    fclose(out);
    return text;
}

static Status fill(Diag *diag) {
    char file[] = "f.S";
    diag_warning(diag, ERR_FILE_READ, (DiagPlace){.file = file, .tile = -1}, "slow");
    Status status =
        diag_error(diag, ERR_FILE_OPEN,
                   (DiagPlace){.file = file, .line = 3, .column = 7, .tile = -1}, "bad %s", "word");
    memset(file, 'x', sizeof file - 1); /* the sink has a copy */
    diag_note(diag, "first %d", 1);
    diag_note(diag, "second");
    diag_fix(diag, "write it well");
    diag_error(diag, ERR_FILE_WRITE, (DiagPlace){.tile = 12, .object = "buffer %w[3]"}, "full");
    return status;
}

static void test_text(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(diag_status(&diag), STATUS_OK);
    assert_int_equal(fill(&diag), ERR_FILE_OPEN);
    assert_int_equal(diag_status(&diag), ERR_FILE_OPEN);
    assert_int_equal(diag.errors, 2);
    diag_error(&diag, ERR_THREAD, DIAG_NOWHERE, "none");
    char *text = printed(&diag);
    assert_string_equal(text, "warning TW0103 at f.S: slow\n"
                              "error TW0102 at f.S:3:7: bad word\n"
                              "  note: first 1\n"
                              "  note: second\n"
                              "  fix: write it well\n"
                              "error TW0104 at tile 12, buffer %w[3]: full\n"
                              "error TW0105: none\n");
    free(text);
    diag_free(&diag);
    assert_int_equal(diag.count, 0);
}

static void test_without_sink(void **state) {
    (void)state;
    assert_int_equal(fill(NULL), ERR_FILE_OPEN);
}

static void test_append(void **state) {
    (void)state;
    Diag all = {0}, one = {0};
    diag_append(&all, &one);
    fill(&one);
    diag_append(&all, &one);
    fill(&one);
    diag_append(&all, &one);
    assert_int_equal(one.count, 0);
    assert_int_equal(all.count, 6);
    assert_int_equal(all.errors, 4);
    assert_int_equal(diag_status(&all), ERR_FILE_OPEN);
    diag_free(&all);
}

/* Whatever allocation fails, the first error's code survives, and printing works. */
static void test_without_memory(void **state) {
    (void)state;
    for (uint64_t n = 1; n < 60; n++) {
        Diag all = {0}, one = {0};
        mem_fail_after(n);
        assert_int_equal(fill(&one), ERR_FILE_OPEN);
        assert_int_equal(diag_status(&one), ERR_FILE_OPEN);
        diag_append(&all, &one);
        assert_int_equal(diag_status(&all), ERR_FILE_OPEN);
        assert_int_equal(all.errors, 2);
        mem_fail_after(0);
        char *text = printed(&all);
        assert_non_null(strstr(text, "error TW0102"));
        free(text);
        diag_free(&all);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_without_sink),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
