/* Profiles as SQLite files (docs/profile.md). */
#include "prof/prof.h"

#include "base/file.h"
#include "chip/chip.h"

#include <sqlite3.h>
#include <string.h>
#include <zstd.h>

static const char schema[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value NOT NULL);"
    "CREATE TABLE causes(cause INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE steps(step INTEGER PRIMARY KEY, name TEXT NOT NULL, operation TEXT NOT NULL,"
    " predicted INTEGER NOT NULL, scheduled INTEGER NOT NULL, simulated INTEGER NOT NULL,"
    " scheduled_sampled INTEGER NOT NULL, simulated_sampled INTEGER NOT NULL,"
    " horizon INTEGER NOT NULL, bound INTEGER NOT NULL, cells BLOB NOT NULL);"
    "CREATE TABLE attribution(step INTEGER, cause INTEGER, predicted INTEGER NOT NULL,"
    " scheduled INTEGER NOT NULL, simulated INTEGER NOT NULL, PRIMARY KEY(step, cause))"
    " WITHOUT ROWID;"
    "CREATE TABLE tiles(tile INTEGER PRIMARY KEY, map INTEGER NOT NULL);"
    "CREATE TABLE buffers(map INTEGER, ordinal INTEGER, name TEXT NOT NULL,"
    " address INTEGER NOT NULL, size INTEGER NOT NULL, first INTEGER NOT NULL,"
    " last INTEGER NOT NULL, PRIMARY KEY(map, ordinal)) WITHOUT ROWID;"
    "CREATE TABLE rows(step INTEGER, tile INTEGER, address INTEGER NOT NULL,"
    " size INTEGER NOT NULL, PRIMARY KEY(step, tile)) WITHOUT ROWID;";

typedef struct File {
    const char *path;
    sqlite3 *database;
    sqlite3_stmt *statement;
    Diag *diag;
} File;

static DiagPlace place_of(const File *file) {
    return (DiagPlace){.file = file->path, .tile = -1};
}

static Status no_memory(const File *file) {
    return diag_error(file->diag, ERR_NO_MEMORY, place_of(file), "no memory left for the profile");
}

static Status write_fail(const File *file) {
    return diag_error(file->diag, ERR_FILE_WRITE, place_of(file), "cannot write: %s",
                      sqlite3_errmsg(file->database));
}

/* ---- writing: rows of integers (%), texts and one blob */

static bool prepare(File *file, const char *sql) {
    sqlite3_finalize(file->statement);
    file->statement = NULL;
    return sqlite3_prepare_v2(file->database, sql, -1, &file->statement, NULL) == SQLITE_OK;
}

static void bind_whole(const File *file, int at, uint64_t value) {
    sqlite3_bind_int64(file->statement, at, (sqlite3_int64)value);
}

static void bind_text(const File *file, int at, const char *text) {
    sqlite3_bind_text(file->statement, at, text, -1, SQLITE_STATIC);
}

static bool insert(const File *file) {
    bool done = sqlite3_step(file->statement) == SQLITE_DONE;
    return sqlite3_reset(file->statement) == SQLITE_OK && done;
}

static bool write_meta(File *file, const Profile *profile) {
    const struct {
        const char *key;
        uint64_t value;
    } wholes[] = {
        {"tiles", profile->tiles},
        {"cycles", profile->cycles[PROF_SIMULATED]},
        {"cycles_sampled", profile->cycles_sampled},
        {"scheduled_cycles", profile->cycles[PROF_SCHEDULED]},
        {"predicted_cycles", profile->cycles[PROF_PREDICTED]},
    };
    bool good = prepare(file, "INSERT INTO meta VALUES(?,?)");
    for (size_t i = 0; i < COUNT_OF(wholes) && good; i++) {
        bind_text(file, 1, wholes[i].key);
        bind_whole(file, 2, wholes[i].value);
        good = insert(file);
    }
    if (!good)
        return false;
    bind_text(file, 1, "content_digest");
    bind_text(file, 2, profile->digest);
    return insert(file);
}

static bool write_causes(File *file, const Profile *profile) {
    bool good = prepare(file, "INSERT INTO causes VALUES(?,?)");
    for (unsigned cause = 0; cause < PROF_CAUSES && good; cause++) {
        bind_whole(file, 1, cause);
        bind_text(file, 2, prof_cause_name(cause));
        good = insert(file);
    }
    good = good && prepare(file, "INSERT INTO attribution VALUES(?,?,?,?,?)");
    for (size_t s = 0; s < profile->steps.count; s++)
        for (unsigned cause = 0; cause < PROF_CAUSES && good; cause++) {
            bind_whole(file, 1, s);
            bind_whole(file, 2, cause);
            for (int figure = 0; figure < PROF_FIGURES; figure++)
                sqlite3_bind_int64(file->statement, 3 + figure,
                                   profile->steps.items[s].causes[figure][cause]);
            good = insert(file);
        }
    return good;
}

static bool write_steps(File *file, const Profile *profile) {
    size_t size = (size_t)profile->tiles * PROF_CAUSES * sizeof(int32_t);
    size_t bound = ZSTD_compressBound(size);
    void *packed = mem_alloc(bound, 1);
    bool good = packed && prepare(file, "INSERT INTO steps VALUES(?,?,?,?,?,?,?,?,?,?,?)");
    for (size_t s = 0; s < profile->steps.count && good; s++) {
        const ProfStep *step = &profile->steps.items[s];
        const int32_t *cells = profile->cells + s * profile->tiles * PROF_CAUSES;
        size_t used = ZSTD_compress(packed, bound, cells, size, ZSTD_CLEVEL_DEFAULT);
        good = !ZSTD_isError(used);
        bind_whole(file, 1, s);
        bind_text(file, 2, step->name);
        bind_text(file, 3, step->operation);
        for (int figure = 0; figure < PROF_FIGURES; figure++)
            bind_whole(file, 4 + figure, step->cycles[figure]);
        bind_whole(file, 7, step->scheduled_sampled);
        bind_whole(file, 8, step->simulated_sampled);
        bind_whole(file, 9, step->horizon);
        bind_whole(file, 10, step->bound);
        if (good)
            sqlite3_bind_blob64(file->statement, 11, packed, used, SQLITE_STATIC);
        good = good && insert(file);
    }
    mem_free(packed);
    return good;
}

static bool write_memory(File *file, const Profile *profile) {
    bool good = prepare(file, "INSERT INTO tiles VALUES(?,?)");
    for (uint32_t tile = 0; tile < profile->tiles && good; tile++) {
        bind_whole(file, 1, tile);
        bind_whole(file, 2, profile->map[tile]);
        good = insert(file);
    }
    good = good && prepare(file, "INSERT INTO buffers VALUES(?,?,?,?,?,?,?)");
    for (size_t i = 0; i < profile->buffers.count && good; i++) {
        const ProfBuffer *buffer = &profile->buffers.items[i];
        bind_whole(file, 1, buffer->map);
        bind_whole(file, 2, i);
        bind_text(file, 3, buffer->name);
        bind_whole(file, 4, buffer->address);
        bind_whole(file, 5, buffer->size);
        bind_whole(file, 6, buffer->first);
        bind_whole(file, 7, buffer->last);
        good = insert(file);
    }
    good = good && prepare(file, "INSERT INTO rows VALUES(?,?,?,?)");
    for (size_t i = 0; i < profile->rows.count && good; i++) {
        const ProfRow *row = &profile->rows.items[i];
        bind_whole(file, 1, row->step);
        bind_whole(file, 2, row->tile);
        bind_whole(file, 3, row->address);
        bind_whole(file, 4, row->size);
        good = insert(file);
    }
    return good;
}

static bool write_all(File *file, const Profile *profile) {
    char marks[160];
    snprintf(marks, sizeof marks,
             "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA application_id=%d; "
             "PRAGMA user_version=%d; BEGIN",
             PROF_APPLICATION_ID, PROF_VERSION);
    return sqlite3_exec(file->database, marks, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(file->database, schema, NULL, NULL, NULL) == SQLITE_OK &&
           write_meta(file, profile) && write_causes(file, profile) && write_steps(file, profile) &&
           write_memory(file, profile) &&
           sqlite3_exec(file->database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static Status close_file(File *file, Status status) {
    sqlite3_finalize(file->statement);
    file->statement = NULL;
    if (sqlite3_close(file->database) != SQLITE_OK && status == STATUS_OK)
        status = write_fail(file);
    file->database = NULL;
    return status;
}

Status prof_write(const Profile *profile, const char *path, Diag *diag) {
    File file = {.path = path, .diag = diag};
    char *temporary = NULL;
    Status status = file_replace_begin(path, &temporary, diag);
    if (status == STATUS_OK) {
        bool open =
            sqlite3_open_v2(temporary, &file.database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK;
        if (!open || !write_all(&file, profile))
            status = write_fail(&file);
        status = close_file(&file, status);
        Status ended = file_replace_end(path, temporary, status == STATUS_OK, diag);
        status = status ? status : ended;
    }
    mem_free(temporary);
    return status;
}

/* ---- reading */

static Status damaged(const File *file, const char *what) {
    return diag_error(file->diag, ERR_PROF_DAMAGED, place_of(file), "%s", what);
}

static Status sqlite_damaged(const File *file) {
    return damaged(file, sqlite3_errmsg(file->database));
}

/* Cells of all steps: what no run that fits a profile comes near to. */
enum { MOST_CELLS = 1 << 28 };

/* Whether `count` columns are whole numbers of 32 bits. */
static bool are_small(const File *file, int first, int count) {
    for (int at = first; at < first + count; at++) {
        sqlite3_int64 value = sqlite3_column_int64(file->statement, at);
        if (value < 0 || value > UINT32_MAX)
            return false;
    }
    return true;
}

static Status too_large(const File *file) {
    return damaged(file, "a number is too large");
}

static uint64_t column_whole(const File *file, int at) {
    return (uint64_t)sqlite3_column_int64(file->statement, at);
}

static char *column_text(const File *file, int at, Arena *arena) {
    const unsigned char *text = sqlite3_column_text(file->statement, at);
    return arena_strdup(arena, text ? (const char *)text : "");
}

static bool read_pragma(File *file, const char *sql, int64_t wanted) {
    return prepare(file, sql) && sqlite3_step(file->statement) == SQLITE_ROW &&
           (int64_t)column_whole(file, 0) == wanted;
}

static Status read_meta(File *file, Profile *profile) {
    if (!prepare(file, "SELECT (SELECT value FROM meta WHERE key='tiles'),"
                       "(SELECT value FROM meta WHERE key='cycles'),"
                       "(SELECT value FROM meta WHERE key='cycles_sampled'),"
                       "(SELECT value FROM meta WHERE key='scheduled_cycles'),"
                       "(SELECT value FROM meta WHERE key='predicted_cycles'),"
                       "(SELECT value FROM meta WHERE key='content_digest')") ||
        sqlite3_step(file->statement) != SQLITE_ROW)
        return sqlite_damaged(file);
    uint64_t tiles = column_whole(file, 0);
    profile->cycles[PROF_SIMULATED] = column_whole(file, 1);
    profile->cycles_sampled = column_whole(file, 2);
    profile->cycles[PROF_SCHEDULED] = column_whole(file, 3);
    profile->cycles[PROF_PREDICTED] = column_whole(file, 4);
    const unsigned char *digest = sqlite3_column_text(file->statement, 5);
    bool good = tiles >= 1 && tiles <= CHIP_TILES && digest &&
                strlen((const char *)digest) == PACKAGE_DIGEST_TEXT - 1;
    for (int figure = 0; figure < PROF_FIGURES; figure++)
        good = good && profile->cycles[figure] <= INT32_MAX;
    if (!good)
        return damaged(file, "the head of the profile is wrong");
    memcpy(profile->digest, digest, PACKAGE_DIGEST_TEXT);
    profile->tiles = (uint32_t)tiles;
    return STATUS_OK;
}

/* The cells of one more step. */
static Status read_cells(const File *file, Profile *profile) {
    size_t count = (size_t)profile->tiles * PROF_CAUSES, size = count * sizeof(int32_t);
    if (profile->steps.count > MOST_CELLS / count)
        return damaged(file, "there are too many steps");
    int32_t *grown =
        mem_resize(profile->cells, profile->steps.count * count, sizeof *profile->cells);
    if (!grown)
        return no_memory(file);
    profile->cells = grown;
    const void *packed = sqlite3_column_blob(file->statement, 9);
    size_t bytes = (size_t)sqlite3_column_bytes(file->statement, 9);
    if (!packed ||
        ZSTD_decompress(grown + (profile->steps.count - 1) * count, size, packed, bytes) != size)
        return damaged(file, "the cells of a step cannot be decompressed");
    return STATUS_OK;
}

static Status read_steps(File *file, Profile *profile) {
    if (!prepare(file, "SELECT name, operation, predicted, scheduled, simulated, scheduled_sampled,"
                       " simulated_sampled, horizon, bound, cells FROM steps ORDER BY step"))
        return sqlite_damaged(file);
    int code;
    while ((code = sqlite3_step(file->statement)) == SQLITE_ROW) {
        if (!are_small(file, 2, 7))
            return too_large(file);
        ProfStep step = {
            .name = column_text(file, 0, &profile->arena),
            .operation = column_text(file, 1, &profile->arena),
            .cycles = {column_whole(file, 2), column_whole(file, 3), column_whole(file, 4)},
            .scheduled_sampled = column_whole(file, 5),
            .simulated_sampled = column_whole(file, 6),
            .horizon = (uint32_t)column_whole(file, 7),
            .bound = (uint32_t)column_whole(file, 8)};
        if (!step.name || !step.operation || !vec_push(&profile->steps, step))
            return no_memory(file);
        Status status = read_cells(file, profile);
        if (status)
            return status;
    }
    return code == SQLITE_DONE ? STATUS_OK : sqlite_damaged(file);
}

static Status read_causes(File *file, const Profile *profile) {
    if (!prepare(file, "SELECT step, cause, predicted, scheduled, simulated FROM attribution"))
        return sqlite_damaged(file);
    int code;
    while ((code = sqlite3_step(file->statement)) == SQLITE_ROW) {
        uint64_t step = column_whole(file, 0), cause = column_whole(file, 1);
        if (step >= profile->steps.count || cause >= PROF_CAUSES)
            return damaged(file, "a cause or a step does not exist");
        for (int figure = 0; figure < PROF_FIGURES; figure++)
            profile->steps.items[step].causes[figure][cause] =
                sqlite3_column_int64(file->statement, 2 + figure);
    }
    return code == SQLITE_DONE ? STATUS_OK : sqlite_damaged(file);
}

static Status read_tiles(File *file, Profile *profile) {
    profile->map = mem_alloc(profile->tiles, sizeof *profile->map);
    if (!profile->map)
        return no_memory(file);
    if (!prepare(file, "SELECT tile, map FROM tiles ORDER BY tile"))
        return sqlite_damaged(file);
    uint32_t count = 0;
    while (sqlite3_step(file->statement) == SQLITE_ROW) {
        if (count >= profile->tiles || column_whole(file, 0) != count)
            return damaged(file, "the numbers of the tiles are wrong");
        if (!are_small(file, 1, 1))
            return too_large(file);
        profile->map[count++] = (uint32_t)column_whole(file, 1);
    }
    return count == profile->tiles ? STATUS_OK : damaged(file, "tiles are missing");
}

static Status read_memory(File *file, Profile *profile) {
    if (!prepare(file, "SELECT map, name, address, size, first, last FROM buffers"
                       " ORDER BY map, ordinal"))
        return sqlite_damaged(file);
    int code;
    while ((code = sqlite3_step(file->statement)) == SQLITE_ROW) {
        if (!are_small(file, 0, 1) || !are_small(file, 2, 4))
            return too_large(file);
        ProfBuffer buffer = {(uint32_t)column_whole(file, 0), column_text(file, 1, &profile->arena),
                             (uint32_t)column_whole(file, 2), (uint32_t)column_whole(file, 3),
                             (uint32_t)column_whole(file, 4), (uint32_t)column_whole(file, 5)};
        if (!buffer.name || !vec_push(&profile->buffers, buffer))
            return no_memory(file);
    }
    if (code != SQLITE_DONE ||
        !prepare(file, "SELECT step, tile, address, size FROM rows ORDER BY step, tile"))
        return sqlite_damaged(file);
    while ((code = sqlite3_step(file->statement)) == SQLITE_ROW) {
        if (!are_small(file, 0, 4) || column_whole(file, 0) >= profile->steps.count ||
            column_whole(file, 1) >= profile->tiles)
            return damaged(file, "a row is of no step or tile");
        ProfRow row = {(uint32_t)column_whole(file, 0), (uint32_t)column_whole(file, 1),
                       (uint32_t)column_whole(file, 2), (uint32_t)column_whole(file, 3)};
        if (!vec_push(&profile->rows, row))
            return no_memory(file);
    }
    return code == SQLITE_DONE ? STATUS_OK : sqlite_damaged(file);
}

/* The cells add up to the cycles of every tile and to the sums of every cause. */
static Status check_cells(const File *file, const Profile *profile) {
    int64_t *tiles = mem_alloc(profile->tiles, sizeof *tiles);
    if (!tiles)
        return no_memory(file);
    const int32_t *cell = profile->cells;
    bool good = true;
    for (size_t s = 0; s < profile->steps.count; s++) {
        int64_t causes[PROF_CAUSES] = {0};
        for (uint32_t tile = 0; tile < profile->tiles; tile++)
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++, cell++) {
                causes[cause] += *cell;
                tiles[tile] += *cell;
            }
        good &= memcmp(causes, profile->steps.items[s].causes[PROF_SIMULATED], sizeof causes) == 0;
    }
    for (uint32_t tile = 0; tile < profile->tiles; tile++)
        good &= tiles[tile] == (int64_t)profile->cycles[PROF_SIMULATED];
    mem_free(tiles);
    return good ? STATUS_OK : damaged(file, "the cycles of the tiles do not add up");
}

/* The sums of every figure add up to its cycles. */
static Status check_figures(const File *file, const Profile *profile) {
    for (int figure = 0; figure < PROF_FIGURES; figure++) {
        uint64_t cycles = 0, causes = 0; /* unsigned: wrong causes may wrap */
        for (size_t s = 0; s < profile->steps.count; s++) {
            const ProfStep *step = &profile->steps.items[s];
            cycles += step->cycles[figure];
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
                causes += (uint64_t)step->causes[figure][cause];
        }
        if (cycles != profile->cycles[figure] || causes != cycles * profile->tiles)
            return diag_error(file->diag, ERR_PROF_DAMAGED, place_of(file),
                              "the %s cycles of the steps do not add up",
                              prof_figure_name((ProfFigure)figure));
    }
    return STATUS_OK;
}

/* Nothing in the file's schema is executed. */
static bool open_distrusted(File *file) {
    if (sqlite3_open_v2(file->path, &file->database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return false;
    static const int off[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                              SQLITE_DBCONFIG_ENABLE_VIEW};
    sqlite3_db_config(file->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    for (size_t i = 0; i < COUNT_OF(off); i++)
        sqlite3_db_config(file->database, off[i], 0, NULL);
    return true;
}

Status prof_read(const char *path, Profile *profile, Diag *diag) {
    File file = {.path = path, .diag = diag};
    *profile = (Profile){0};
    FileMap map;
    Status status = file_map(path, &map, diag); /* the usual messages for what is no file */
    if (status)
        return status;
    file_unmap(&map);
    if (!open_distrusted(&file) ||
        !read_pragma(&file, "PRAGMA application_id", PROF_APPLICATION_ID) ||
        !read_pragma(&file, "PRAGMA user_version", PROF_VERSION))
        status = diag_error(diag, ERR_PROF_FORMAT, place_of(&file), "this is no Tilework profile");
    if (status == STATUS_OK)
        status = read_meta(&file, profile);
    if (status == STATUS_OK)
        status = read_steps(&file, profile);
    if (status == STATUS_OK)
        status = read_causes(&file, profile);
    if (status == STATUS_OK)
        status = read_tiles(&file, profile);
    if (status == STATUS_OK)
        status = read_memory(&file, profile);
    if (status == STATUS_OK)
        status = check_cells(&file, profile);
    if (status == STATUS_OK)
        status = check_figures(&file, profile);
    return close_file(&file, status);
}
