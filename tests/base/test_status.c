/* errors.def, its lookups, and its agreement with the pages of docs/errors. */
#include "testing.h"

#include "base/embed.h"
#include "base/mem.h"
#include "base/status.h"

#include <ctype.h>
#include <string.h>

static void test_rows_ascend(void **state) {
    (void)state;
    int count;
    const StatusInfo *all = status_all(&count);
    assert_true(count >= 5);
    for (int i = 0; i < count; i++) {
        if (i > 0 && all[i].status <= all[i - 1].status)
            fail_msg("%s stands after %s in errors.def", all[i].name, all[i - 1].name);
        assert_in_range(all[i].status, 100, 9999);
        assert_in_range(all[i].exit_class, EXIT_CLASS_CHECK, EXIT_CLASS_INTERNAL);
        assert_ptr_equal(status_info(all[i].status), &all[i]);
        size_t length = strlen(all[i].title);
        bool shouts =
            isupper((unsigned char)all[i].title[0]) && islower((unsigned char)all[i].title[1]);
        if (length == 0 || shouts || all[i].title[length - 1] == '.')
            fail_msg("%s: a title has no capital and no full stop: %s", all[i].name, all[i].title);
    }
}

static void test_codes(void **state) {
    (void)state;
    assert_string_equal(status_code(ERR_FILE_OPEN), "TW0102");
    assert_string_equal(status_code(STATUS_OK), "TW0000");
    assert_null(status_info(STATUS_OK));
    assert_int_equal(status_from_code("TW0102"), ERR_FILE_OPEN);
    assert_int_equal(status_from_code("tw102"), ERR_FILE_OPEN);
    assert_int_equal(status_from_code("102"), ERR_FILE_OPEN);
    static const char *const bad[] = {"",     "TW",     "TW0099", "TW99999", "TW0102x", "T0102",
                                      "-102", "TW 102", "0",      "TW0000",  "W0102",   "x"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(status_from_code(bad[i]), STATUS_OK);
}

/* Every message can say what to do. */
static void test_remedies(void **state) {
    (void)state;
    int count;
    const StatusInfo *all = status_all(&count);
    char text[STATUS_REMEDY];
    for (int i = 0; i < count; i++) {
        size_t length = strlen(status_remedy(all[i].status, text));
        if (length < 10 || length >= STATUS_REMEDY - 1)
            fail_msg("docs/errors/%s.md tells no short thing to do: '%s'",
                     status_code(all[i].status), text);
    }
    assert_string_equal(status_remedy(ERR_LINK_PLACE, text),
                        "choose a lower base or a smaller program");
    assert_string_equal(status_remedy(STATUS_OK, text), "");
}

/* Each code has a page whose heading names the code, and each page has a code. */
static void test_pages(void **state) {
    (void)state;
    int count;
    const StatusInfo *all = status_all(&count);
    int missing = 0;
    for (int i = 0; i < count; i++) {
        const char *code = status_code(all[i].status);
        char name[16], heading[200];
        snprintf(name, sizeof name, "%s.md", code);
        snprintf(heading, sizeof heading, "# %s: %s\n", code, all[i].title);
        const EmbeddedFile *page = embed_find(tw_error_pages, name);
        if (!page) {
            print_error("docs/errors/%s is missing (%s)\n", name, all[i].name);
            missing++;
        } else if (strncmp(page->bytes, heading, strlen(heading)) != 0) {
            print_error("docs/errors/%s must begin with: %s", name, heading);
            missing++;
        } else if (page->size != strlen(page->bytes) || page->size < 200) {
            print_error("docs/errors/%s is too short or holds a zero byte\n", name);
            missing++;
        }
    }
    int pages = 0;
    for (const EmbeddedFile *page = tw_error_pages; page->name; page++) {
        char code[7] = "";
        memcpy(code, page->name, MIN_OF(strlen(page->name), sizeof code - 1));
        if (status_from_code(code) == STATUS_OK) {
            print_error("docs/errors/%s explains no code of errors.def\n", page->name);
            missing++;
        }
        pages++;
    }
    assert_int_equal(missing, 0);
    assert_int_equal(pages, count);
    assert_null(embed_find(tw_error_pages, "TW0000.md"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_ascend),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_remedies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
