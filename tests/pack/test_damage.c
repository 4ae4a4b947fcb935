/* Files that are damaged, hostile, or could not be written whole. */
#include "pack/folder.h"

#include "base/random.h"
#include "pack/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <zstd.h>

/* A good package, its file, and its digest. */
static struct Good {
    Fixture fixture;
    Package *package;
    PackageDigest digest;
    char path[300];
    uint8_t *bytes;
    size_t size;
} good;

static int good_create(void **state) {
    if (folder_create(state))
        return -1;
    fixture_create(&good.fixture, 24, 70, 40, "f8f143(s=-4)", 6);
    good.package = fixture_package(&good.fixture);
    static uint8_t codes[70 * 40];
    for (size_t i = 0; i < sizeof codes; i++)
        codes[i] = (uint8_t)(i * 37 % 128);
    Diag diag = {0};
    fixture_expect(
        package_set_parameter(good.package, package_find(good.package, "w"), codes, &diag), &diag);
    fixture_finish(good.package);
    good.digest = package_digest(good.package);
    fixture_expect(package_write(good.package, in_folder("good", good.path), 0, &diag), &diag);
    FILE *file = fopen(good.path, "rb");
    fseek(file, 0, SEEK_END);
    good.size = (size_t)ftell(file);
    rewind(file);
    good.bytes = malloc(good.size);
    size_t got = fread(good.bytes, 1, good.size, file);
    fclose(file);
    return got == good.size ? 0 : -1;
}

static int good_free(void **state) {
    free(good.bytes);
    package_free(good.package);
    fixture_free(&good.fixture);
    return folder_remove(state);
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Reads; STATUS_OK only with the good digest. */
static Status read_damaged(const char *path) {
    Package *package;
    Diag diag = {0};
    Status status = package_read(path, &package, &diag);
    assert_int_equal(status, diag_status(&diag));
    diag_free(&diag);
    if (status)
        return status;
    PackageDigest digest = package_digest(package);
    if (memcmp(&digest, &good.digest, sizeof digest) != 0)
        fail_msg("a damaged package was accepted with another content");
    package_free(package);
    return STATUS_OK;
}

static Status read_changed(size_t size, size_t at, uint8_t value) {
    char path[300];
    uint8_t before = good.bytes[at];
    good.bytes[at] = value;
    write_file(in_folder("changed", path), good.bytes, size);
    good.bytes[at] = before;
    return read_damaged(path);
}

/* Of random byte changes and truncations each is refused with a code or changes no content. */
static void test_random_damage(void **state) {
    (void)state;
    bool all = getenv("TW_TEST_ALL") != NULL;
    uint64_t seed = 11;
    uint32_t changes = all ? 5000 : 400, cuts = all ? 500 : 60, refused = 0;
    Random random = random_seed(seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint32_t i = 0; i < changes; i++) {
        size_t at = (size_t)random_below(&random, good.size);
        uint8_t value = (uint8_t)(good.bytes[at] + 1 + random_below(&random, 255));
        refused += read_changed(good.size, at, value) != STATUS_OK;
    }
    print_message("%u of %u changes refused\n", refused, changes);
    assert_in_range(refused, changes / 10, changes);
    for (uint32_t i = 0; i < cuts; i++) {
        size_t size = (size_t)random_below(&random, good.size);
        assert_int_not_equal(read_changed(size, 0, good.bytes[0]), STATUS_OK);
    }
}

/* Every byte of the header, in turn. */
static void test_header(void **state) {
    (void)state;
    for (size_t at = 0; at < 100; at++)
        read_changed(good.size, at, (uint8_t)(good.bytes[at] ^ 0xFF));
    assert_int_equal(read_changed(good.size, 3, 'x'), ERR_PACK_FORMAT);
    assert_int_equal(read_changed(good.size, 70, 0), ERR_PACK_FORMAT);
    assert_int_equal(read_changed(good.size, 63, 99), ERR_PACK_VERSION);
    assert_int_equal(read_changed(0, 0, 0), ERR_PACK_FORMAT);
    assert_int_equal(read_damaged("/nowhere/at/all"), ERR_FILE_OPEN);
    assert_int_equal(read_damaged(folder), ERR_FILE_READ);
}

/* Changes a copy of the good file with SQL and reads it. */
static Status read_edited(const char *sql) {
    char path[300], *message = NULL;
    sqlite3 *database;
    write_file(in_folder("edited", path), good.bytes, good.size);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, &message))
        fail_msg("%s: %s", sql, message);
    sqlite3_close(database);
    return read_damaged(path);
}

static void test_hostile_schema(void **state) {
    (void)state;
    static const char *const edits[] = {
        "CREATE TABLE more(a)",
        "CREATE VIEW more AS SELECT * FROM meta",
        "CREATE INDEX more ON segments(size)",
        "CREATE TRIGGER more AFTER INSERT ON meta BEGIN DELETE FROM tiles; END",
        "ALTER TABLE notes ADD COLUMN more TEXT",
        "ALTER TABLE notes RENAME TO other",
        "DROP TABLE notes",
        "DROP TABLE notes; CREATE VIEW notes AS SELECT 'a' AS name, 'b' AS text",
        "DROP TABLE meta; CREATE TABLE meta(key TEXT, value TEXT)",
        "CREATE VIRTUAL TABLE more USING fts5(a)",
    };
    for (size_t i = 0; i < COUNT_OF(edits); i++)
        assert_int_equal(read_edited(edits[i]), ERR_PACK_SCHEMA);
}

static void test_hostile_rows(void **state) {
    (void)state;
    static const char *const edits[] = {
        "UPDATE meta SET value='0' WHERE key='tile_count'",
        "UPDATE meta SET value='1473' WHERE key='tile_count'",
        "UPDATE meta SET value='6x' WHERE key='tile_count'",
        "UPDATE meta SET value='5' WHERE key='tile_count'",
        "UPDATE meta SET value='7' WHERE key='tile_count'",
        "UPDATE meta SET value='ipu22' WHERE key='target'",
        "UPDATE meta SET value='0' WHERE key='memory_base'",
        "UPDATE meta SET value='0' WHERE key='content_digest'",
        "UPDATE meta SET value='evil' WHERE key='producer'",
        "UPDATE meta SET value='a' || char(0) WHERE key='producer'",
        "DELETE FROM meta WHERE key='content_digest'",
        "DELETE FROM meta WHERE key='target'",
        "INSERT INTO meta VALUES('more','1')",
        "DELETE FROM tiles WHERE tile=5",
        "INSERT INTO tiles VALUES(6,0)",
        "UPDATE tiles SET program=99 WHERE tile=0",
        "UPDATE segments SET address=-4 WHERE address=0x4C010",
        "UPDATE segments SET size=4294967295 WHERE tile=0",
        "UPDATE segments SET size=1<<40 WHERE tile=0",
        "UPDATE segments SET blob=x'00' WHERE tile=0 AND blob IS NOT NULL",
        "UPDATE segments SET blob=zeroblob(16) WHERE tile=0 AND blob IS NOT NULL",
        "UPDATE segments SET blob=NULL",
        "UPDATE blobs SET size=0",
        "UPDATE blobs SET size=size+1",
        "UPDATE blobs SET size=638977",
        "UPDATE blobs SET size=-1",
        "UPDATE blobs SET data=x''",
        "UPDATE blobs SET data=x'28B52FFD'",
        "UPDATE blobs SET data=zeroblob(1000)",
        "DELETE FROM blobs",
        "UPDATE bindings SET format='left' WHERE name='x'",
        "UPDATE bindings SET format=replace(format,'tiles=0+6','tiles=0+4294967290')",
        "UPDATE bindings SET shape='[4294967295,4294967295]' WHERE name='x'",
        "UPDATE bindings SET shape='24,70' WHERE name='x'",
        "UPDATE bindings SET stored='[24,70' WHERE name='x'",
        "UPDATE bindings SET stored='[70,24]' WHERE name='x'",
        "UPDATE bindings SET shape='[24,,70]' WHERE name='x'",
        "UPDATE bindings SET shape='[24,70]]' WHERE name='x'",
        "UPDATE bindings SET shape='[1,2,3,4,5,6,7]' WHERE name='x'",
        "UPDATE bindings SET shape='[99999999999,1]' WHERE name='x'",
        "UPDATE bindings SET kind='spy' WHERE name='x'",
        "UPDATE bindings SET scale=3 WHERE name='x'",
        "UPDATE bindings SET precision='f16' WHERE name='x'",
        "UPDATE bindings SET name='' WHERE name='x'",
        "DELETE FROM bindings WHERE name='x'",
        "DELETE FROM slices WHERE slice=0",
        "UPDATE slices SET tile=5 WHERE slice=0",
        "UPDATE slices SET size=1 WHERE slice=0",
        "UPDATE slices SET \"offset\"=7 WHERE slice=0",
        "UPDATE slices SET address=1 WHERE slice=0",
        "DELETE FROM entries WHERE tile=0",
        "DELETE FROM entries",
        "UPDATE entries SET address=address+2",
        "UPDATE host_calls SET binding='z'",
        "UPDATE host_calls SET entry='z'",
        "UPDATE provenance SET parent=9 WHERE id=1",
        "DELETE FROM provenance WHERE id=0",
        "UPDATE programs SET samples=0",
        "UPDATE programs SET steps=steps+1",
        "DELETE FROM programs WHERE program=0",
        "UPDATE schedule SET kind='z'",
        "UPDATE schedule SET origin=77",
        "UPDATE buffers SET class='z'",
        "UPDATE buffers SET address=0",
        "UPDATE symbols SET \"offset\"=1<<33",
        "UPDATE lines SET line=-1",
        "INSERT INTO notes VALUES('a',CAST(x'FF' AS TEXT))",
        "INSERT INTO notes VALUES('a','b')",
    };
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        Status status = read_edited(edits[i]);
        if (status != ERR_PACK_DAMAGED)
            fail_msg("%s: %s", edits[i], status_code(status));
    }
}

/* A blob that claims a little and decompresses to much. */
static void test_bomb(void **state) {
    (void)state;
    static uint8_t zeros[1 << 20], packed[4096];
    char path[300];
    size_t size = ZSTD_compress(packed, sizeof packed, zeros, sizeof zeros, 19);
    assert_false(ZSTD_isError(size));
    write_file(in_folder("bomb", path), good.bytes, good.size);
    sqlite3 *database;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, "UPDATE blobs SET data=?", -1, &statement, NULL),
                     SQLITE_OK);
    sqlite3_bind_blob(statement, 1, packed, (int)size, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    assert_int_equal(read_damaged(path), ERR_PACK_DAMAGED);
}

/* ---- writing */

static Status write_good(const char *path) {
    Diag diag = {0};
    Status status = package_write(good.package, path, 0, &diag);
    assert_int_equal(status, diag_status(&diag));
    diag_free(&diag);
    return status;
}

/* Limits on file sizes act like a full disk: no file, no leftover; an old file stays. */
static void test_disk_full(void **state) {
    (void)state;
    char path[300];
    struct rlimit before, limit;
    in_folder("full", path);
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (int old = 0; old < 2; old++) {
        for (size_t size = 0; size < good.size; size += good.size / 7) {
            limit = (struct rlimit){size, before.rlim_max};
            setrlimit(RLIMIT_FSIZE, &limit);
            Status status = write_good(path);
            setrlimit(RLIMIT_FSIZE, &before);
            assert_int_equal(status, ERR_FILE_WRITE);
            assert_int_equal(folder_files(".full", false), 0);
            assert_int_equal(folder_files("full", false), old);
        }
        if (old)
            assert_int_equal(read_damaged(path), STATUS_OK);
        else
            assert_int_equal(write_good(path), STATUS_OK);
    }
    signal(SIGXFSZ, SIG_DFL);
}

static void test_bad_targets(void **state) {
    (void)state;
    char path[300];
    assert_int_equal(write_good(in_folder("none/file", path)), ERR_FILE_WRITE);
    assert_int_equal(write_good(folder), ERR_FILE_WRITE);
    assert_int_equal(write_good("/dev/full"), ERR_FILE_WRITE);
}

/* Killed at any moment, a writer leaves the old file or the new one, and what it leaves behind is
 * cleared by the next write. */
static void test_killed(void **state) {
    (void)state;
    char path[300];
    in_folder("killed", path);
    Random random = random_seed(12);
    for (int i = 0; i < (getenv("TW_TEST_ALL") ? 100 : 10); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (;;)
                package_write(good.package, path, 0, NULL);
        }
        nanosleep(&(struct timespec){.tv_nsec = (long)random_below(&random, 8000000)}, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (folder_files("killed", false))
            assert_int_equal(read_damaged(path), STATUS_OK);
        assert_int_equal(write_good(path), STATUS_OK);
        assert_int_equal(folder_files(".killed", false), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_damage),  cmocka_unit_test(test_header),
        cmocka_unit_test(test_hostile_schema), cmocka_unit_test(test_hostile_rows),
        cmocka_unit_test(test_bomb),           cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_bad_targets),    cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, good_create, good_free);
}
