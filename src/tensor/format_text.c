#include "tensor/format.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const order_names[] = {
    [ORDER_ROW_MAJOR] = "row_major",
    [ORDER_LEFT] = "left",
    [ORDER_TRANSPOSED_LEFT] = "transposed_left",
    [ORDER_RIGHT] = "right",
    [ORDER_TRANSPOSED_RIGHT] = "transposed_right",
    [ORDER_OUTPUT] = "output",
    [ORDER_TRANSPOSED_OUTPUT] = "transposed_output",
    [ORDER_BLOCK] = "block",
    [ORDER_TRANSPOSED_BLOCK] = "transposed_block",
};

/* The members of an axis in text order, with the default that leaves them out. */
typedef struct Member {
    const char *name;
    uint32_t *value;
    uint32_t standard;
} Member;

enum { AXIS_MEMBERS = 8 };

static void axis_members(AxisTiling *tiling, Member members[AXIS_MEMBERS]) {
    members[0] = (Member){"parts", &tiling->partitions, 1};
    members[1] = (Member){"groups", &tiling->groups, 1};
    members[2] = (Member){"block", &tiling->block, 1};
    members[3] = (Member){"padding", &tiling->padding, tiling->block};
    members[4] = (Member){"shard", &tiling->shard_padding, 1};
    members[5] = (Member){"split", &tiling->split, 1};
    members[6] = (Member){"stride", &tiling->stride, 1};
    members[7] = (Member){"split_stride", &tiling->split_stride, 1};
}

static void print_axis(FILE *out, AxisTiling tiling) {
    Member members[AXIS_MEMBERS];
    axis_members(&tiling, members);
    fprintf(out, " axis%u(", tiling.axis);
    const char *separator = "";
    for (int i = 0; i < AXIS_MEMBERS; i++) {
        if (*members[i].value == members[i].standard)
            continue;
        fprintf(out, "%s%s=%u", separator, members[i].name, *members[i].value);
        separator = ",";
    }
    fputc(')', out);
}

char *format_print(const Format *format) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    char precision[PRECISION_TEXT_SIZE];
    fprintf(out, "%s %s%s", precision_print(format->precision, precision),
            order_names[format->order.kind], format->order.half ? "_half" : "");
    if (format->order.inner_block != 0)
        fprintf(out, "(%u,%u)", format->order.inner_block, format->order.outer_block);
    else if (format->order.outer_block != 0)
        fprintf(out, "(%u)", format->order.outer_block);
    fprintf(out, " %s tiles=%u+%u replicas=%u", memory_class_name(format->memory_class),
            format->first_tile, format->tile_count, format->replicas);
    for (uint32_t i = 0; i < format->axis_count; i++)
        print_axis(out, format->axes[i]);
    if (fclose(out) != 0 || !text) {
        free(text);
        return NULL;
    }
    char *copy = mem_strdup(text);
    free(text);
    return copy;
}

typedef struct Scanner {
    const char *start, *at;
} Scanner;

static bool scan_text(Scanner *scanner, const char *text) {
    size_t length = strlen(text);
    if (strncmp(scanner->at, text, length) != 0)
        return false;
    scanner->at += length;
    return true;
}

/* A member's name, up to the '='. */
static bool scan_name(Scanner *scanner, const char *name) {
    return scanner->at[strcspn(scanner->at, "=")] == '=' &&
           strlen(name) == strcspn(scanner->at, "=") && scan_text(scanner, name);
}

static bool scan_number(Scanner *scanner, uint32_t *value) {
    uint64_t number = 0;
    const char *at = scanner->at;
    for (; *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
        if (number > UINT32_MAX)
            return false;
    }
    bool found = at != scanner->at;
    scanner->at = at;
    *value = (uint32_t)number;
    return found;
}

static bool scan_order(Scanner *scanner, Order *order) {
    size_t length = strcspn(scanner->at, " (");
    bool half = length > 5 && strncmp(scanner->at + length - 5, "_half", 5) == 0;
    size_t name = half ? length - 5 : length;
    for (size_t i = 0; i < COUNT_OF(order_names); i++) {
        if (strlen(order_names[i]) != name || strncmp(order_names[i], scanner->at, name) != 0)
            continue;
        *order = (Order){.kind = (OrderKind)i, .half = half};
        scanner->at += length;
        if (!scan_text(scanner, "("))
            return true;
        bool left = order->kind == ORDER_LEFT || order->kind == ORDER_TRANSPOSED_LEFT;
        return (left || (scan_number(scanner, &order->inner_block) && scan_text(scanner, ","))) &&
               scan_number(scanner, &order->outer_block) && scan_text(scanner, ")");
    }
    return false;
}

static bool scan_axis(Scanner *scanner, AxisTiling *tiling) {
    *tiling = axis_tiling(0, 1, 1, 1);
    tiling->padding = 0;
    if (!scan_number(scanner, &tiling->axis) || !scan_text(scanner, "("))
        return false;
    Member members[AXIS_MEMBERS];
    axis_members(tiling, members);
    for (bool first = true; !scan_text(scanner, ")"); first = false) {
        if (!first && !scan_text(scanner, ","))
            return false;
        int i = 0;
        while (i < AXIS_MEMBERS && !scan_name(scanner, members[i].name))
            i++;
        if (i == AXIS_MEMBERS || !scan_text(scanner, "=") ||
            !scan_number(scanner, members[i].value))
            return false;
    }
    if (tiling->padding == 0)
        tiling->padding = tiling->block;
    return true;
}

static bool scan_format(Scanner *scanner, Format *format) {
    const char *after = precision_parse(scanner->at, &format->precision);
    if (!after)
        return false;
    scanner->at = after;
    if (!scan_text(scanner, " ") || !scan_order(scanner, &format->order))
        return false;
    if (scan_text(scanner, " interleaved"))
        format->memory_class = MEMORY_INTERLEAVED;
    else if (!scan_text(scanner, " standard"))
        return false;
    if (!scan_text(scanner, " tiles=") || !scan_number(scanner, &format->first_tile) ||
        !scan_text(scanner, "+") || !scan_number(scanner, &format->tile_count) ||
        !scan_text(scanner, " replicas=") || !scan_number(scanner, &format->replicas))
        return false;
    while (*scanner->at != 0) {
        if (format->axis_count == SHAPE_MAX_RANK || !scan_text(scanner, " axis") ||
            !scan_axis(scanner, &format->axes[format->axis_count]))
            return false;
        format->axis_count++;
    }
    return true;
}

Status format_parse(const char *text, Format *format, Diag *diag) {
    *format = (Format){.memory_class = MEMORY_STANDARD};
    Scanner scanner = {text, text};
    if (scan_format(&scanner, format))
        return STATUS_OK;
    DiagPlace place = {.tile = -1, .column = (uint32_t)(scanner.at - text) + 1};
    return diag_error(diag, ERR_FORMAT_TEXT, place, "not a format from here: \"%.40s\"",
                      scanner.at);
}
