/* Reading a package file without trusting it: the header first, then the schema word by word, then
 * every row by type, key order and range, blobs bounded before they are decompressed, and at last
 * the digest over all of it. */
#include "pack/rows.h"

#include "base/file.h"
#include "base/text.h"
#include "chip/chip.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* Longest text or compressed blob that is read. */
#define VALUE_LIMIT (16 << 20)

typedef struct Reader {
    Loader loader;
    sqlite3 *database;
    uint64_t blob_bytes; /* decompressed so far */
    char digest[PACKAGE_DIGEST_TEXT];
} Reader;

static DiagPlace place_of(const Reader *reader) {
    return (DiagPlace){.file = reader->loader.path, .tile = -1};
}

static Status no_memory(const Reader *reader) {
    return diag_error(reader->loader.diag, ERR_NO_MEMORY, place_of(reader),
                      "no memory left on the host for this file");
}

static Status sqlite_fail(const Reader *reader, int code) {
    if ((code & 0xFF) == SQLITE_NOMEM)
        return no_memory(reader);
    return diag_error(reader->loader.diag, ERR_PACK_DAMAGED, place_of(reader), "SQLite: %s",
                      reader->database ? sqlite3_errmsg(reader->database) : sqlite3_errstr(code));
}

/* ---- header: offsets 60 and 68 of an SQLite file are user_version and application_id */

static uint32_t big_endian(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool has_magic(const FileMap *map) {
    static const char magic[16] = "SQLite format 3";
    return map->size >= sizeof magic && memcmp(map->bytes, magic, sizeof magic) == 0;
}

bool package_is_file(const char *path) {
    FileMap map;
    if (file_map(path, &map, NULL))
        return false;
    bool is = has_magic(&map);
    file_unmap(&map);
    return is;
}

static Status check_header(const char *path, Diag *diag) {
    DiagPlace place = {.file = path, .tile = -1};
    FileMap map;
    Status status = file_map(path, &map, diag);
    if (status)
        return status;
    if (map.size < 100 || !has_magic(&map) || big_endian(map.bytes + 68) != PACKAGE_APPLICATION_ID)
        status = diag_error(diag, ERR_PACK_FORMAT, place, "this is no Tilework package");
    else if (big_endian(map.bytes + 60) != PACKAGE_VERSION)
        status = diag_error(diag, ERR_PACK_VERSION, place, "package version %u, read here: %d",
                            big_endian(map.bytes + 60), PACKAGE_VERSION);
    file_unmap(&map);
    return status;
}

/* ---- opening */

/* "file://PATH?mode=ro&immutable=1" with everything escaped that has a meaning in a URI. */
static char *uri_of(const char *path) {
    static const char digits[] = "0123456789ABCDEF";
    char *uri = mem_alloc(3 * strlen(path) + 64, 1);
    if (!uri)
        return NULL;
    char *at = stpcpy(uri, "file://");
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("/._-", c)) {
            *at++ = (char)c;
        } else {
            *at++ = '%';
            *at++ = digits[c >> 4];
            *at++ = digits[c & 15];
        }
    }
    strcpy(at, "?mode=ro&immutable=1");
    return uri;
}

static Status open_database(Reader *reader) {
    char path[PATH_MAX]; /* without ".." behind links, which SQLite would follow in another way */
    if (!realpath(reader->loader.path, path))
        return diag_error(reader->loader.diag, ERR_FILE_OPEN, place_of(reader), "cannot open: %s",
                          strerrordesc_np(errno));
    char *uri = uri_of(path);
    if (!uri)
        return no_memory(reader);
    int code =
        sqlite3_open_v2(uri, &reader->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    mem_free(uri);
    if (code)
        return sqlite_fail(reader, code);
    sqlite3_limit(reader->database, SQLITE_LIMIT_LENGTH, VALUE_LIMIT);
    sqlite3_limit(reader->database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(reader->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(reader->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(reader->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(reader->database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    code = sqlite3_exec(reader->database, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", NULL,
                        NULL, NULL);
    return code ? sqlite_fail(reader, code) : STATUS_OK;
}

static Status prepare(Reader *reader, const char *sql, sqlite3_stmt **statement) {
    int code = sqlite3_prepare_v2(reader->database, sql, -1, statement, NULL);
    return code ? sqlite_fail(reader, code) : STATUS_OK;
}

static bool column_is(sqlite3_stmt *statement, int column, const char *text) {
    const char *found = (const char *)sqlite3_column_text(statement, column);
    return found && !strcmp(found, text);
}

static bool row_creates(sqlite3_stmt *statement, const Table *table) {
    return column_is(statement, 0, "table") && column_is(statement, 1, table->name) &&
           column_is(statement, 2, table->name) && column_is(statement, 3, table->sql);
}

static Status check_schema_rows(Reader *reader, sqlite3_stmt *statement) {
    for (size_t t = 0; t <= TABLE_COUNT; t++) {
        int code = sqlite3_step(statement);
        if (code != SQLITE_ROW && code != SQLITE_DONE)
            return sqlite_fail(reader, code);
        if (t < TABLE_COUNT && (code == SQLITE_DONE || !row_creates(statement, &pack_tables[t])))
            return diag_error(reader->loader.diag, ERR_PACK_SCHEMA, place_of(reader),
                              "table %s is missing or differs", pack_tables[t].name);
        if (t == TABLE_COUNT && code == SQLITE_ROW)
            return diag_error(reader->loader.diag, ERR_PACK_SCHEMA, place_of(reader),
                              "the schema has more than a package's tables");
    }
    return STATUS_OK;
}

static Status check_schema(Reader *reader) {
    sqlite3_stmt *statement = NULL;
    Status status = prepare(
        reader, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid", &statement);
    if (!status)
        status = check_schema_rows(reader, statement);
    sqlite3_finalize(statement);
    return status;
}

/* ---- rows */

static bool valid_text(const char *text, size_t size) {
    for (size_t at = 0, step; at < size; at += step) {
        uint32_t code_point;
        step = utf8_next(text + at, size - at, &code_point);
        if (step == 0)
            return false;
    }
    return true;
}

static Status read_value(Reader *reader, sqlite3_stmt *statement, int at, const Column *column,
                         Value *value) {
    static const int types[] = {[COLUMN_INTEGER] = SQLITE_INTEGER,
                                [COLUMN_TEXT] = SQLITE_TEXT,
                                [COLUMN_BYTES] = SQLITE_BLOB};
    int type = sqlite3_column_type(statement, at);
    *value = (Value){.null = type == SQLITE_NULL};
    if (value->null && column->nullable)
        return STATUS_OK;
    if (type != types[column->type])
        return loader_fail(&reader->loader, "a value has the wrong type");
    if (type == SQLITE_INTEGER) {
        value->integer = sqlite3_column_int64(statement, at);
        return STATUS_OK;
    }
    value->bytes = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(statement, at)
                                       : sqlite3_column_blob(statement, at);
    value->size = (size_t)sqlite3_column_bytes(statement, at);
    if (!value->bytes && (value->size || sqlite3_errcode(reader->database) == SQLITE_NOMEM))
        return no_memory(reader);
    if (!value->bytes)
        value->bytes = "";
    if (type == SQLITE_TEXT && !valid_text(value->bytes, value->size))
        return loader_fail(&reader->loader, "a text is no UTF-8");
    return STATUS_OK;
}

/* -1, 0, 1 as in the key order of the file. */
static int compare_values(const Column *column, const Value *a, const Value *b) {
    if (column->type == COLUMN_INTEGER)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    int order = memcmp(a->bytes, b->bytes, MIN_OF(a->size, b->size));
    return order ? order : a->size < b->size ? -1 : a->size > b->size;
}

enum { MAX_KEY = 4 };

/* The key of the last row, kept to see that keys ascend: a damaged tree may lead to a page twice.
 */
typedef struct LastKey {
    Value values[MAX_KEY];
    VEC(uint8_t) bytes[MAX_KEY];
    bool any;
} LastKey;

static Status check_key(Reader *reader, const Table *table, const Value *values, LastKey *last) {
    assert(table->key_count <= MAX_KEY);
    int order = last->any ? 0 : -1;
    for (uint32_t k = 0; k < table->key_count && order == 0; k++)
        order = compare_values(&table->columns[k], &last->values[k], &values[k]);
    if (order >= 0)
        return loader_fail(&reader->loader, "keys do not ascend");
    last->any = true;
    for (uint32_t k = 0; k < table->key_count; k++) {
        last->values[k] = values[k];
        if (table->columns[k].type == COLUMN_INTEGER)
            continue;
        last->bytes[k].count = 0;
        if (!vec_reserve(&last->bytes[k], values[k].size + 1))
            return no_memory(reader);
        memcpy(last->bytes[k].items, values[k].bytes, values[k].size);
        last->values[k].bytes = last->bytes[k].items;
    }
    return STATUS_OK;
}

static Status decompress(Reader *reader, Value *values) {
    Value *data = &values[BLOBS_DATA_COLUMN];
    int64_t size = values[1].integer;
    Package *package = reader->loader.package;
    /* All memories, and as much again of transfers. */
    uint64_t limit = 2 * (uint64_t)package->tile_count * CHIP_TILE_MEM_SIZE;
    if (size < 1 || size > CHIP_TILE_MEM_SIZE || reader->blob_bytes + (uint64_t)size > limit)
        return loader_fail(&reader->loader, "a blob is larger than tile memory");
    reader->blob_bytes += (uint64_t)size;
    if (ZSTD_getFrameContentSize(data->bytes, data->size) != (uint64_t)size)
        return loader_fail(&reader->loader, "the size of a blob is wrong");
    uint8_t *bytes = arena_alloc(&package->arena, (size_t)size, 1);
    if (!bytes)
        return no_memory(reader);
    if (ZSTD_decompress(bytes, (size_t)size, data->bytes, data->size) != (size_t)size)
        return loader_fail(&reader->loader, "a blob cannot be decompressed");
    XXH128_canonical_t id;
    XXH128_canonicalFromHash(&id, XXH3_128bits(bytes, (size_t)size));
    if (values[0].size != sizeof id || memcmp(&id, values[0].bytes, sizeof id) != 0)
        return loader_fail(&reader->loader, "the content of a blob does not match its id");
    *data = (Value){.bytes = bytes, .size = (size_t)size};
    return STATUS_OK;
}

static bool is_digest(Reader *reader, const Table *table, const Value *values) {
    size_t length = strlen(META_DIGEST);
    if (table != pack_tables || values[0].size != length ||
        memcmp(values[0].bytes, META_DIGEST, length) != 0)
        return false;
    snprintf(reader->digest, sizeof reader->digest, "%.*s", (int)MIN_OF(values[1].size, 32u),
             (const char *)values[1].bytes);
    return true;
}

static Status read_row(Reader *reader, sqlite3_stmt *statement, const Table *table, LastKey *last,
                       size_t *rows) {
    Value values[TABLE_COLUMNS];
    Status status = STATUS_OK;
    for (uint32_t c = 0; c < table->column_count && !status; c++)
        status = read_value(reader, statement, (int)c, &table->columns[c], &values[c]);
    if (!status)
        status = check_key(reader, table, values, last);
    if (!status && table == &pack_tables[TABLE_BLOBS])
        status = decompress(reader, values);
    if (status || is_digest(reader, table, values))
        return status;
    ++*rows;
    return table->load(&reader->loader, values);
}

static Status read_rows(Reader *reader, sqlite3_stmt *statement, const Table *table) {
    LastKey last = {0};
    Status status = STATUS_OK;
    size_t rows = 0;
    int code;
    while (!status && (code = sqlite3_step(statement)) != SQLITE_DONE)
        status = code == SQLITE_ROW ? read_row(reader, statement, table, &last, &rows)
                                    : sqlite_fail(reader, code);
    for (size_t k = 0; k < MAX_KEY; k++)
        vec_free(&last.bytes[k]);
    if (!status && rows != table->count(reader->loader.package))
        return loader_fail(&reader->loader, "rows are missing");
    return status;
}

static Status read_table(Reader *reader, const Table *table) {
    char sql[400];
    int at = snprintf(sql, sizeof sql, "SELECT ");
    for (uint32_t c = 0; c < table->column_count; c++)
        at += snprintf(sql + at, sizeof sql - (size_t)at, "%s\"%s\"", c ? "," : "",
                       table->columns[c].name);
    at += snprintf(sql + at, sizeof sql - (size_t)at, " FROM %s ORDER BY ", table->name);
    for (uint32_t c = 0; c < table->key_count; c++)
        at += snprintf(sql + at, sizeof sql - (size_t)at, "%s\"%s\"", c ? "," : "",
                       table->columns[c].name);
    sqlite3_stmt *statement = NULL;
    reader->loader.table = table->name;
    Status status = prepare(reader, sql, &statement);
    if (!status)
        status = read_rows(reader, statement, table);
    sqlite3_finalize(statement);
    return status;
}

static Status check_digest(Reader *reader) {
    char text[PACKAGE_DIGEST_TEXT];
    package_digest_print(package_digest(reader->loader.package), text);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    return STATUS_OK; /* whoever forges a package computes its digest; a fuzzer cannot */
#endif
    if (!strcmp(text, reader->digest))
        return STATUS_OK;
    return diag_error(reader->loader.diag, ERR_PACK_DAMAGED, place_of(reader),
                      "the content does not match its digest: it has %s, the file says %s", text,
                      reader->digest);
}

static Status read_all(Reader *reader) {
    Status status = open_database(reader);
    if (!status)
        status = check_schema(reader);
    for (size_t t = 0; t < TABLE_COUNT && !status; t++)
        status = read_table(reader, &pack_tables[t]);
    if (!status)
        status = check_digest(reader);
    return status ? status : package_check(reader->loader.package, reader->loader.diag);
}

Status package_read(const char *path, Package **package, Diag *diag) {
    *package = NULL;
    Status status = check_header(path, diag);
    if (status)
        return status;
    Reader reader = {.loader = {.path = path, .diag = diag}};
    /* Room for all tiles; meta tells how many there are. */
    reader.loader.package = package_create("", CHIP_TILES);
    status = reader.loader.package ? read_all(&reader) : no_memory(&reader);
    sqlite3_close(reader.database);
    if (status) {
        package_free(reader.loader.package);
        return status;
    }
    *package = reader.loader.package;
    return STATUS_OK;
}
