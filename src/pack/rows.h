/* The tables of a package, described once: the file, the digest, the reader and the comparison all
 * work from these rows. */
#pragma once

#include "pack/pack.h"

typedef enum ColumnType { COLUMN_INTEGER, COLUMN_TEXT, COLUMN_BYTES } ColumnType;

typedef struct Column {
    const char *name;
    ColumnType type;
    bool nullable;
    bool hexadecimal; /* an address: how people read it */
} Column;

typedef struct Value {
    bool null;
    int64_t integer;
    const void *bytes; /* of a text (without its final 0) or of bytes */
    size_t size;
} Value;

enum { TABLE_COLUMNS = 9 };

struct Loader;

typedef struct Table {
    const char *name;
    const char *sql;    /* exactly as in the file's schema */
    uint32_t key_count; /* the first columns are the key; rows ascend by it */
    Column columns[TABLE_COLUMNS];
    uint32_t column_count;
    size_t (*count)(const Package *package);
    void (*get)(const Package *package, size_t row, Value *values, char *scratch);
    Status (*load)(struct Loader *loader, const Value *values);
} Table;

enum { TABLE_SCRATCH = 512 }; /* bytes that get may use for texts it makes */

enum { TABLE_COUNT = 20 };
/* In the order of loading: what a table refers to by content comes before it. */
extern const Table pack_tables[TABLE_COUNT];
/* The table of blobs, whose `data` column is compressed in the file. */
enum { TABLE_BLOBS = 1, BLOBS_DATA_COLUMN = 2 };

/* Key of meta under which the file keeps the digest; not among the rows. */
#define META_DIGEST "content_digest"

/* The bytes of a row that the package was found to hold. */
const uint8_t *package_row_bytes(const Package *package, const PackageRow *row);

/* A package being read. */
typedef struct Loader {
    const char *path;
    Package *package;
    const char *table; /* whose row is being loaded */
    Diag *diag;
} Loader;

/* ERR_PACK_DAMAGED for the row in hand. */
Status loader_fail(Loader *loader, const char *what);

/* Index of the blob with this id, or PACKAGE_NONE; of a finished package, or one whose blobs have
 * been loaded in order. */
uint32_t package_blob_by_id(const Package *package, const uint8_t id[16]);
