/* The code that all tiles share: assembled and linked once. */
#include "emit/internal.h"

#include "base/embed.h"
#include "chip/chip.h"

#include <string.h>

extern const EmbeddedFile tw_emit_sources[];

/* Objects in link order: the runtime, then the kernels. */
typedef struct Objects {
    AsmObject **items;
    size_t count;
} Objects;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "linking the code of the tiles");
}

static Status assemble_runtime(AsmObject **object, Diag *diag) {
    static const AsmDefine defines[] = {
        {"RUNTIME_END", CHIP_RUNTIME_END},         {"WORKER_BASE", CHIP_WORKER_SCRATCH_BASE},
        {"WORKER_STEP", CHIP_WORKER_SCRATCH_SIZE}, {"SAMPLE_SLOT", EMIT_SAMPLE_SLOT},
        {"MUX_NEUTRAL", CHIP_MUX_NEUTRAL},         {"START_PADDING", EMIT_START_PADDING},
        {"TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL}};
    AsmOptions options = {.defines = defines, .define_count = COUNT_OF(defines)};
    const EmbeddedFile *file = embed_find(tw_emit_sources, "runtime.S");
    return asm_assemble(file->name, file->bytes, file->size, &options, object, diag);
}

static void objects_free(Objects *objects) {
    for (size_t i = 0; i < objects->count; i++)
        asm_object_free(objects->items[i]);
    mem_free(objects->items);
}

/* Does an earlier spec have the same code? */
static bool is_repeated(const EmitLibrary *library, size_t spec) {
    for (size_t i = 0; i < spec; i++)
        if (strcmp(library->name[i], library->name[spec]) == 0)
            return true;
    return false;
}

static Status assemble_all(const EmitLibrary *library, const TileGraph *graph, Objects *objects,
                           Diag *diag) {
    objects->items = mem_alloc(graph->specs.count + 1, sizeof *objects->items);
    if (!objects->items)
        return no_memory(diag);
    Status status = assemble_runtime(&objects->items[0], diag);
    objects->count = status == STATUS_OK;
    for (size_t i = 0; i < graph->specs.count && !status; i++) {
        if (is_repeated(library, i))
            continue;
        status = kernel_assemble(&graph->specs.items[i], &objects->items[objects->count], diag);
        objects->count += status == STATUS_OK;
    }
    return status;
}

/* ---- an image as code with debug information */

static bool keep_symbols(EmitLibrary *library, const AsmImage *image, EmitCode *code) {
    for (size_t i = 0; i < image->symbol_count; i++) {
        const AsmImageSymbol *symbol = &image->symbols[i];
        if (symbol->address < code->address || symbol->address - code->address >= code->size)
            continue;
        uint32_t offset = symbol->address - code->address;
        EmitSymbol kept = {.offset = offset,
                           .size = MIN_OF(symbol->size, code->size - offset),
                           .name = arena_strdup(&library->arena, symbol->name)};
        if (!kept.name || !vec_push(&code->symbols, kept))
            return false;
    }
    return true;
}

static bool keep_lines(EmitLibrary *library, const AsmImage *image, EmitCode *code) {
    const char *file = NULL;
    for (size_t i = 0; i < image->line_count; i++) {
        const AsmImageLine *line = &image->lines[i];
        if (!line->code || line->address < code->address ||
            line->address - code->address >= code->size)
            continue;
        if (!file || strcmp(file, line->file) != 0)
            file = arena_strdup(&library->arena, line->file);
        EmitLine kept = {line->address - code->address, file, line->line};
        if (!file || !vec_push(&code->lines, kept))
            return false;
    }
    return true;
}

/* One piece of the image, [begin, end) from its base; nothing if it is empty. */
static bool keep_piece(EmitLibrary *library, const AsmImage *image, uint32_t begin, uint32_t end,
                       bool data) {
    if (begin == end)
        return true;
    uint8_t *bytes = arena_alloc(&library->arena, end - begin, 1);
    if (!bytes)
        return false;
    memcpy(bytes, image->bytes + begin, end - begin);
    EmitCode code = {.address = image->base + begin, .size = end - begin, .bytes = bytes};
    bool memory = keep_symbols(library, image, &code) && keep_lines(library, image, &code) &&
                  (data ? vec_push(&library->data, code) : vec_push(&library->parts, code));
    if (!memory) {
        vec_free(&code.symbols);
        vec_free(&code.lines);
    }
    return memory;
}

/* Links the objects [first, first + count) at `base` and finds the kernels among them. */
static Status link_part(EmitLibrary *library, const Objects *objects, size_t first, size_t count,
                        size_t specs, uint32_t base, Diag *diag) {
    AsmImage image;
    Status status = asm_link((const AsmObject *const *)objects->items + first, count, base, NULL, 0,
                             &image, diag);
    if (status)
        return status;
    if (!keep_piece(library, &image, 0, image.code_size, false) ||
        !keep_piece(library, &image, image.code_size, image.size, true))
        status = no_memory(diag);
    uint32_t end = (uint32_t)align_up(base + image.size, EMIT_CODE_ALIGN);
    if (base == EMIT_LIBRARY_BASE)
        library->end_below = end;
    else
        library->end_above = end;
    for (size_t i = 0; i < specs; i++)
        asm_image_symbol(&image, library->name[i], &library->kernel[i]);
    if (first == 0) {
        asm_image_symbol(&image, "tilework_start", &library->start);
        asm_image_symbol(&image, "tilework_sample", &library->sample);
        asm_image_symbol(&image, "tilework_barrier", &library->barrier);
    }
    asm_image_free(&image);
    return status;
}

static Status link_all(EmitLibrary *library, const Objects *objects, size_t specs, Diag *diag) {
    const AsmObject *const *items = (const AsmObject *const *)objects->items;
    uint32_t room = CHIP_HOST_WINDOW_BASE - EMIT_LIBRARY_BASE;
    size_t below = objects->count;
    while (below > 1 && asm_link_size(items, below) > room)
        below--;
    library->end_above = EMIT_DATA_BASE;
    Status status = link_part(library, objects, 0, below, specs, EMIT_LIBRARY_BASE, diag);
    size_t above = objects->count - below;
    if (status || above == 0)
        return status;
    if (asm_link_size(items + below, above) > CHIP_REGION1_BASE - EMIT_DATA_BASE)
        return diag_error(
            diag, ERR_EMIT_CODE, DIAG_NOWHERE, "the kernels take %u bytes, %u are executable",
            asm_link_size(items, objects->count), room + CHIP_REGION1_BASE - EMIT_DATA_BASE);
    return link_part(library, objects, below, above, specs, EMIT_DATA_BASE, diag);
}

static bool name_kernels(EmitLibrary *library, const TileGraph *graph) {
    library->kernel = ARENA_NEW(&library->arena, uint32_t, graph->specs.count + 1);
    library->name = ARENA_NEW(&library->arena, const char *, graph->specs.count + 1);
    if (!library->kernel || !library->name)
        return false;
    for (size_t i = 0; i < graph->specs.count; i++) {
        char name[KERNEL_NAME_SIZE];
        library->name[i] =
            arena_strdup(&library->arena, kernel_entry(&graph->specs.items[i], name));
        if (!library->name[i])
            return false;
    }
    return true;
}

Status emit_link(const TileGraph *graph, EmitLibrary *library, Diag *diag) {
    *library = (EmitLibrary){0};
    Objects objects = {0};
    Status status = name_kernels(library, graph) ? assemble_all(library, graph, &objects, diag)
                                                 : no_memory(diag);
    if (!status)
        status = link_all(library, &objects, graph->specs.count, diag);
    objects_free(&objects);
    if (status)
        emit_library_free(library);
    return status;
}

void emit_code_free(EmitCode *code) {
    vec_free(&code->symbols);
    vec_free(&code->lines);
}

void emit_library_free(EmitLibrary *library) {
    for (size_t i = 0; i < library->parts.count; i++)
        emit_code_free(&library->parts.items[i]);
    for (size_t i = 0; i < library->data.count; i++)
        emit_code_free(&library->data.items[i]);
    vec_free(&library->parts);
    vec_free(&library->data);
    arena_free(&library->arena);
    *library = (EmitLibrary){0};
}
