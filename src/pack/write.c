#include "pack/rows.h"

#include "base/file.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <zstd.h>

typedef struct Writer {
    const Package *package;
    const char *path;
    sqlite3 *database;
    ZSTD_CCtx *zstd;
    int level;
    uint8_t *scratch; /* of a compressed blob */
    size_t scratch_size;
    Diag *diag;
} Writer;

static Status no_memory(Writer *writer) {
    return diag_error(writer->diag, ERR_NO_MEMORY, (DiagPlace){.file = writer->path, .tile = -1},
                      "no memory left on the host for this file");
}

static Status sqlite_fail(Writer *writer, int code) {
    if (code == SQLITE_NOMEM)
        return no_memory(writer);
    int number = sqlite3_system_errno(writer->database);
    const char *cause = code == SQLITE_FULL && !number ? strerrordesc_np(ENOSPC)
                        : number                       ? strerrordesc_np(number)
                                                       : sqlite3_errmsg(writer->database);
    return diag_error(writer->diag, ERR_FILE_WRITE, (DiagPlace){.file = writer->path, .tile = -1},
                      "cannot write: %s", cause);
}

static Status execute(Writer *writer, const char *sql) {
    int code = sqlite3_exec(writer->database, sql, NULL, NULL, NULL);
    return code ? sqlite_fail(writer, code) : STATUS_OK;
}

static Status compress_value(Writer *writer, Value *value) {
    size_t bound = ZSTD_compressBound(value->size);
    if (bound > writer->scratch_size) {
        uint8_t *grown = mem_resize(writer->scratch, bound, 1);
        if (!grown)
            return no_memory(writer);
        writer->scratch = grown;
        writer->scratch_size = bound;
    }
    size_t size = ZSTD_compressCCtx(writer->zstd, writer->scratch, bound, value->bytes, value->size,
                                    writer->level);
    if (ZSTD_isError(size))
        return no_memory(writer);
    *value = (Value){.bytes = writer->scratch, .size = size};
    return STATUS_OK;
}

static int bind_value(sqlite3_stmt *statement, int at, const Column *column, const Value *value) {
    if (value->null)
        return sqlite3_bind_null(statement, at);
    if (column->type == COLUMN_INTEGER)
        return sqlite3_bind_int64(statement, at, value->integer);
    if (column->type == COLUMN_TEXT)
        return sqlite3_bind_text64(statement, at, value->bytes, value->size, SQLITE_STATIC,
                                   SQLITE_UTF8);
    return sqlite3_bind_blob64(statement, at, value->bytes ? value->bytes : "", value->size,
                               SQLITE_STATIC);
}

static Status write_row(Writer *writer, sqlite3_stmt *statement, const Table *table,
                        Value *values) {
    if (table == &pack_tables[TABLE_BLOBS]) {
        Status status = compress_value(writer, &values[BLOBS_DATA_COLUMN]);
        if (status)
            return status;
    }
    for (uint32_t c = 0; c < table->column_count; c++) {
        int code = bind_value(statement, (int)c + 1, &table->columns[c], &values[c]);
        if (code)
            return sqlite_fail(writer, code);
    }
    int code = sqlite3_step(statement);
    if (code != SQLITE_DONE)
        return sqlite_fail(writer, code);
    sqlite3_reset(statement);
    return STATUS_OK;
}

static Status write_rows(Writer *writer, const Table *table, sqlite3_stmt *statement) {
    Status status = STATUS_OK;
    size_t rows = table->count(writer->package);
    for (size_t row = 0; row < rows && !status; row++) {
        Value values[TABLE_COLUMNS] = {0};
        char scratch[TABLE_SCRATCH];
        table->get(writer->package, row, values, scratch);
        status = write_row(writer, statement, table, values);
    }
    return status;
}

static Status write_table(Writer *writer, const Table *table) {
    static const char *const marks = "?,?,?,?,?,?,?,?,?";
    char sql[80];
    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(%.*s)", table->name,
             (int)(2 * table->column_count - 1), marks);
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(writer->database, sql, -1, &statement, NULL);
    Status status = code ? sqlite_fail(writer, code) : write_rows(writer, table, statement);
    sqlite3_finalize(statement);
    return status;
}

static Status write_digest(Writer *writer) {
    char sql[120], text[PACKAGE_DIGEST_TEXT];
    snprintf(sql, sizeof sql, "INSERT INTO meta VALUES('" META_DIGEST "','%s')",
             package_digest_print(package_digest(writer->package), text));
    return execute(writer, sql);
}

static Status write_all(Writer *writer) {
    char sql[200];
    snprintf(sql, sizeof sql,
             "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
             "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN",
             PACKAGE_APPLICATION_ID, PACKAGE_VERSION);
    Status status = execute(writer, sql);
    for (size_t t = 0; t < TABLE_COUNT && !status; t++)
        status = execute(writer, pack_tables[t].sql);
    for (size_t t = 0; t < TABLE_COUNT && !status; t++)
        status = write_table(writer, &pack_tables[t]);
    if (!status)
        status = write_digest(writer);
    return status ? status : execute(writer, "COMMIT");
}

static Status write_database(Writer *writer, const char *temporary) {
    int code = sqlite3_open_v2(temporary, &writer->database, SQLITE_OPEN_READWRITE, NULL);
    Status status = code ? sqlite_fail(writer, code) : write_all(writer);
    if (sqlite3_close(writer->database) != SQLITE_OK && !status)
        status = sqlite_fail(writer, SQLITE_IOERR);
    return status;
}

Status package_write(const Package *package, const char *path, int level, Diag *diag) {
    Writer writer = {.package = package,
                     .path = path,
                     .zstd = ZSTD_createCCtx(),
                     .level = level ? level : ZSTD_CLEVEL_DEFAULT,
                     .diag = diag};
    char *temporary = NULL;
    Status status = writer.zstd ? file_replace_begin(path, &temporary, diag) : no_memory(&writer);
    if (!status) {
        status = write_database(&writer, temporary);
        Status ended = file_replace_end(path, temporary, status == STATUS_OK, diag);
        status = status ? status : ended;
    }
    mem_free(temporary);
    mem_free(writer.scratch);
    ZSTD_freeCCtx(writer.zstd);
    return status;
}
