#include "cli/cli.h"

#include <string.h>

typedef struct Arguments {
    bool bindings, segments, plan, exchange, memory;
    int64_t tile; /* -1: all */
} Arguments;

static json_t *shape_json(const TwShape *shape) {
    json_t *dims = json_array();
    for (unsigned axis = 0; axis < shape->rank; axis++)
        json_array_append_new(dims, json_integer(shape->dims[axis]));
    return dims;
}

static void show_summary(Cli *cli, const TwPackage *package) {
    TwPackageSummary summary = tw_package_summary(package);
    char digest[TW_DIGEST_TEXT], a[CLI_NUMBER], b[CLI_NUMBER];
    tw_package_digest(package, digest);
    cli_put(cli, "producer", cli_text(summary.producer));
    cli_put_whole(cli, "tiles", summary.tiles);
    cli_put_whole(cli, "programs", summary.programs);
    cli_put_whole(cli, "segment_count", summary.segments);
    cli_put_whole(cli, "segment_bytes", summary.segment_bytes);
    cli_put_whole(cli, "blob_count", summary.blobs);
    cli_put_whole(cli, "blob_bytes", summary.blob_bytes);
    cli_put(cli, "content_digest", cli_text(digest));
    if (cli->report)
        return;
    printf("made by %s; content %s\n", summary.producer, digest);
    printf("%u tiles, %u programs, %zu bindings\n", summary.tiles, summary.programs,
           summary.bindings);
    printf("%zu segments of %s bytes, %zu different pieces of %s bytes\n", summary.segments,
           cli_number(summary.segment_bytes, a), summary.blobs, cli_number(summary.blob_bytes, b));
}

static json_t *binding_json(const TwBinding *binding, const char *format) {
    json_t *object = json_object();
    json_object_set_new(object, "name", cli_text(binding->name));
    json_object_set_new(object, "kind", cli_text(tw_binding_kind_name(binding->kind)));
    json_object_set_new(object, "precision", cli_text(tw_precision_name(binding->precision.kind)));
    json_object_set_new(object, "scale_exponent",
                        binding->precision.kind == TW_F8F143
                            ? json_integer(binding->precision.scale_exponent)
                            : json_null());
    json_object_set_new(object, "shape", shape_json(&binding->shape));
    json_object_set_new(object, "logical_bytes", json_integer((json_int_t)binding->logical_bytes));
    json_object_set_new(object, "allocated_bytes",
                        json_integer((json_int_t)binding->allocated_bytes));
    json_object_set_new(object, "copies", json_integer(binding->copies));
    json_object_set_new(object, "tiles", json_integer(binding->tiles));
    json_object_set_new(object, "format", cli_text(format ? format : ""));
    return object;
}

static void print_binding(const TwBinding *binding, const char *format) {
    char a[CLI_NUMBER], b[CLI_NUMBER];
    printf("%-9s %s: %s", tw_binding_kind_name(binding->kind), binding->name,
           tw_precision_name(binding->precision.kind));
    if (binding->precision.kind == TW_F8F143)
        printf("(s=%d)", binding->precision.scale_exponent);
    fputc('[', stdout);
    for (unsigned axis = 0; axis < binding->shape.rank; axis++)
        printf("%s%u", axis ? "," : "", binding->shape.dims[axis]);
    printf("]\n  %s bytes, %s allocated in %u cop%s on %u tiles\n  %s\n",
           cli_number(binding->logical_bytes, a), cli_number(binding->allocated_bytes, b),
           binding->copies, binding->copies == 1 ? "y" : "ies", binding->tiles,
           format ? format : "");
}

static void show_bindings(Cli *cli, const TwPackage *package) {
    json_t *list = json_array();
    for (size_t i = 0; i < tw_binding_count(package); i++) {
        TwBinding binding = tw_binding(package, i);
        char *format = tw_binding_format(package, i);
        if (cli->report)
            json_array_append_new(list, binding_json(&binding, format));
        else
            print_binding(&binding, format);
        tw_free(format);
    }
    cli_put(cli, "bindings", list);
}

static const char *segment_flags(const TwSegment *segment, char text[4]) {
    text[0] = segment->readable ? 'r' : '-';
    text[1] = segment->writable ? 'w' : '-';
    text[2] = segment->executable ? 'x' : '-';
    text[3] = 0;
    return text;
}

static json_t *segment_json(const TwSegment *segment) {
    char flags[4];
    json_t *object = json_object();
    json_object_set_new(object, "tile", json_integer(segment->tile));
    json_object_set_new(object, "address", json_integer(segment->address));
    json_object_set_new(object, "size", json_integer(segment->size));
    json_object_set_new(object, "flags", cli_text(segment_flags(segment, flags)));
    json_object_set_new(object, "stored", json_integer(segment->stored));
    json_object_set_new(object, "blob", cli_text(segment->blob));
    return object;
}

static void show_segments(Cli *cli, const TwPackage *package, int64_t tile) {
    json_t *list = json_array();
    for (size_t i = 0; i < tw_segment_count(package); i++) {
        TwSegment segment = tw_segment(package, i);
        char flags[4];
        if (tile >= 0 && segment.tile != tile)
            continue;
        if (cli->report)
            json_array_append_new(list, segment_json(&segment));
        else
            printf("tile %4u  %05x-%05x %7u  %s  %s\n", segment.tile, segment.address,
                   segment.address + segment.size, segment.size, segment_flags(&segment, flags),
                   *segment.blob ? segment.blob : "zeros");
    }
    cli_put(cli, "segments", list);
}

static json_t *buffer_json(const TwBuffer *buffer) {
    json_t *object = json_object();
    json_object_set_new(object, "name", cli_text(buffer->name));
    json_object_set_new(object, "address", json_integer(buffer->address));
    json_object_set_new(object, "size", json_integer(buffer->size));
    json_object_set_new(object, "class", cli_text(buffer->memory_class));
    json_object_set_new(object, "first", json_integer(buffer->first));
    json_object_set_new(object, "last", json_integer(buffer->last));
    return object;
}

static void print_code(const TwPackage *package, unsigned tile) {
    for (size_t i = 0; i < tw_segment_count(package); i++) {
        TwSegment segment = tw_segment(package, i);
        if (segment.tile == tile && segment.executable)
            printf("%05x-%05x %7u  code\n", segment.address, segment.address + segment.size,
                   segment.size);
    }
}

/* Code and buffers of one tile. */
static TwStatus show_memory(Cli *cli, const TwPackage *package, unsigned tile) {
    unsigned program = tw_tile_program(package, tile);
    size_t count = tw_program_buffers(package, program, NULL, 0);
    TwBuffer *buffers = mem_alloc(count, sizeof *buffers);
    if (!buffers)
        return (TwStatus)cli_error(cli, ERR_NO_MEMORY, NULL, "no memory left on the host");
    tw_program_buffers(package, program, buffers, count);
    json_t *list = json_array();
    if (!cli->report) {
        printf("tile %u, program %u\n", tile, program);
        print_code(package, tile);
    }
    for (size_t i = 0; i < count; i++) {
        const TwBuffer *buffer = &buffers[i];
        if (cli->report)
            json_array_append_new(list, buffer_json(buffer));
        else
            printf("%05x-%05x %7u  %-11s  steps %u-%u  %s\n", buffer->address,
                   buffer->address + buffer->size, buffer->size, buffer->memory_class,
                   buffer->first, buffer->last, buffer->name);
    }
    json_t *memory = json_object();
    json_object_set_new(memory, "tile", json_integer(tile));
    json_object_set_new(memory, "program", json_integer(program));
    json_object_set_new(memory, "buffers", list);
    cli_put(cli, "memory", memory);
    mem_free(buffers);
    return 0;
}

static void show_plan(Cli *cli, const TwPackage *package) {
    static const char *const notes[] = {"graph", "plan", "explanation"};
    for (size_t i = 0; i < COUNT_OF(notes); i++) {
        const char *text = tw_package_note(package, notes[i]);
        if (!text)
            continue;
        cli_put(cli, notes[i], cli_text(text));
        if (!cli->report)
            printf("%s%s", i ? "\n" : "", text);
    }
}

static json_t *phase_json(const TwPhase *phase) {
    json_t *object = json_object();
    json_object_set_new(object, "name", cli_text(phase->name));
    json_object_set_new(object, "horizon", json_integer(phase->horizon));
    json_object_set_new(object, "bound", json_integer(phase->bound));
    json_object_set_new(object, "tiles", json_integer(phase->tiles));
    json_object_set_new(object, "transfers", json_integer(phase->transfers));
    json_object_set_new(object, "messages", json_integer(phase->messages));
    json_object_set_new(object, "paired", json_integer(phase->paired));
    json_object_set_new(object, "words_sent", json_integer((json_int_t)phase->words_sent));
    json_object_set_new(object, "words_received", json_integer((json_int_t)phase->words_received));
    json_object_set_new(object, "row_bytes", json_integer((json_int_t)phase->row_bytes));
    json_object_set_new(object, "max_row_bytes", json_integer(phase->max_row_bytes));
    return object;
}

static void print_phase(const TwPhase *phase) {
    char a[CLI_NUMBER], b[CLI_NUMBER], c[CLI_NUMBER];
    printf("%s\n", phase->name);
    printf("  horizon %s events, bound %s words", cli_number(phase->horizon, a),
           cli_number(phase->bound, b));
    if (phase->bound > 0)
        printf(": ratio %.2f", (double)phase->horizon / phase->bound);
    printf("\n  %s transfers in %s messages, %s of them paired\n", cli_number(phase->transfers, a),
           cli_number(phase->messages, b), cli_number(phase->paired, c));
    printf("  %s words sent, %s received\n", cli_number(phase->words_sent, a),
           cli_number(phase->words_received, b));
    printf("  rows on %u tiles, %s bytes, the longest %s\n", phase->tiles,
           cli_number(phase->row_bytes, a), cli_number(phase->max_row_bytes, b));
}

static TwStatus show_exchange(Cli *cli, const TwPackage *package) {
    json_t *list = json_array();
    TwStatus status = 0;
    size_t count = tw_phase_count(package);
    for (size_t i = 0; i < count && status == 0; i++) {
        TwPhase phase;
        status = tw_phase(cli->context, package, i, &phase);
        if (status == 0 && cli->report)
            json_array_append_new(list, phase_json(&phase));
        else if (status == 0)
            print_phase(&phase);
    }
    if (count == 0 && !cli->report)
        printf("nothing moves between tiles\n");
    cli_put(cli, "phases", list);
    return status;
}

static TwStatus inspect(Cli *cli, const Arguments *arguments, const TwPackage *package) {
    unsigned tiles = tw_package_summary(package).tiles;
    if (arguments->tile >= (int64_t)tiles)
        return (TwStatus)cli_error(cli, ERR_CLI_NAME, "option --tile",
                                   "the package has tiles 0 to %u", tiles - 1);
    bool any = arguments->bindings || arguments->segments || arguments->plan ||
               arguments->exchange || arguments->memory;
    if (!any || cli->report)
        show_summary(cli, package);
    if (arguments->bindings)
        show_bindings(cli, package);
    if (arguments->segments)
        show_segments(cli, package, arguments->tile);
    if (arguments->plan)
        show_plan(cli, package);
    TwStatus status = arguments->exchange ? show_exchange(cli, package) : 0;
    if (status == 0 && arguments->memory)
        status = show_memory(cli, package, arguments->tile < 0 ? 0 : (unsigned)arguments->tile);
    return status;
}

static int run_inspect(Cli *cli, int argc, char **argv) {
    Arguments arguments = {.tile = -1};
    Option options[] = {
        {.name = "bindings",
         .kind = OPTION_FLAG,
         .help = "inputs, parameters and outputs: precision, shape, bytes, copies, format",
         .target = &arguments.bindings},
        {.name = "segments",
         .kind = OPTION_FLAG,
         .help = "initial memory of the tiles",
         .target = &arguments.segments},
        {.name = "plan",
         .kind = OPTION_FLAG,
         .help = "graph, plan and why it was taken",
         .target = &arguments.plan},
        {.name = "exchange",
         .kind = OPTION_FLAG,
         .help = "what each exchange moves: messages, horizon, bound, bytes of code",
         .target = &arguments.exchange},
        {.name = "memory",
         .kind = OPTION_FLAG,
         .help = "code and buffers of one tile",
         .target = &arguments.memory},
        {.name = "tile",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "the tile of --memory (default 0); only this tile's --segments",
         .target = &arguments.tile,
         .least = 0,
         .most = TW_TILES - 1},
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        TwPackage *package = NULL;
        status = tw_package_read(cli->context, cli->arguments.items[0], &package);
        if (status == 0)
            status = inspect(cli, &arguments, package);
        tw_package_free(package);
    }
    return cli_end(cli, status, false);
}

const Verb verb_inspect = {
    .name = "inspect",
    .arguments = "PACKAGE",
    .least = 1,
    .most = 1,
    .summary = "show what a package holds",
    .examples = "  tilework inspect small.twpkg --bindings\n"
                "  tilework inspect small.twpkg --plan --memory --tile 3\n",
    .run = run_inspect,
};
