#include "pack/rows.h"

#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of the state */
#include <xxhash.h>

/* Every row of every table, columns in order; a column is a tag, then 8 bytes of an integer or of a
 * length (little endian), then the bytes (docs/package.md). */

static void add_number(XXH3_state_t *state, uint64_t value) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    XXH3_128bits_update(state, bytes, sizeof bytes);
}

static void add_value(XXH3_state_t *state, const Column *column, const Value *value) {
    uint8_t tag = value->null ? 0 : (uint8_t)(1 + column->type);
    XXH3_128bits_update(state, &tag, 1);
    if (value->null)
        return;
    if (column->type == COLUMN_INTEGER) {
        add_number(state, (uint64_t)value->integer);
        return;
    }
    add_number(state, value->size);
    XXH3_128bits_update(state, value->bytes, value->size);
}

PackageDigest package_digest(const Package *package) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        const Table *table = &pack_tables[t];
        size_t rows = table->count(package);
        XXH3_128bits_update(&state, table->name, strlen(table->name) + 1);
        add_number(&state, rows);
        for (size_t row = 0; row < rows; row++) {
            Value values[TABLE_COLUMNS] = {0};
            char scratch[TABLE_SCRATCH];
            table->get(package, row, values, scratch);
            for (uint32_t c = 0; c < table->column_count; c++)
                add_value(&state, &table->columns[c], &values[c]);
        }
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    PackageDigest digest;
    memcpy(digest.bytes, canonical.digest, sizeof digest.bytes);
    return digest;
}

const char *package_digest_print(PackageDigest digest, char text[PACKAGE_DIGEST_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        text[2 * i] = digits[digest.bytes[i] >> 4];
        text[2 * i + 1] = digits[digest.bytes[i] & 15];
    }
    text[32] = 0;
    return text;
}
