/* Packages in memory and in files: round trips, canonical digests, lookups, comparison. */
#include "base/file.h"
#include "base/random.h"
#include "chip/chip.h"
#include "pack/fixture.h"
#include "pack/folder.h"
#include "pack/rows.h"

#include <sqlite3.h>
#include <xxhash.h>
#include <zstd.h>

static const Precision f8 = {PRECISION_F8F143, -4};

static void add_parameter(Package *package, uint64_t seed) {
    const PackageBinding *w = package_find(package, "w");
    uint64_t count;
    assert_true(shape_count(&w->shape, &count));
    uint8_t *codes = mem_alloc(count, precision_bytes(w->format.precision));
    Random random = random_seed(seed);
    for (uint64_t i = 0; i < count; i++)
        codes[i] = (uint8_t)random_below(&random, 128);
    assert_int_equal(package_set_parameter(package, w, codes, NULL), STATUS_OK);
    mem_free(codes);
}

static void add_note(Package *package, const char *name, const char *text) {
    PackageNote note = {package_string(package, name), package_string(package, text)};
    assert_true(vec_push(&package->notes, note));
}

/* Every table has rows. */
static Package *whole_package(const Fixture *f) {
    Package *package = fixture_package(f);
    add_parameter(package, 1);
    add_note(package, "plan", "two\nlines");
    add_note(package, "graph", "");
    fixture_finish(package);
    return package;
}

static void expect_equal(const Package *a, const Package *b) {
    FILE *out = tmpfile();
    assert_int_equal(package_diff(a, b, out, 10), 0);
    fclose(out);
    PackageDigest x = package_digest(a), y = package_digest(b);
    assert_memory_equal(&x, &y, sizeof x);
}

static Package *read_back(const char *path) {
    Package *package;
    Diag diag = {0};
    fixture_expect(package_read(path, &package, &diag), &diag);
    return package;
}

static uint8_t *file_bytes(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void test_round_trip(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 70, 40, "f8f143(s=-4)", 6);
    Package *package = whole_package(&f);
    char path[300], other[300];
    Diag diag = {0};
    in_folder("a b#%?.twpkg", path);
    in_folder("other", other);
    fixture_expect(package_write(package, path, 0, &diag), &diag);
    Package *again = read_back(path);
    expect_equal(package, again);
    assert_int_equal(again->tile_count, 6);
    assert_string_equal(again->producer, "test 1");
    const PackageBinding *x = package_find(again, "x");
    assert_int_equal(x->kind, PACKAGE_INPUT);
    assert_true(precision_equal(x->format.precision, f8));
    assert_true(format_equal(&x->format, &package_find(package, "x")->format));
    assert_null(package_find(again, "v"));

    /* The same bytes when what was read is written again; other levels, the same content. */
    fixture_expect(package_write(again, other, 0, &diag), &diag);
    size_t size, other_size;
    uint8_t *bytes = file_bytes(path, &size), *other_bytes = file_bytes(other, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, other_bytes, size);
    free(bytes);
    free(other_bytes);
    package_free(again);
    fixture_expect(package_write(package, other, 9, &diag), &diag);
    again = read_back(other);
    expect_equal(package, again);
    package_free(again);
    package_free(package);
    fixture_free(&f);
}

/* The digest does not depend on the order in which a package was filled, but on all it holds. */
static void test_digest(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 64, 32, "f16", 3);
    Package *a = whole_package(&f);
    Package *b = fixture_package(&f);
    add_note(b, "graph", "");
    add_note(b, "plan", "two\nlines");
    for (size_t i = 0, j = b->segments.count - 1; i < j; i++, j--) {
        PackageSegment swap = b->segments.items[i];
        b->segments.items[i] = b->segments.items[j];
        b->segments.items[j] = swap;
    }
    add_parameter(b, 1);
    fixture_finish(b);
    expect_equal(a, b);

    PackageDigest before = package_digest(a), after;
    b->notes.items[1].text = "two\nline";
    after = package_digest(b);
    assert_memory_not_equal(&before, &after, sizeof before);
    package_free(b);
    b = fixture_package(&f);
    add_parameter(b, 2);
    add_note(b, "plan", "two\nlines");
    add_note(b, "graph", "");
    fixture_finish(b);
    after = package_digest(b);
    assert_memory_not_equal(&before, &after, sizeof before);
    package_free(b);
    package_free(a);
    fixture_free(&f);
}

static void test_diff(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 64, 32, "f16", 3);
    Package *a = whole_package(&f), *b = whole_package(&f);
    b->entries.items[1].address += 4;
    b->notes.items[1].name = "plans";
    b->segments.items[0].blob = PACKAGE_NONE;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(package_diff(a, b, out, 10), 4);
    fclose(out);
    assert_non_null(strstr(text, "- entries name=run tile=1 address=0x4C010\n"
                                 "+ entries name=run tile=1 address=0x4C014\n"));
    assert_non_null(strstr(text, "- notes name=plan text=two…\n+ notes name=plans text=two…\n"));
    assert_non_null(strstr(text, "+ segments tile=0 address=0x4C010 size=8 flags=5 blob=none\n"));
    free(text);
    out = open_memstream(&text, &size);
    assert_int_equal(package_diff(a, b, out, 1), 4);
    fclose(out);
    assert_non_null(strstr(text, "notes: 1 more rows differ"));
    free(text);
    package_free(a);
    package_free(b);
    fixture_free(&f);
}

static void test_source(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 64, 32, "f16", 3);
    Package *package = whole_package(&f);
    PackageSource source;
    assert_true(package_source(package, 2, f.library.kernel[0] + 4, &source));
    assert_string_equal(source.function, f.library.name[0]);
    assert_int_equal(source.offset, 4);
    assert_string_equal(source.file, "gemm.S");
    assert_true(source.line > 0);
    assert_true(package_source(package, 0, f.library.sample, &source));
    assert_string_equal(source.function, "tilework_sample");
    assert_string_equal(source.file, "runtime.S");
    assert_true(package_source(package, 1, CHIP_ENTRY_STUB + 4, &source));
    assert_string_equal(source.function, "entry stub");
    assert_null(source.file);
    const EmitCode *code = &f.images.programs.items[0].code;
    assert_true(package_source(package, 0, code->address, &source));
    assert_string_equal(source.function, EMIT_RUN);
    assert_true(package_source(package, 0, code->address + 8, &source));
    assert_non_null(strstr(source.function, "run step 0: gemm"));
    assert_false(package_source(package, 0, CHIP_TILE_MEM_BASE, &source));
    assert_false(package_source(package, 0, CHIP_HOST_WINDOW_BASE, &source));
    assert_false(package_source(package, 9, CHIP_ENTRY_STUB, &source));
    package_free(package);
    fixture_free(&f);
}

/* Parameters: one blob a different shard, one segment a slice, and the segments hold the shards. */
static void test_parameters(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 64, 64, 32, "f8f143(s=-4)", 4);
    Package *package = fixture_package(&f);
    size_t blobs = package->blobs.count, segments = package->segments.count;
    add_parameter(package, 3);
    const PackageBinding *w = package_find(package, "w");
    assert_int_equal(package->segments.count - segments, w->slice_count);
    assert_int_equal(package->blobs.count - blobs, format_shards(&w->format));
    const PackageSegment *segment = &package->segments.items[segments];
    uint8_t *bytes = mem_alloc(segment->size, 1), *logical = mem_alloc(64 * 32, 1);
    binding_unpack(w, 0, package->blobs.items[segment->blob].bytes, logical);
    binding_pack(w, 0, logical, bytes);
    assert_memory_equal(bytes, package->blobs.items[segment->blob].bytes, segment->size);
    mem_free(bytes);
    mem_free(logical);
    fixture_finish(package);
    package_free(package);
    fixture_free(&f);
}

static void test_memory(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 64, 32, "f16", 3);
    Package *package = whole_package(&f);
    char path[300];
    in_folder("memory", path);
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status; n++) {
        Diag diag = {0};
        mem_fail_after(n);
        status = package_write(package, path, 0, &diag);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        diag_free(&diag);
    }
    status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status; n++) {
        Package *again = NULL;
        Diag diag = {0};
        mem_fail_after(n);
        status = package_read(path, &again, &diag);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        assert_int_equal(again != NULL, status == STATUS_OK);
        package_free(again);
        diag_free(&diag);
    }
    package_free(package);
    status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status; n++) {
        Diag diag = {0};
        mem_fail_after(n);
        package = package_create("test", f.tiles.tiles);
        status = package ? package_build(package, f.graph, &f.tiles, &f.library, &f.images,
                                         &f.places, NULL, &diag)
                         : ERR_NO_MEMORY;
        if (!status)
            status = package_finish(package, &diag);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        package_free(package);
        diag_free(&diag);
    }
    fixture_free(&f);
}

/* ---- docs/package.md is true */

/* Blanks and line breaks as one blank. */
static char *squeezed(const char *path) {
    uint8_t *bytes;
    size_t size, count = 0;
    assert_int_equal(file_read(path, &bytes, &size, NULL), STATUS_OK);
    for (size_t i = 0; i < size; i++) {
        bool blank = bytes[i] == ' ' || bytes[i] == '\n';
        if (!blank || (count && bytes[count - 1] != ' '))
            bytes[count++] = blank ? ' ' : bytes[i];
    }
    bytes[count] = 0;
    return (char *)bytes;
}

static void test_schema_in_docs(void **state) {
    (void)state;
    char *page = squeezed("docs/package.md");
    const char *at = page;
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        at = strstr(at, pack_tables[t].sql); /* in this order */
        if (!at)
            fail_msg("docs/package.md lacks: %s", pack_tables[t].sql);
    }
    mem_free(page);
}

static void hash_number(XXH3_state_t *hash, int64_t number) {
    XXH3_128bits_update(hash, &number, 8); /* a little-endian host */
}

/* One column of the stream that the page describes. */
static void hash_column(XXH3_state_t *hash, sqlite3_stmt *row, int column, bool compressed) {
    static uint8_t content[CHIP_TILE_MEM_SIZE];
    const uint8_t tags[] = {
        [SQLITE_NULL] = 0, [SQLITE_INTEGER] = 1, [SQLITE_TEXT] = 2, [SQLITE_BLOB] = 3};
    int type = sqlite3_column_type(row, column);
    XXH3_128bits_update(hash, &tags[type], 1);
    if (type == SQLITE_INTEGER)
        hash_number(hash, sqlite3_column_int64(row, column));
    if (type != SQLITE_TEXT && type != SQLITE_BLOB)
        return;
    const void *bytes = sqlite3_column_blob(row, column);
    size_t size = (size_t)sqlite3_column_bytes(row, column);
    if (compressed) {
        size = ZSTD_decompress(content, sizeof content, bytes, size);
        bytes = content;
    }
    hash_number(hash, (int64_t)size);
    XXH3_128bits_update(hash, bytes, size);
}

static void hash_table(XXH3_state_t *hash, sqlite3 *database, const char *name) {
    char sql[200];
    sqlite3_stmt *rows;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s", name,
             strcmp(name, "meta") ? "1" : "key != 'content_digest'");
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &rows, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    XXH3_128bits_update(hash, name, strlen(name) + 1);
    hash_number(hash, sqlite3_column_int64(rows, 0));
    sqlite3_finalize(rows);
    memcpy(sql + 7, "*       ", 8);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW)
        for (int c = 0; c < sqlite3_column_count(rows); c++)
            hash_column(hash, rows, c, !strcmp(name, "blobs") && c == 2);
    sqlite3_finalize(rows);
}

/* The digest computed from the file by the words of the page alone. */
static void test_digest_in_docs(void **state) {
    (void)state;
    static const char *const tables[] = {
        "meta",       "blobs",      "tiles",    "segments", "bindings", "slices", "entries",
        "host_calls", "provenance", "operands", "programs", "schedule", "phases", "exchange_rows",
        "patches",    "transfers",  "buffers",  "symbols",  "lines",    "notes"};
    Fixture f;
    fixture_create(&f, 24, 70, 40, "f8f143(s=-4)", 6);
    Package *package = whole_package(&f);
    char path[300];
    assert_int_equal(package_write(package, in_folder("digest", path), 0, NULL), STATUS_OK);
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    XXH3_state_t *hash = XXH3_createState();
    XXH3_128bits_reset(hash);
    for (size_t t = 0; t < COUNT_OF(tables); t++)
        hash_table(hash, database, tables[t]);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash));
    XXH3_freeState(hash);
    sqlite3_close(database);
    PackageDigest digest = package_digest(package);
    assert_memory_equal(&canonical, &digest, sizeof digest);
    package_free(package);
    fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_digest),
        cmocka_unit_test(test_diff),           cmocka_unit_test(test_source),
        cmocka_unit_test(test_parameters),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_schema_in_docs), cmocka_unit_test(test_digest_in_docs),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
