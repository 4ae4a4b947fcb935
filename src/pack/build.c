#include "pack/build.h"

#include "chip/chip.h"

#include <string.h>

typedef struct Builder {
    Package *package;
    const Graph *graph;
    const TileGraph *tiles;
    const EmitLibrary *library;
    const EmitImages *images;
    const PlaceMap *places;
    const EmitExchange *exchanges;
    uint32_t *call_origin; /* provenance of each step of the tile graph */
} Builder;

/* ---- code, with its debug information */

static uint32_t add_code(Builder *builder, const EmitCode *code) {
    Package *package = builder->package;
    size_t before = package->blobs.count;
    uint32_t blob = package_add_blob(package, code->bytes, code->size);
    if (blob == PACKAGE_NONE || package->blobs.count == before)
        return blob; /* content that is there already has its symbols */
    for (size_t i = 0; i < code->symbols.count; i++) {
        const EmitSymbol *symbol = &code->symbols.items[i];
        PackageSymbol copy = {blob, symbol->offset, symbol->size,
                              package_string(package, symbol->name)};
        if (!copy.name || !vec_push(&package->symbols, copy))
            return PACKAGE_NONE;
    }
    const char *file = NULL, *copied = NULL;
    for (size_t i = 0; i < code->lines.count; i++) {
        const EmitLine *line = &code->lines.items[i];
        if (line->file != file)
            copied = package_string(package, line->file);
        file = line->file;
        if (!copied ||
            !vec_push(&package->lines, (PackageLine){blob, line->offset, copied, line->line}))
            return PACKAGE_NONE;
    }
    return blob;
}

static bool add_segment(Builder *builder, uint32_t tile, const EmitCode *code, uint32_t flags) {
    PackageSegment segment = {tile, code->address, code->size, flags, add_code(builder, code)};
    return segment.blob != PACKAGE_NONE && vec_push(&builder->package->segments, segment);
}

static bool add_tile_segments(Builder *builder, uint32_t tile) {
    const EmitLibrary *library = builder->library;
    const EmitProgram *program = &builder->images->programs.items[builder->images->program[tile]];
    const uint32_t code = PACKAGE_READ | PACKAGE_EXECUTE;
    bool loops = false; /* a program with loops writes into itself */
    for (size_t s = 0; s < builder->tiles->steps.count; s++)
        loops |= builder->tiles->steps.items[s].kind == STEP_REPEAT;
    bool memory = add_segment(builder, tile, &program->stub, code) &&
                  add_segment(builder, tile, &program->code, code | (loops ? PACKAGE_WRITE : 0));
    for (size_t i = 0; i < library->parts.count && memory; i++)
        memory = add_segment(builder, tile, &library->parts.items[i], code);
    for (size_t i = 0; i < library->data.count && memory; i++)
        memory = add_segment(builder, tile, &library->data.items[i], PACKAGE_READ);
    PackageSegment state = {tile, CHIP_RUNTIME_BASE, CHIP_RUNTIME_END - CHIP_RUNTIME_BASE,
                            PACKAGE_READ | PACKAGE_WRITE, PACKAGE_NONE};
    return memory && vec_push(&builder->package->segments, state);
}

static bool add_row(Builder *builder, const EmitRow *row) {
    PackageRow place = {row->exchange, row->tile, row->address, row->size, row->horizon};
    EmitCode code = {
        .address = row->address, .size = row->stored, .bytes = (const uint8_t *)row->words};
    EmitSymbol symbols[] = {
        {.size = row->size, .name = "exchange row"},
        {.offset = row->size, .size = row->stored - row->size, .name = "patches of a row"}};
    bool patched = row->stored > row->size;
    uint32_t flags = PACKAGE_READ | PACKAGE_EXECUTE | (patched ? PACKAGE_WRITE : 0);
    bool memory =
        vec_push(&code.symbols, symbols[0]) && (!patched || vec_push(&code.symbols, symbols[1])) &&
        add_segment(builder, row->tile, &code, flags) && vec_push(&builder->package->rows, place);
    vec_free(&code.symbols);
    return memory;
}

static bool add_phase_patches(Builder *builder, uint32_t phase) {
    const EmitExchange *exchange = &builder->exchanges[phase];
    for (uint32_t i = 0; i < exchange->patch_count; i++) {
        const EmitPatch *from = &exchange->patches[i];
        PackagePatch patch = {phase, from->tile, from->address, from->increment};
        if (!vec_push(&builder->package->patches, patch))
            return false;
    }
    return true;
}

static bool add_phases(Builder *builder) {
    for (size_t s = 0; s < builder->tiles->steps.count; s++) {
        const LowerStep *step = &builder->tiles->steps.items[s];
        if (step->kind != STEP_EXCHANGE)
            continue;
        const EmitExchange *exchange = &builder->exchanges[step->exchange];
        uint32_t horizon = 0;
        for (size_t i = 0; i < exchange->rows->rows.count; i++)
            horizon = MAX_OF(horizon, exchange->rows->rows.items[i].horizon);
        if (!package_add_phase(builder->package, exchange->phase, horizon, step->times) ||
            !add_phase_patches(builder, step->exchange))
            return false;
    }
    return true;
}

static bool add_entries(Builder *builder) {
    Package *package = builder->package;
    const char *names[2] = {package_string(package, EMIT_RUN),
                            package_string(package, EMIT_RUN_SAMPLED)};
    for (int sampled = 0; sampled < 2; sampled++)
        for (uint32_t tile = 0; tile < builder->images->tiles; tile++) {
            const EmitProgram *program =
                &builder->images->programs.items[builder->images->program[tile]];
            PackageEntry entry = {names[sampled], tile,
                                  sampled ? program->run_sampled : program->run};
            if (!entry.name || !vec_push(&package->entries, entry))
                return false;
        }
    return true;
}

/* ---- provenance: operation → phase (step of the tile graph) */

static uint32_t add_origin(Builder *builder, uint32_t parent, const char *kind, const char *name,
                           const char *detail) {
    Package *package = builder->package;
    PackageOrigin origin = {parent, kind, package_string(package, name),
                            package_string(package, detail)};
    if (!origin.name || !origin.detail || !vec_push(&package->origins, origin))
        return PACKAGE_NONE;
    return (uint32_t)package->origins.count - 1;
}

static bool add_origins(Builder *builder) {
    const TileGraph *tiles = builder->tiles;
    uint32_t last = GRAPH_NONE, parent = PACKAGE_NONE;
    for (size_t s = 0; s < tiles->steps.count; s++) {
        const LowerStep *step = &tiles->steps.items[s];
        const GraphOp *op = &builder->graph->ops.items[step->operation];
        if (step->operation != last) {
            const GraphValue *value = &builder->graph->values.items[op->result];
            parent = add_origin(builder, PACKAGE_NONE, "operation", value->name,
                                graph_op_name(op->kind));
            last = step->operation;
        }
        char name[40], detail[60];
        snprintf(name, sizeof name, "step %zu", s);
        if (step->kind == STEP_EXCHANGE)
            snprintf(detail, sizeof detail, "%u copies", step->copy_count);
        else if (step->kind != STEP_COMPUTE)
            snprintf(detail, sizeof detail, "%s %u times",
                     step->kind == STEP_REPEAT ? "repeat" : "again", step->times);
        else
            snprintf(detail, sizeof detail, "%u calls", step->call_count);
        builder->call_origin[s] = parent == PACKAGE_NONE
                                      ? PACKAGE_NONE
                                      : add_origin(builder, parent, "phase", name, detail);
        if (builder->call_origin[s] == PACKAGE_NONE)
            return false;
    }
    return true;
}

/* ---- programs, schedule, memory maps */

static bool add_steps(Builder *builder, uint32_t index) {
    Package *package = builder->package;
    const EmitProgram *program = &builder->images->programs.items[index];
    for (uint32_t s = 0; s < program->steps.count; s++) {
        const EmitStep *step = &program->steps.items[s];
        const LowerStep *lowered = &builder->tiles->steps.items[step->step];
        static const PackageStepKind kinds[] = {[STEP_COMPUTE] = PACKAGE_COMPUTE,
                                                [STEP_EXCHANGE] = PACKAGE_EXCHANGE,
                                                [STEP_REPEAT] = PACKAGE_REPEAT,
                                                [STEP_AGAIN] = PACKAGE_AGAIN};
        bool exchange = lowered->kind == STEP_EXCHANGE;
        PackageStep row = {.program = index,
                           .step = s,
                           .kind = kinds[lowered->kind],
                           .phase = exchange ? lowered->exchange : PACKAGE_NONE,
                           .name = package_string(package, step->name),
                           .origin = builder->call_origin[step->step],
                           .invocations = step->calls,
                           .predicted_cycles = step->cycles};
        if (!row.name || !vec_push(&package->steps, row))
            return false;
    }
    return true;
}

/* Values beyond those of the graph are the tile graph's own. */
static const char *value_name(const Builder *builder, uint32_t value) {
    const TileGraph *tiles = builder->tiles;
    return value < tiles->values.count ? tiles->values.items[value].name
                                       : builder->graph->values.items[value].name;
}

/* With its tail, and all members of a row. */
static uint32_t buffer_size(const Builder *builder, uint32_t index) {
    const LowerBuffer *buffer = &builder->tiles->buffers.items[index];
    uint32_t before =
        buffer->members > 1 ? (buffer->members - 1) * builder->places->stride[index] : 0;
    return before + buffer->bytes + buffer->tail;
}

static bool add_buffers(Builder *builder, uint32_t index) {
    static const char *const roles[] = {[BUFFER_INPUT] = "input",
                                        [BUFFER_PARAMETER] = "parameter",
                                        [BUFFER_OUTPUT] = "output",
                                        [BUFFER_TEMPORARY] = "temporary"};
    Package *package = builder->package;
    const TileGraph *tiles = builder->tiles;
    uint32_t tile = builder->images->programs.items[index].first_tile;
    for (uint32_t i = tiles->tile_buffer[tile]; i < tiles->tile_buffer[tile + 1]; i++) {
        const LowerBuffer *buffer = &tiles->buffers.items[i];
        PackageBuffer row = {.program = index,
                             .ordinal = i - tiles->tile_buffer[tile],
                             .name =
                                 buffer->role == BUFFER_ROWS
                                     ? arena_printf(&package->arena, "row %u", buffer->shard)
                                     : arena_printf(&package->arena, "%s %%%s", roles[buffer->role],
                                                    value_name(builder, buffer->value)),
                             .address = builder->places->address[i],
                             .size = buffer_size(builder, i),
                             .memory_class = buffer->memory_class,
                             .first = buffer->first_event,
                             .last = buffer->last_event};
        if (!row.name || !vec_push(&package->buffers, row))
            return false;
    }
    return true;
}

/* Kernels have the numbers of their specs. */
static bool add_operands(Builder *builder) {
    Package *package = builder->package;
    const TileGraph *tiles = builder->tiles;
    for (uint32_t spec = 0; spec < tiles->specs.count; spec++) {
        KernelInterface interface;
        kernel_interface(&tiles->specs.items[spec], &interface);
        for (uint32_t j = 0; j < interface.operand_count; j++) {
            const KernelOperand *operand = &interface.operands[j];
            PackageOperand row = {spec,
                                  j,
                                  package_string(package, operand->name),
                                  operand->bytes,
                                  operand->tail,
                                  operand->written};
            if (!row.name || !vec_push(&package->operands, row))
                return false;
        }
    }
    return true;
}

/* Programs that call the same kernels at the same addresses share a blob. */
static bool add_kernel_calls(Builder *builder, const EmitProgram *program, uint32_t *blob) {
    _Static_assert(sizeof(EmitCall) == sizeof(PackageKernelCall), "address and number");
    *blob = PACKAGE_NONE;
    if (program->calls.count > 0)
        *blob = package_add_blob(builder->package, program->calls.items,
                                 (uint32_t)(program->calls.count * sizeof(PackageKernelCall)));
    return program->calls.count == 0 || *blob != PACKAGE_NONE;
}

static bool add_programs(Builder *builder) {
    Package *package = builder->package;
    for (uint32_t p = 0; p < builder->images->programs.count; p++) {
        const EmitProgram *program = &builder->images->programs.items[p];
        PackageProgram row = {program->samples, (uint32_t)program->steps.count, PACKAGE_NONE};
        if (!add_kernel_calls(builder, program, &row.calls) || !vec_push(&package->programs, row) ||
            !add_steps(builder, p) || !add_buffers(builder, p))
            return false;
    }
    memcpy(package->program, builder->images->program,
           builder->images->tiles * sizeof *package->program);
    return true;
}

/* ---- bindings and host calls */

static bool add_binding(Builder *builder, const LowerBinding *from) {
    static const PackageKind kinds[] = {[BINDING_INPUT] = PACKAGE_INPUT,
                                        [BINDING_PARAMETER] = PACKAGE_PARAMETER,
                                        [BINDING_OUTPUT] = PACKAGE_OUTPUT};
    const TileGraph *tiles = builder->tiles;
    PackageBinding binding = {.name = from->name,
                              .kind = kinds[from->kind],
                              .shape = from->shape,
                              .stored = from->stored,
                              .format = from->format,
                              .slice_count = from->slice_count};
    binding.slices = mem_alloc((size_t)from->slice_count + 1, sizeof *binding.slices);
    if (!binding.slices)
        return false;
    uint64_t offset = 0;
    for (uint32_t i = 0; i < from->slice_count; i++) {
        const LowerSlice *slice = &tiles->slices.items[from->first_slice + i];
        const LowerBuffer *buffer = &tiles->buffers.items[slice->buffer];
        uint32_t address = builder->places->address[slice->buffer] +
                           slice->member * builder->places->stride[slice->buffer];
        binding.slices[i] = (PackageSlice){buffer->tile, address, buffer->bytes, offset};
        offset += buffer->bytes;
    }
    bool memory = package_add_binding(builder->package, &binding);
    mem_free(binding.slices);
    return memory;
}

static bool add_call(Builder *builder, const char *name, const char *entry, uint32_t binding) {
    Package *package = builder->package;
    uint32_t ordinal = 0;
    for (size_t i = 0; i < package->calls.count; i++)
        ordinal += !strcmp(package->calls.items[i].name, name);
    PackageCall call = {name, entry, ordinal, binding};
    return vec_push(&package->calls, call);
}

/* The lowered bindings are in the order inputs, parameters, outputs of the graph; so are the
 * transfers. */
static bool add_bindings(Builder *builder) {
    const TileGraph *tiles = builder->tiles;
    for (uint32_t i = 0; i < tiles->bindings.count; i++) {
        bool parameter = tiles->bindings.items[i].kind == BINDING_PARAMETER;
        if (!add_binding(builder, &tiles->bindings.items[i]) ||
            !add_call(builder, parameter ? "initialize" : "run", parameter ? "" : EMIT_RUN, i))
            return false;
    }
    return true;
}

Status package_build(Package *package, const Graph *graph, const TileGraph *tiles,
                     const EmitLibrary *library, const EmitImages *images, const PlaceMap *places,
                     const EmitExchange *exchanges, Diag *diag) {
    Builder builder = {.package = package,
                       .graph = graph,
                       .tiles = tiles,
                       .library = library,
                       .images = images,
                       .places = places,
                       .exchanges = exchanges};
    builder.call_origin = mem_alloc(tiles->steps.count + 1, sizeof *builder.call_origin);
    bool memory = builder.call_origin && add_origins(&builder) && add_operands(&builder) &&
                  add_programs(&builder) && add_bindings(&builder) && add_entries(&builder) &&
                  add_phases(&builder);
    for (uint32_t tile = 0; tile < images->tiles && memory; tile++)
        memory = add_tile_segments(&builder, tile);
    for (size_t i = 0; i < images->rows.count && memory; i++)
        memory = add_row(&builder, &images->rows.items[i]);
    mem_free(builder.call_origin);
    return memory ? STATUS_OK
                  : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "filling the package");
}
