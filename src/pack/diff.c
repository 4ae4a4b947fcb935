#include "pack/rows.h"

#include <string.h>

/* How much of a long text is shown. */
enum { SHOWN = 60 };

static int compare_values(const Column *column, const Value *a, const Value *b) {
    if (a->null || b->null)
        return (int)b->null - (int)a->null;
    if (column->type == COLUMN_INTEGER)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    int order = memcmp(a->bytes, b->bytes, MIN_OF(a->size, b->size));
    return order ? order : a->size < b->size ? -1 : a->size > b->size;
}

/* Order of two rows by their first `columns` columns. */
static int compare_rows(const Table *table, uint32_t columns, const Value *a, const Value *b) {
    int order = 0;
    for (uint32_t c = 0; c < columns && order == 0; c++)
        order = compare_values(&table->columns[c], &a[c], &b[c]);
    return order;
}

static void print_value(const Column *column, const Value *value, FILE *out) {
    if (value->null) {
        fprintf(out, "none");
    } else if (column->type == COLUMN_INTEGER) {
        fprintf(out, column->hexadecimal ? "0x%llX" : "%lld", (long long)value->integer);
    } else if (column->type == COLUMN_TEXT) {
        const char *text = value->bytes;
        size_t shown = MIN_OF(strcspn(text, "\n"), (size_t)SHOWN);
        fprintf(out, "%.*s%s", (int)shown, text, shown < value->size ? "…" : "");
    } else if (value->size == sizeof(PackageDigest)) {
        PackageDigest id;
        char text[PACKAGE_DIGEST_TEXT];
        memcpy(&id, value->bytes, sizeof id);
        fprintf(out, "%s", package_digest_print(id, text));
    } else {
        fprintf(out, "(%zu bytes)", value->size);
    }
}

static void print_row(const char *sign, const Table *table, const Value *values, FILE *out) {
    fprintf(out, "%s %s", sign, table->name);
    for (uint32_t c = 0; c < table->column_count; c++) {
        fprintf(out, " %s=", table->columns[c].name);
        print_value(&table->columns[c], &values[c], out);
    }
    fputc('\n', out);
}

typedef struct Side {
    const Package *package;
    size_t row, rows;
    Value values[TABLE_COLUMNS];
    char scratch[TABLE_SCRATCH];
} Side;

static void side_load(Side *side, const Table *table) {
    memset(side->values, 0, sizeof side->values);
    if (side->row < side->rows)
        table->get(side->package, side->row, side->values, side->scratch);
}

static uint64_t diff_table(const Table *table, Side *a, Side *b, FILE *out, uint32_t limit) {
    uint64_t differing = 0;
    a->row = b->row = 0;
    a->rows = table->count(a->package);
    b->rows = table->count(b->package);
    side_load(a, table);
    side_load(b, table);
    while (a->row < a->rows || b->row < b->rows) {
        int order = a->row == a->rows ? 1
                    : b->row == b->rows
                        ? -1
                        : compare_rows(table, table->key_count, a->values, b->values);
        bool equal =
            order == 0 && compare_rows(table, table->column_count, a->values, b->values) == 0;
        bool shown = !equal && differing++ < limit;
        if (shown && order <= 0)
            print_row("-", table, a->values, out);
        if (shown && order >= 0)
            print_row("+", table, b->values, out);
        a->row += order <= 0;
        b->row += order >= 0;
        if (order <= 0)
            side_load(a, table);
        if (order >= 0)
            side_load(b, table);
    }
    if (differing > limit)
        fprintf(out, "  %s: %llu more rows differ\n", table->name,
                (unsigned long long)(differing - limit));
    return differing;
}

uint64_t package_diff(const Package *a, const Package *b, FILE *out, uint32_t limit) {
    uint64_t differing = 0;
    Side left = {.package = a}, right = {.package = b};
    for (size_t t = 0; t < TABLE_COUNT; t++)
        differing += diff_table(&pack_tables[t], &left, &right, out, limit);
    return differing;
}
