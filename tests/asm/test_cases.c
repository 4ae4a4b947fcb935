/* Every tests/asm/cases/<topic>.txt holds cases: "==== title", source, "----", what assembling it
 * prints: messages, then the listing if there were no errors. TW_TEST_REFRESH=1 writes the expected
 * parts anew. Each object also survives ELF, and its disassembly assembles to the same bytes. */
#include "testing.h"

#include "asm/asm.h"
#include "base/file.h"

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

static char *print_diag(const Diag *diag) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    diag_print(diag, out);
    fclose(out);
    return text;
}

static void assert_same_object(const AsmObject *left, const AsmObject *right) {
    assert_int_equal(left->section_count, right->section_count);
    assert_int_equal(left->symbol_count, right->symbol_count);
    for (size_t i = 0; i < left->section_count; i++) {
        const AsmSection *l = &left->sections[i], *r = &right->sections[i];
        assert_string_equal(l->name, r->name);
        assert_int_equal(l->flags, r->flags);
        assert_int_equal(l->align, r->align);
        assert_int_equal(l->size, r->size);
        if (l->bytes && l->size)
            assert_memory_equal(l->bytes, r->bytes, l->size);
        assert_int_equal(l->line_count, r->line_count);
        assert_int_equal(l->reloc_count, r->reloc_count);
        for (size_t k = 0; k < l->reloc_count; k++) {
            assert_int_equal(l->relocs[k].offset, r->relocs[k].offset);
            assert_int_equal(l->relocs[k].symbol, r->relocs[k].symbol);
            assert_int_equal(l->relocs[k].addend, r->relocs[k].addend);
            assert_int_equal(l->relocs[k].line, r->relocs[k].line);
            assert_int_equal(l->relocs[k].type, r->relocs[k].type);
        }
        for (size_t k = 0; k < l->line_count; k++) {
            assert_int_equal(l->lines[k].offset, r->lines[k].offset);
            assert_int_equal(l->lines[k].line, r->lines[k].line);
        }
    }
    for (size_t i = 0; i < left->symbol_count; i++) {
        assert_string_equal(left->symbols[i].name, right->symbols[i].name);
        assert_int_equal(left->symbols[i].section, right->symbols[i].section);
        assert_int_equal(left->symbols[i].value, right->symbols[i].value);
        assert_int_equal(left->symbols[i].size, right->symbols[i].size);
        assert_int_equal(left->symbols[i].global, right->symbols[i].global);
        assert_int_equal(left->symbols[i].function, right->symbols[i].function);
    }
}

static void check_elf(const AsmObject *object) {
    uint8_t *bytes, *again;
    size_t size, again_size;
    AsmObject *back;
    Diag diag = {0};
    assert_int_equal(asm_elf_write(object, &bytes, &size, &diag), STATUS_OK);
    assert_int_equal(asm_elf_read("case.o", bytes, size, &back, &diag), STATUS_OK);
    assert_same_object(object, back);
    assert_int_equal(asm_elf_write(back, &again, &again_size, &diag), STATUS_OK);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
    asm_object_free(back);
    mem_free(bytes);
    mem_free(again);
    diag_free(&diag);
}

/* The words of a code line (unlinked, so branch targets are 0) -> text -> the same words. */
static void check_disassembly(const AsmSection *section, const AsmLine *line) {
    uint32_t words[2] = {0};
    memcpy(words, section->bytes + line->offset, line->size);
    IsaPacket packet;
    IsaMode mode = (IsaMode)line->mode;
    if (!isa_decode_packet(words, line->size / 4, ISA_WORKER, &packet) || mode == ISA_SUPERVISOR) {
        mode = ISA_SUPERVISOR;
        assert_true(isa_decode_packet(words, line->size / 4, ISA_SUPERVISOR, &packet));
    }
    char text[2 * ISA_TEXT_SIZE], source[3 * ISA_TEXT_SIZE];
    isa_disassemble_packet(&packet, mode, text);
    snprintf(source, sizeof source, "%s\n.allow_invalid_operands\n.allow_invalid_repeat\n%s\n",
             mode == ISA_WORKER       ? ".worker"
             : mode == ISA_SUPERVISOR ? ".supervisor"
                                      : "",
             text);
    Diag diag = {0};
    AsmObject *object;
    Status status = asm_assemble("text", source, strlen(source), NULL, &object, &diag);
    if (status != STATUS_OK) {
        diag_print(&diag, stdout);
        fail_msg("the disassembly does not assemble: %s", text);
    }
    assert_int_equal(object->sections[0].size, line->size);
    assert_memory_equal(object->sections[0].bytes, words, line->size);
    asm_object_free(object);
    diag_free(&diag);
}

/* What the case prints. */
static char *run_case(const char *source, size_t size) {
    Diag diag = {0};
    AsmObject *object;
    Status status = asm_assemble("case.S", source, size, &options, &object, &diag);
    assert_true((status == STATUS_OK) == (diag.errors == 0));
    char *messages = print_diag(&diag), *listing = NULL;
    if (status == STATUS_OK) {
        listing = asm_listing(object);
        assert_non_null(listing);
        check_elf(object);
        for (size_t s = 0; s < object->section_count; s++)
            for (size_t i = 0; i < object->sections[s].line_count; i++)
                if (object->sections[s].lines[i].code)
                    check_disassembly(&object->sections[s], &object->sections[s].lines[i]);
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
    unsigned cases, failures;
} Totals;

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
    printf("%u cases\n", totals.cases);
    assert_int_equal(totals.failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
