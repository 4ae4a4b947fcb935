#include "testing.h"

#include "asm/asm.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

static AsmObject *assemble(const char *text) {
    Diag diag = {0};
    AsmObject *object;
    if (asm_assemble("t.S", text, strlen(text), NULL, &object, &diag) != STATUS_OK) {
        diag_print(&diag, stdout);
        fail();
    }
    assert_int_equal(diag.count, 0);
    diag_free(&diag);
    return object;
}

static uint32_t word_at(const AsmImage *image, uint32_t address) {
    uint32_t word;
    assert_true(address >= image->base && address + 4 <= image->base + image->size);
    memcpy(&word, image->bytes + (address - image->base), 4);
    return word;
}

/* ---- linking */

static const char first_source[] = ".globl entry, table\n"
                                   ".supervisor\n"
                                   "entry: call $m10, helper\n"
                                   "    setzi $m0, table + 4\n"
                                   "    setzi $m1, RUNTIME\n"
                                   "    brz $m0, local\n"
                                   "local: br $m10\n"
                                   ".data\n"
                                   "table: .int entry, helper, 1f - table, local@abs19@s2\n"
                                   "1:  .half 7\n";
static const char second_source[] = ".section .text.helper, \"ax\"\n"
                                    ".globl helper\n"
                                    ".type helper, @function\n"
                                    ".align 8\n"
                                    "helper: nop\n"
                                    "local: br $m10\n"
                                    ".size helper, . - helper\n"
                                    ".bss\n"
                                    ".globl zeros\n"
                                    "zeros: .space 10\n"
                                    ".section .comment\n"
                                    ".ascii \"not loaded\"\n";

static void test_link(void **state) {
    (void)state;
    AsmObject *objects[2] = {assemble(first_source), assemble(second_source)};
    const AsmObject *const *list = (const AsmObject *const *)objects;
    AsmDefine runtime = {"RUNTIME", 0x58000};
    AsmImage image;
    assert_int_equal(asm_link(list, 2, 0x4C100, &runtime, 1, &image, NULL), STATUS_OK);
    /* .text of 20 bytes, .text.helper aligned to 8, then .data of 18 bytes, then .bss. */
    uint32_t entry, helper, table, zeros, none;
    assert_true(asm_image_symbol(&image, "entry", &entry));
    assert_true(asm_image_symbol(&image, "helper", &helper));
    assert_true(asm_image_symbol(&image, "table", &table));
    assert_true(asm_image_symbol(&image, "zeros", &zeros));
    assert_false(asm_image_symbol(&image, "RUNTIME", &none));
    assert_int_equal(entry, 0x4C100);
    assert_int_equal(helper, 0x4C118);
    assert_int_equal(table, 0x4C120);
    assert_int_equal(zeros, 0x4C132);
    assert_int_equal(image.code_size, 0x20);
    assert_int_equal(image.size, 0x3C);
    assert_int_equal(asm_link_size(list, 2), 0x3C);
    assert_int_equal(word_at(&image, entry), 0x18A00000 | helper >> 2);
    assert_int_equal(word_at(&image, entry + 4), 0x19000000 | (table + 4));
    assert_int_equal(word_at(&image, entry + 8), 0x19100000 | 0x58000);
    assert_int_equal(word_at(&image, entry + 12), 0x13000000 | (entry + 16) >> 2);
    assert_int_equal(word_at(&image, table), entry);
    assert_int_equal(word_at(&image, table + 4), helper);
    assert_int_equal(word_at(&image, table + 8), 16);
    assert_int_equal(word_at(&image, table + 12), (entry + 16) >> 2);
    assert_int_equal(word_at(&image, 0x4C138), 0);
    for (size_t i = 1; i < image.symbol_count; i++)
        assert_true(image.symbols[i - 1].address <= image.symbols[i].address);
    const AsmImageLine *line = asm_image_line(&image, entry + 6);
    assert_non_null(line);
    assert_int_equal(line->address, entry + 4);
    assert_int_equal(line->line, 4);
    assert_string_equal(line->file, "t.S");
    assert_true(line->code);
    assert_int_equal(line->mode, ISA_SUPERVISOR);
    assert_null(asm_image_line(&image, entry - 4));
    assert_null(asm_image_line(&image, entry + 20)); /* padding */
    assert_int_equal(asm_image_line(&image, helper)->line, 5);
    asm_image_free(&image);
    asm_object_free(objects[0]);
    asm_object_free(objects[1]);
}

static void expect_link_error(const char *one, const char *two, uint32_t base, Status code,
                              const char *text) {
    AsmObject *objects[2] = {assemble(one), two ? assemble(two) : NULL};
    AsmImage image;
    Diag diag = {0};
    Status status =
        asm_link((const AsmObject *const *)objects, two ? 2 : 1, base, NULL, 0, &image, &diag);
    assert_int_equal(status, code);
    assert_int_equal(diag.entries[0].code, code);
    assert_string_equal(diag.entries[0].text, text);
    assert_null(image.bytes);
    diag_free(&diag);
    asm_object_free(objects[0]);
    asm_object_free(objects[1]);
}

static void test_link_errors(void **state) {
    (void)state;
    expect_link_error("call $m0, none\n", NULL, 0x4C000, ERR_LINK_SYMBOL, "`none` is not defined");
    expect_link_error(".globl a\na: nop\n", ".globl a\na: nop\n", 0x4C000, ERR_LINK_SYMBOL,
                      "`a` is defined in more than one object");
    expect_link_error("a: or $m0, $m0, a\n", NULL, 0x4C000, ERR_LINK_VALUE,
                      "`a` is 0x4C000 here, which does not fit into the high 12 bits");
    expect_link_error("a: .half a\n", NULL, 0x4C000, ERR_LINK_VALUE,
                      "`a` is 0x4C000 here, which does not fit into 16 bits");
    expect_link_error(
        "a: br $m0\n bri a + 2\n", NULL, 0x4C000, ERR_LINK_VALUE,
        "`a` is 0x4C002 here, which does not fit into a branch: a multiple of 4 below "
        "0x200000");
    expect_link_error(".align 16\nnop\n", NULL, 0x4C008, ERR_LINK_PLACE,
                      "section .text needs an alignment of 16 bytes, the base 0x4C008 has less");
    expect_link_error("nop\nnop\n", NULL, 0x7FFFC, ERR_LINK_PLACE,
                      "code ends at 0x80004, and only memory below 0x80000 can be executed");
    expect_link_error(".data\n.space 16\n", NULL, 0xE7FFC, ERR_LINK_PLACE,
                      "the image ends at 0xE800C, tile memory at 0xE8000");
}

/* The place of a link error is the statement. */
static void test_link_error_place(void **state) {
    (void)state;
    AsmObject *object = assemble("nop\n\n call $m0, none\n");
    AsmImage image;
    Diag diag = {0};
    asm_link((const AsmObject *const *)&object, 1, 0x4C000, NULL, 0, &image, &diag);
    assert_int_equal(diag.entries[0].place.line, 3);
    assert_string_equal(diag.entries[0].place.file, "t.S");
    diag_free(&diag);
    asm_object_free(object);
    /* The first code beyond executable memory. */
    object = assemble("nop\nnop\n.section .text.b, \"ax\"\nnop\n nop\n nop\n");
    diag = (Diag){0};
    assert_int_equal(
        asm_link((const AsmObject *const *)&object, 1, 0x7FFF0, NULL, 0, &image, &diag),
        ERR_LINK_PLACE);
    assert_int_equal(diag.entries[0].place.line, 6);
    diag_free(&diag);
    asm_object_free(object);
}

static void test_defines(void **state) {
    (void)state;
    AsmDefine define = {"ROWS", 6};
    AsmOptions options = {.defines = &define, .define_count = 1};
    const char *text = ".if ROWS != 6\n.error \"no\"\n.endif\nsetzi $m0, ROWS * 4\n";
    AsmObject *object;
    assert_int_equal(asm_assemble("t.S", text, strlen(text), &options, &object, NULL), STATUS_OK);
    uint32_t word;
    memcpy(&word, object->sections[0].bytes, 4);
    assert_int_equal(word, 0x19000018);
    assert_non_null(asm_object_symbol(object, "ROWS"));
    assert_int_equal(asm_object_symbol(object, "ROWS")->section, ASM_ABSOLUTE);
    assert_null(asm_object_symbol(object, "COLUMNS"));
    asm_object_free(object);
    const char *include = ".include \"x\"\n";
    assert_int_equal(asm_assemble("t.S", include, strlen(include), NULL, &object, NULL),
                     ERR_ASM_DIRECTIVE);
    assert_null(object);
}

static void test_standard_defines(void **state) {
    (void)state;
    AsmOptions options = {0};
    options.defines = asm_standard_defines(&options.define_count);
    const char *text = ".worker\nuput CSR_W_FP_CLR__INDEX & CSR_UPPER_MASK, $a0\n"
                       "f8v8hihov4amp $a0:1, $a2:3, $a4:5, TAMP_F16V4_E4_P3\n"
                       ".int TMEM_FULL_ADDRESS_MASK, TFPU_FP32_TRUE\n";
    AsmObject *object;
    assert_int_equal(asm_assemble("t.S", text, strlen(text), &options, &object, NULL), STATUS_OK);
    uint32_t words[4];
    memcpy(words, object->sections[0].bytes, sizeof words);
    IsaInstr instr;
    assert_int_equal(isa_decode(&words[0], 1, &instr), 4);
    assert_int_equal(instr.form, ISA_UPUT);
    assert_int_equal(instr.operand[0], 1);
    assert_int_equal(isa_decode(&words[1], 1, &instr), 4);
    assert_int_equal(instr.operand[3], 3);
    assert_int_equal(words[2], 0x1FFFFF);
    assert_int_equal(words[3], 0xFFFFFFFF);
    asm_object_free(object);
    for (size_t i = 0; i < options.define_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(options.defines[i].name, options.defines[k].name);
}

/* The header for the preprocessor has the same names and values. */
static void test_standard_header(void **state) {
    (void)state;
    uint8_t *bytes;
    size_t size, count;
    assert_int_equal(file_read("include/tilework/asm/ipu21.h", &bytes, &size, NULL), STATUS_OK);
    char *text = (char *)bytes;
    const AsmDefine *defines = asm_standard_defines(&count);
    for (size_t i = 0; i < count; i++) {
        char line[128];
        snprintf(line, sizeof line, "\n#define %s ", defines[i].name);
        const char *at = strstr(text, line);
        if (!at)
            fail_msg("ipu21.h lacks %s", defines[i].name);
        assert_int_equal(strtoll(at + strlen(line), NULL, 0), defines[i].value);
    }
    size_t lines = 0;
    for (const char *at = text; (at = strstr(at, "\n#define ")) != NULL; at++)
        lines++;
    assert_int_equal(lines, count + 1); /* its own guard */
    mem_free(bytes);
}

static void test_longest_repeat(void **state) {
    (void)state;
    AsmObject *object = assemble(".worker\nnop\nrpt $m0, (2f - 1f) / 8 - 1\n1: .rept 256\n"
                                 "{nop; fnop}\n.endr\n2:\n");
    assert_int_equal(object->sections[0].size, 8 + 256 * 8);
    assert_int_equal(object->sections[0].align, 8);
    asm_object_free(object);
}

/* ---- limits */

static void expect_error(const char *text, size_t size, Status code) {
    AsmObject *object;
    Diag diag = {0};
    assert_int_equal(asm_assemble("t.S", text, size, NULL, &object, &diag), code);
    assert_null(object);
    diag_free(&diag);
}

static void test_limits(void **state) {
    (void)state;
    char *deep = mem_alloc(20000, 1);
    memset(deep, '(', 20000);
    memcpy(deep, ".int ", 5);
    expect_error(deep, 20000, ERR_ASM_LIMIT);
    mem_free(deep);
    const char *huge = ".space 0x7FFFFFFF\n";
    expect_error(huge, strlen(huge), ERR_ASM_DIRECTIVE);
    const char *loop = ".rept 1000000000\n\n.endr\n";
    expect_error(loop, strlen(loop), ERR_ASM_LIMIT);
    const char *grow = ".rept 1000000000\n.int 1\n.endr\n";
    expect_error(grow, strlen(grow), ERR_ASM_LIMIT);
    const char *marks = ".rept 1000000000\n# 1 \"f\"\n.endr\n";
    expect_error(marks, strlen(marks), ERR_ASM_LIMIT);
    const char *bomb = ".macro M a\n M \\a\\a\n.endm\n M x\n";
    expect_error(bomb, strlen(bomb), ERR_ASM_LIMIT);
    const char *sections =
        ".macro S\n.section s\\@\n.space 4000000\n.endm\n.rept 1000\n S\n.endr\n";
    expect_error(sections, strlen(sections), ERR_ASM_LIMIT);
    const char *overflow = ".fill 0x7FFFFFFFFFFFFFFF, 8\n";
    expect_error(overflow, strlen(overflow), ERR_ASM_DIRECTIVE);
    AsmObject *object;
    const char *tree = ".rept 64\n.set a, a + a\n.endr\n.int a\n";
    assert_int_not_equal(asm_assemble("t.S", tree, strlen(tree), NULL, &object, NULL), STATUS_OK);
}

/* Expansions of a megabyte each, which a condition skips. */
static void test_long_expansions(void **state) {
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs(".macro M a\n.if 0\n", out);
    for (int i = 0; i < 1024; i++)
        fputs("\\a", out);
    fprintf(out, "\n.endif\n.endm\n.rept 100000\n M %01024d\n.endr\n", 0);
    fclose(out);
    expect_error(text, size, ERR_ASM_LIMIT);
    free(text);
}

/* No end of warnings is told, and what they say does not keep the source from assembling. */
static void test_many_warnings(void **state) {
    (void)state;
    const char *text = ".rept 3000\n.warning \"w\"\n.endr\n";
    AsmObject *object;
    Diag diag = {0};
    assert_int_equal(asm_assemble("t.S", text, strlen(text), NULL, &object, &diag), STATUS_OK);
    assert_int_equal(diag.count, 1000);
    assert_non_null(strstr(diag.entries[999].notes, "no more than 1000 warnings are told"));
    asm_object_free(object);
    diag_free(&diag);
}

/* Symbols that are set to two others each, or one to the next, by the thousand. */
static void test_long_evaluations(void **state) {
    (void)state;
    for (int chain = 0; chain < 2; chain++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        int count = chain ? 100000 : 60;
        for (int i = 0; i < count; i++)
            fprintf(out, ".set s%d, s%d + %s%d\n", i, i + 1, chain ? "" : "s", i + 1);
        fprintf(out, ".set s%d, 1\n.long s0\n", count);
        fclose(out);
        expect_error(text, size, ERR_ASM_EXPRESSION);
        free(text);
    }
}

/* Many files, sections and numeric labels cost no more than their number. */
static void test_many_names(void **state) {
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < 30000; i++)
        fprintf(out, "# %d \"file%d\"\n.section s%d\n%d: l%d:\n", i, i, i % 1000, i, i);
    fclose(out);
    AsmObject *object;
    assert_int_equal(asm_assemble("t.S", text, size, NULL, &object, NULL), STATUS_OK);
    assert_int_equal(object->section_count, 1001);
    char *listing = asm_listing(object);
    assert_non_null(listing);
    mem_free(listing);
    asm_object_free(object);
    free(text);
}

/* Not more than a hundred errors are told. */
static void test_error_count(void **state) {
    (void)state;
    const char *text = ".rept 1000\nbad\n.endr\n";
    AsmObject *object;
    Diag diag = {0};
    assert_int_equal(asm_assemble("t.S", text, strlen(text), NULL, &object, &diag),
                     ERR_ASM_MNEMONIC);
    assert_int_equal(diag.errors, 100);
    diag_free(&diag);
}

/* ---- allocation failures */

static const char busy_source[] =
    ".macro STEP r, n=2, rest:vararg\n"
    "    {ld64step \\r, $mzero, $m2+=, \\n\n"
    "     f16v4add $a2:3, $a2:3, \\r}\n"
    ".endm\n"
    ".set COUNT, 3\n.worker\n.globl run\nrun:\n"
    "    ldconst $m0, 0x12345678\n    nop\n"
    "    rpt $m0, (2f - 1f) / 8 - 1\n1:\n"
    ".rept COUNT\n STEP $a0:1\n.endr\n2:\n"
    ".irp x, 1, 2\n setzi $m\\x, table\n.endr\n"
    "    bri run\n call $m1, outside\n"
    ".data\ntable: .int run, later - table, 5\n .asciz \"text\"\nlater:\n"
    ".size run, 2b - run\n";

static bool try_everything(void) {
    AsmObject *object = NULL, *back = NULL;
    uint8_t *bytes = NULL;
    size_t size;
    AsmImage image = {0};
    Diag diag = {0};
    AsmDefine outside = {"outside", 0x4C000};
    char *listing = NULL;
    bool good =
        asm_assemble("t.S", busy_source, strlen(busy_source), NULL, &object, &diag) == STATUS_OK &&
        asm_elf_write(object, &bytes, &size, &diag) == STATUS_OK &&
        asm_elf_read("t.o", bytes, size, &back, &diag) == STATUS_OK &&
        asm_link((const AsmObject *const *)&back, 1, 0x4C000, &outside, 1, &image, &diag) ==
            STATUS_OK &&
        (listing = asm_listing(back)) != NULL;
    assert_true(good || diag_status(&diag) != STATUS_OK || !listing);
    mem_free(listing);
    asm_image_free(&image);
    asm_object_free(back);
    asm_object_free(object);
    mem_free(bytes);
    diag_free(&diag);
    return good;
}

static void test_no_memory(void **state) {
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        mem_fail_after(n);
        bool good = try_everything();
        mem_fail_after(0);
        if (good)
            break;
        assert_true(n < 10000);
    }
    printf("%llu allocations\n", (unsigned long long)n - 1);
    assert_true(n > 20);
}

/* ---- damaged objects */

static void test_damaged_elf(void **state) {
    (void)state;
    AsmObject *object = assemble(busy_source);
    uint8_t *bytes, *copy;
    size_t size;
    assert_int_equal(asm_elf_write(object, &bytes, &size, NULL), STATUS_OK);
    asm_object_free(object);
    uint64_t seed = 5;
    printf("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int refused = 0, turns = getenv("TW_TEST_ALL") ? 200000 : 3000;
    copy = mem_alloc(size, 1);
    for (int i = 0; i < turns; i++) {
        memcpy(copy, bytes, size);
        size_t length = size;
        if (i % 4 == 0)
            length = random_below(&random, size);
        else
            for (uint64_t k = random_below(&random, 4) + 1; k > 0; k--)
                copy[random_below(&random, size)] = (uint8_t)random_next(&random);
        Diag diag = {0};
        AsmObject *back;
        Status status = asm_elf_read("t.o", copy, length, &back, &diag);
        assert_true(status == STATUS_OK || status == ERR_ASM_OBJECT);
        if (status == STATUS_OK) {
            mem_free(asm_listing(back));
            AsmImage image;
            if (asm_link((const AsmObject *const *)&back, 1, 0x4C000, NULL, 0, &image, &diag) ==
                STATUS_OK)
                asm_image_free(&image);
        }
        refused += status != STATUS_OK;
        asm_object_free(back);
        diag_free(&diag);
    }
    printf("%d of %d refused\n", refused, turns);
    assert_true(refused > turns / 3);
    mem_free(copy);
    mem_free(bytes);
}

/* Foreign files are refused with a code. */
static void test_foreign_files(void **state) {
    (void)state;
    AsmObject *object;
    Diag diag = {0};
    assert_int_equal(asm_elf_read("x", (const uint8_t *)"", 0, &object, &diag), ERR_ASM_OBJECT);
    assert_string_equal(diag.entries[0].text, "this is no ELF file");
    uint8_t elf64[64] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
    assert_int_equal(asm_elf_read("x", elf64, sizeof elf64, &object, NULL), ERR_ASM_OBJECT);
    diag_free(&diag);
}

/* Prints the speed; only a test of shape: the object has a word for every line. */
static void test_thousand_lines(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fputs(".worker\n.macro STEP a, b\n{ld64step \\a, $mzero, $m0+=, 1; f16v4add \\b, \\b, \\a}\n"
          ".endm\n",
          out);
    for (int i = 0; i < 250; i++)
        fprintf(out,
                "label%d: add $m0, $m1, %d // comment\n    brnz $m0, label%d\n"
                "    .if %d > 5\n    STEP $a0:1, $a2:3\n    .endif\n",
                i, i, (i + 7) % 250, i);
    fclose(out);
    double start = clock_seconds();
    AsmObject *object;
    Diag diag = {0};
    assert_int_equal(asm_assemble("t.S", text, size, NULL, &object, &diag), STATUS_OK);
    printf("1254 lines in %.2f ms\n", (clock_seconds() - start) * 1e3);
    assert_int_equal(object->sections[0].size, 250 * 8 + 244 * 8);
    asm_object_free(object);
    diag_free(&diag);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_link_errors),
        cmocka_unit_test(test_defines),
        cmocka_unit_test(test_link_error_place),
        cmocka_unit_test(test_longest_repeat),
        cmocka_unit_test(test_standard_defines),
        cmocka_unit_test(test_standard_header),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_error_count),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_damaged_elf),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_thousand_lines),
        cmocka_unit_test(test_long_expansions),
        cmocka_unit_test(test_many_warnings),
        cmocka_unit_test(test_long_evaluations),
        cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
