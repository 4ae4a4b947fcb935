/* UTF-8 characters and the search for the nearest word. */
#include "testing.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static void test_utf8(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        uint32_t code;
    } cases[] = {
        {"a", 1, 'a'},
        {"\xC2\x80", 2, 0x80},
        {"\xDF\xBF", 2, 0x7FF},
        {"\xE0\xA0\x80", 3, 0x800},
        {"\xED\x9F\xBF", 3, 0xD7FF},
        {"\xEE\x80\x80", 3, 0xE000},
        {"\xF0\x90\x80\x80", 4, 0x10000},
        {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
        {"\x80", 0, 0},
        {"\xC0\x80", 0, 0},
        {"\xC1\xBF", 0, 0},
        {"\xE0\x9F\xBF", 0, 0},
        {"\xED\xA0\x80", 0, 0},
        {"\xF0\x8F\xBF\xBF", 0, 0},
        {"\xF4\x90\x80\x80", 0, 0},
        {"\xF5\x80\x80\x80", 0, 0},
        {"\xFF", 0, 0},
        {"\xC2", 0, 0},
        {"\xC2x", 0, 0},
        {"\xE2\x82", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t code = 0;
        assert_int_equal(utf8_next(cases[i].text, strlen(cases[i].text), &code), cases[i].length);
        assert_int_equal(code, cases[i].code);
    }
    uint32_t code;
    assert_int_equal(utf8_next("", 0, &code), 0);
}

static const char *nearest_of(const char *word, const char *const *names, size_t count) {
    Nearest nearest = nearest_begin(word);
    for (size_t i = 0; i < count; i++)
        nearest_offer(&nearest, names[i]);
    return nearest.best;
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const names[] = {"rows", "inner", "columns", "threads", "tiles"};
    assert_string_equal(nearest_of("row", names, COUNT_OF(names)), "rows");
    assert_string_equal(nearest_of("colmuns", names, COUNT_OF(names)), "columns");
    assert_string_equal(nearest_of("tilse", names, COUNT_OF(names)), "tiles");
    assert_string_equal(nearest_of("inner", names, COUNT_OF(names)), "inner");
    assert_null(nearest_of("package", names, COUNT_OF(names)));
    assert_null(nearest_of("", names, COUNT_OF(names)));
    char big[101], other[101];
    memset(big, 'a', 100);
    memset(other, 'a', 100);
    big[100] = other[100] = 0;
    const char *pointer = other;
    assert_ptr_equal(nearest_of(big, &pointer, 1), other);
    other[50] = 'b';
    assert_null(nearest_of(big, &pointer, 1));
}

static void test_printable(void **state) {
    (void)state;
    char out[TEXT_PRINTABLE];
    assert_string_equal(text_printable("Gr\u00F6\u00DFe", out), "Gr\u00F6\u00DFe");
    assert_string_equal(text_printable("a\033[2J\x7F\xC2\x9B\xFF", out), "a?[2J???");
    char name[401];
    memset(name, 'n', 400);
    name[400] = 0;
    text_printable(name, out);
    assert_in_range(strlen(out), TEXT_PRINTABLE - 10, TEXT_PRINTABLE - 1);
    assert_string_equal(out + strlen(out) - strlen("…"), "…");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
