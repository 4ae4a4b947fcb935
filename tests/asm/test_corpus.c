/* Every tests/asm/corpus/NAME.S with its golden NAME.lst: messages, then the listing.
 * TW_TEST_REFRESH=1 writes the listings anew. Together the files use every form of the instruction
 * table and every directive. Each object survives ELF, and its disassembly assembles to the same
 * bytes. */
#include "testing.h"

#include "asm/asm.h"
#include "base/file.h"
#include "round_trip.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/asm/corpus/"
enum { LEAST_FILES = 150 };

static bool seen[ISA_FORM_COUNT];
static char *all_text; /* of all sources */

/* Texts of `.include`, alive until the file is assembled. */
typedef struct Texts {
    uint8_t *items[8];
    size_t count;
} Texts;

static const char *include(void *context, const char *name, size_t *size) {
    Texts *texts = context;
    char path[300];
    snprintf(path, sizeof path, FOLDER "%s", name);
    assert_true(texts->count < COUNT_OF(texts->items));
    if (file_read(path, &texts->items[texts->count], size, NULL) != STATUS_OK)
        return NULL;
    return (const char *)texts->items[texts->count++];
}

static void note_forms(const AsmObject *object) {
    for (size_t s = 0; s < object->section_count; s++) {
        const AsmSection *section = &object->sections[s];
        for (size_t i = 0; i < section->line_count; i++) {
            const AsmLine *line = &section->lines[i];
            uint32_t words[2] = {0};
            IsaPacket packet;
            if (!line->code)
                continue;
            memcpy(words, section->bytes + line->offset, line->size);
            if (isa_decode_packet(words, line->size / 4, ISA_WORKER, &packet) ||
                isa_decode_packet(words, line->size / 4, ISA_SUPERVISOR, &packet))
                seen[packet.main.form] = seen[packet.aux.form] = true;
        }
    }
}

/* Messages and listing of one source. */
static char *assemble(const char *name, const char *text, size_t size) {
    Texts texts = {0};
    AsmOptions options = {.include = include, .context = &texts};
    options.defines = asm_standard_defines(&options.define_count);
    Diag diag = {0};
    AsmObject *object;
    Status status = asm_assemble(name, text, size, &options, &object, &diag);
    char *messages = round_trip_messages(&diag);
    if (status != STATUS_OK)
        fail_msg("%s", messages);
    char *listing = asm_listing(object);
    assert_non_null(listing);
    round_trip_elf(object);
    round_trip_packets(object);
    round_trip_source(object);
    note_forms(object);
    char *all = mem_printf("%s%s", messages, listing);
    assert_non_null(all);
    free(messages);
    mem_free(listing);
    asm_object_free(object);
    for (size_t i = 0; i < texts.count; i++)
        mem_free(texts.items[i]);
    diag_free(&diag);
    return all;
}

/* False: the listing differs. */
static bool check_file(const char *name, bool refresh) {
    char path[300];
    uint8_t *text, *golden = NULL;
    size_t size, golden_size = 0;
    snprintf(path, sizeof path, FOLDER "%s", name);
    assert_int_equal(file_read(path, &text, &size, NULL), STATUS_OK);
    char *got = assemble(name, (const char *)text, size);
    char *more = mem_printf("%s%.*s", all_text ? all_text : "", (int)size, (const char *)text);
    mem_free(all_text);
    all_text = more;
    strcpy(strrchr(path, '.'), ".lst");
    bool same = true;
    if (refresh) {
        assert_int_equal(file_write_atomic(path, got, strlen(got), NULL), STATUS_OK);
    } else {
        assert_int_equal(file_read(path, &golden, &golden_size, NULL), STATUS_OK);
        same = golden_size == strlen(got) && memcmp(golden, got, golden_size) == 0;
        if (!same)
            print_error("%s differs; the assembler prints:\n%s", path, got);
        mem_free(golden);
    }
    mem_free(got);
    mem_free(text);
    return same;
}

static void every_file(void **state) {
    (void)state;
    bool refresh = getenv("TW_TEST_REFRESH") != NULL;
    struct dirent **entries;
    int count = scandir(FOLDER, &entries, NULL, alphasort);
    assert_true(count > 0);
    unsigned files = 0, different = 0;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(entries[i]->d_name);
        if (length > 2 && strcmp(entries[i]->d_name + length - 2, ".S") == 0) {
            files++;
            different += !check_file(entries[i]->d_name, refresh);
        }
        free(entries[i]);
    }
    free(entries);
    print_message("%u files\n", files);
    assert_int_equal(different, 0);
    assert_true(files >= LEAST_FILES);
}

/* Every form stands in the corpus, and every directive: what src/asm compares words with. */
static void uses_everything(void **state) {
    (void)state;
    unsigned missing = 0;
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        if (!seen[form]) {
            print_error("no file has the form %s\n", isa_form_info((IsaForm)form)->id);
            missing++;
        }
    }
    static const char *const sources[] = {"src/asm/directive.c", "src/asm/macro.c",
                                          "src/asm/assembler.c"};
    unsigned directives = 0;
    for (size_t f = 0; f < COUNT_OF(sources); f++) {
        uint8_t *text;
        size_t size;
        assert_int_equal(file_read(sources[f], &text, &size, NULL), STATUS_OK);
        for (const char *at = (const char *)text; (at = strstr(at, "\".")) != NULL; at += 2) {
            size_t length = strspn(at + 1, ".abcdefghijklmnopqrstuvwxyz_0123456789");
            char word[40];
            if (length < 3 || length >= sizeof word || at[1 + length] != '"')
                continue;
            snprintf(word, sizeof word, "%.*s", (int)length, at + 1);
            directives++;
            /* Of these two there is only the error. */
            if (strcmp(word, ".error") == 0 || strcmp(word, ".err") == 0)
                continue;
            if (!strstr(all_text, word)) {
                print_error("no file has %s\n", word);
                missing++;
            }
        }
        mem_free(text);
    }
    print_message("%u words of directives\n", directives);
    assert_true(directives > 80);
    assert_int_equal(missing, 0);
    mem_free(all_text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file),
        cmocka_unit_test(uses_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
