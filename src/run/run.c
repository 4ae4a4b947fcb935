#include "run/run.h"

#include "base/mem.h"
#include "base/progress.h"
#include "chip/chip.h"
#include "kernel/kernel.h"
#include "num/f8.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct Device {
    const Package *package;
    Pool *pool;
    Machine *machine;
    const char **phases; /* names of the exchange phases, for the machine */
    const char *entry;   /* program whose closing barrier the tiles are in; NULL: of none */
    /* Codes of the inputs, by binding; NULL: never set. A run may write other values over them, so
     * they are sent again before the next one. */
    void **inputs;
    bool sent;      /* since the last run */
    Arena operands; /* what is declared to the machine */
};

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the device");
}

/* ---- opening */

/* Function and source line, for traps. */
static bool locate(void *context, uint32_t tile, uint32_t pc, char text[MACHINE_PLACE_SIZE]) {
    const Device *device = context;
    PackageSource source;
    if (!package_source(device->package, tile, pc, &source))
        return false;
    int length = snprintf(text, MACHINE_PLACE_SIZE, "%s + 0x%X",
                          source.function ? source.function : "?", source.offset);
    if (source.file && length > 0 && length < MACHINE_PLACE_SIZE)
        snprintf(text + length, MACHINE_PLACE_SIZE - (size_t)length, ", %s:%u", source.file,
                 source.line);
    return true;
}

static Status name_phases(Device *device, Diag *diag) {
    const Package *package = device->package;
    device->phases = mem_alloc(package->phases.count + 1, sizeof *device->phases);
    if (!device->phases)
        return no_memory(diag);
    for (size_t i = 0; i < package->phases.count; i++)
        device->phases[i] = package->phases.items[i].name;
    machine_name_phases(device->machine, device->phases, (uint32_t)package->phases.count);
    return STATUS_OK;
}

static Status load_segments(Device *device, Diag *diag) {
    const Package *package = device->package;
    Status status = STATUS_OK;
    for (size_t i = 0; i < package->segments.count && !status; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (segment->blob == PACKAGE_NONE)
            continue; /* memory is zero */
        const PackageBlob *blob = &package->blobs.items[segment->blob];
        status = machine_load(device->machine, segment->tile, segment->address, blob->bytes,
                              blob->size, diag);
    }
    return status;
}

/* ---- operands, while the machine checks them */

/* Parameters of each kernel: its operands, and the stack. */
typedef struct Kernels {
    uint32_t *first, *count; /* [kernels] into `parameters` */
    MachineParameter *parameters;
} Kernels;

static bool list_kernels(Device *device, Kernels *kernels) {
    const Package *package = device->package;
    enum { STACK_POINTER = 11 };
    uint32_t count = package_kernels(package), at = 0;
    kernels->first = ARENA_NEW(&device->operands, uint32_t, (size_t)count + 1);
    kernels->count = ARENA_NEW(&device->operands, uint32_t, (size_t)count + 1);
    kernels->parameters =
        ARENA_NEW(&device->operands, MachineParameter, package->operands.count + count + 1);
    if (!kernels->first || !kernels->count || !kernels->parameters)
        return false;
    for (size_t i = 0; i < package->operands.count; i++) {
        const PackageOperand *o = &package->operands.items[i];
        uint32_t reg = PACKAGE_FIRST_REGISTER + o->operand;
        if (o->operand == 0) {
            kernels->first[o->kernel] = at;
            kernels->parameters[at++] = (MachineParameter){
                "the stack", STACK_POINTER, -KERNEL_STACK_BYTES, KERNEL_STACK_BYTES, 0, true};
        }
        kernels->parameters[at++] =
            (MachineParameter){o->name, reg, 0, o->size, o->tail, o->stored};
        kernels->count[o->kernel] = at - kernels->first[o->kernel];
    }
    return true;
}

static MachineCall *list_calls(Device *device, const Kernels *kernels, uint32_t program,
                               uint32_t *count) {
    const PackageKernelCall *from = package_kernel_calls(device->package, program, count);
    MachineCall *calls = ARENA_NEW(&device->operands, MachineCall, (size_t)*count + 1);
    for (uint32_t i = 0; calls && i < *count; i++) {
        uint32_t kernel = from[i].kernel;
        calls[i] = (MachineCall){from[i].address, kernels->count[kernel],
                                 kernels->parameters + kernels->first[kernel]};
    }
    return calls;
}

/* Memory that programs only read: constants of the kernels. */
static MachineOperand *list_constants(Device *device, uint32_t tile, uint32_t *count) {
    uint32_t segments, first = package_tile_segments(device->package, tile, &segments);
    MachineOperand *constants =
        ARENA_NEW(&device->operands, MachineOperand, MACHINE_MAX_PARAMETERS);
    *count = 0;
    for (uint32_t i = first; constants && i < first + segments; i++) {
        const PackageSegment *segment = &device->package->segments.items[i];
        if (segment->flags == PACKAGE_READ && *count < MACHINE_MAX_PARAMETERS)
            constants[(*count)++] =
                (MachineOperand){"constants", segment->address, segment->size, 0, false};
    }
    return constants;
}

/* Every kernel call of every tile may access its operands only. */
static bool declare_operands(Device *device) {
    const Package *package = device->package;
    Kernels kernels;
    MachineCall **calls = ARENA_NEW(&device->operands, MachineCall *, package->programs.count + 1);
    uint32_t *count = ARENA_NEW(&device->operands, uint32_t, package->programs.count + 1);
    if (!calls || !count || !list_kernels(device, &kernels))
        return false;
    for (uint32_t p = 0; p < package->programs.count; p++)
        if (!(calls[p] = list_calls(device, &kernels, p, &count[p])))
            return false;
    for (uint32_t tile = 0; tile < package->tile_count; tile++) {
        uint32_t constants, p = package->program[tile];
        MachineOperand *operands = list_constants(device, tile, &constants);
        if (!operands)
            return false;
        machine_declare_calls(device->machine, tile, calls[p], count[p], operands, constants);
    }
    return true;
}

/* ---- a device */

Status run_open(const Package *package, Pool *pool, const RunOptions *options, Device **device,
                Diag *diag) {
    *device = NULL;
    Device *opened = mem_alloc(1, sizeof *opened);
    if (!opened)
        return no_memory(diag);
    *opened = (Device){.package = package, .pool = pool};
    opened->machine = machine_create(package->tile_count, pool, options ? &options->machine : NULL);
    Status status = opened->machine ? load_segments(opened, diag) : no_memory(diag);
    if (!status)
        machine_locate(opened->machine, locate, opened);
    if (!status)
        status = name_phases(opened, diag);
    if (!status && machine_checks(opened->machine) & MACHINE_CHECK_OPERANDS &&
        !declare_operands(opened))
        status = no_memory(diag);
    opened->inputs = mem_alloc(package->bindings.count + 1, sizeof *opened->inputs);
    if (!status && !opened->inputs)
        status = no_memory(diag);
    opened->sent = true;
    if (status)
        run_close(opened);
    else
        *device = opened;
    return status;
}

void run_close(Device *device) {
    if (!device)
        return;
    machine_free(device->machine);
    mem_free(device->phases);
    for (size_t i = 0; device->inputs && i < device->package->bindings.count; i++)
        mem_free(device->inputs[i]);
    mem_free(device->inputs);
    arena_free(&device->operands);
    mem_free(device);
}

Machine *run_machine(Device *device) {
    return device->machine;
}

/* ---- values: between the caller's form and codes of the binding's precision */

enum { CHUNK = 1 << 16 };

typedef struct Conversion {
    Precision precision;
    RunValues kind;
    bool decode;
    const void *from;
    void *to;
    uint64_t count;
} Conversion;

static void encode_chunk(const Conversion *c, uint64_t first, size_t count) {
    const float *floats = (const float *)c->from + first;
    const F16 *halves = (const F16 *)c->from + first;
    bool f32 = c->kind == RUN_F32;
    int scale = c->precision.scale_exponent;
    switch (c->precision.kind) {
    case PRECISION_F8F143:
        if (f32)
            f8_encode_f32((uint8_t *)c->to + first, floats, count, F8_F143, scale, F8_HOST);
        else
            f8_encode_f16((uint8_t *)c->to + first, halves, count, F8_F143, scale, F8_HOST);
        break;
    case PRECISION_F16:
        if (f32)
            f16_narrow_all((F16 *)c->to + first, floats, count, F16_OVERFLOW_INFINITE);
        else
            memcpy((F16 *)c->to + first, halves, count * sizeof(F16));
        break;
    case PRECISION_F32:
        if (f32)
            memcpy((float *)c->to + first, floats, count * sizeof(float));
        else
            f16_widen_all((float *)c->to + first, halves, count);
        break;
    }
}

static void decode_chunk(const Conversion *c, uint64_t first, size_t count) {
    int scale = c->precision.scale_exponent;
    bool f32 = c->kind == RUN_F32;
    switch (c->precision.kind) {
    case PRECISION_F8F143:
        if (f32)
            f8_decode_f32((float *)c->to + first, (const uint8_t *)c->from + first, count, F8_F143,
                          scale);
        else
            f8_decode_f16((F16 *)c->to + first, (const uint8_t *)c->from + first, count, F8_F143,
                          scale, F16_OVERFLOW_INFINITE);
        break;
    case PRECISION_F16:
        if (f32)
            f16_widen_all((float *)c->to + first, (const F16 *)c->from + first, count);
        else
            memcpy((F16 *)c->to + first, (const F16 *)c->from + first, count * sizeof(F16));
        break;
    case PRECISION_F32:
        assert(f32);
        memcpy((float *)c->to + first, (const float *)c->from + first, count * sizeof(float));
        break;
    }
}

static void convert_chunk(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Conversion *c = context;
    uint64_t first = (uint64_t)index * CHUNK;
    size_t count = (size_t)MIN_OF(c->count - first, (uint64_t)CHUNK);
    (c->decode ? decode_chunk : encode_chunk)(c, first, count);
}

static void convert(Device *device, Conversion *conversion) {
    pool_run(device->pool, div_up(conversion->count, CHUNK), convert_chunk, conversion);
}

/* ---- moving a binding's shards */

typedef struct Move {
    Device *device;
    const PackageBinding *binding;
    const uint32_t *first; /* slice at which each shard that has bytes begins, and the end */
    const void *from;      /* logical codes, when writing */
    void *to;              /* when reading */
    uint8_t **scratch;     /* of each worker: one tile's memory */
    Diag *diags;           /* of each worker */
    atomic_int status;     /* first failure */
} Move;

static Status write_copy(Move *move, uint32_t slice, uint32_t count, const uint8_t *bytes,
                         unsigned worker) {
    Status status = STATUS_OK;
    for (uint32_t i = slice; i < slice + count && !status; i++) {
        const PackageSlice *s = &move->binding->slices[i];
        status = machine_write(move->device->machine, s->tile, s->address, bytes, s->size,
                               &move->diags[worker]);
        bytes += s->size;
    }
    return status;
}

/* One shard to all its copies. */
static Status write_shard(Move *move, size_t index, unsigned worker) {
    uint8_t *bytes = move->scratch[worker];
    Status status = STATUS_OK;
    uint32_t count;
    binding_pack(move->binding, move->first[index], move->from, bytes);
    for (uint32_t slice = move->first[index]; slice < move->first[index + 1] && !status;
         slice += count) {
        uint64_t size;
        count = binding_tile_slices(move->binding, slice, &size);
        status = write_copy(move, slice, count, bytes, worker);
    }
    return status;
}

/* One shard from its first copy. */
static Status read_shard(Move *move, size_t index, unsigned worker) {
    uint8_t *at = move->scratch[worker];
    uint64_t size;
    uint32_t slice = move->first[index];
    uint32_t count = binding_tile_slices(move->binding, slice, &size);
    Status status = STATUS_OK;
    for (uint32_t i = slice; i < slice + count && !status; i++) {
        const PackageSlice *s = &move->binding->slices[i];
        status = machine_read(move->device->machine, s->tile, s->address, at, s->size,
                              &move->diags[worker]);
        at += s->size;
    }
    if (!status)
        binding_unpack(move->binding, slice, move->scratch[worker], move->to);
    return status;
}

static void move_body(void *context, size_t index, unsigned worker) {
    Move *move = context;
    Status status = move->from ? write_shard(move, index, worker) : read_shard(move, index, worker);
    if (status)
        atomic_store(&move->status, (int)status);
}

/* Slices of one shard follow each other; a shard without bytes has none. */
static uint32_t list_shards(const PackageBinding *binding, uint32_t *first) {
    uint32_t count = 0, shard = UINT32_MAX;
    for (uint32_t i = 0; i < binding->slice_count; i++) {
        uint32_t next = format_shard_of_tile(&binding->format, binding->slices[i].tile);
        if (next != shard)
            first[count++] = i;
        shard = next;
    }
    first[count] = binding->slice_count;
    return count;
}

static Status move_shards(Move *move, Diag *diag) {
    unsigned workers = move->device->pool ? pool_threads(move->device->pool) : 1;
    uint32_t *first = mem_alloc((size_t)move->binding->slice_count + 1, sizeof *first);
    move->scratch = mem_alloc(workers, sizeof *move->scratch);
    move->diags = mem_alloc(workers, sizeof *move->diags);
    bool memory = first && move->scratch && move->diags;
    for (unsigned w = 0; w < workers && memory; w++)
        memory = (move->scratch[w] = mem_alloc(CHIP_TILE_MEM_SIZE, 1)) != NULL;
    Status status = memory ? STATUS_OK : no_memory(diag);
    if (memory) {
        move->first = first;
        pool_run(move->device->pool, list_shards(move->binding, first), move_body, move);
        status = (Status)atomic_load(&move->status);
    }
    for (unsigned w = 0; w < workers && move->scratch && move->diags; w++) {
        if (diag)
            diag_append(diag, &move->diags[w]);
        diag_free(&move->diags[w]);
        mem_free(move->scratch[w]);
    }
    mem_free(move->scratch);
    mem_free(move->diags);
    mem_free(first);
    return status;
}

/* ---- setting and reading */

static Status find_binding(const Device *device, const char *name, bool output, uint64_t count,
                           const PackageBinding **found, Diag *diag) {
    const PackageBinding *binding = package_find(device->package, name);
    DiagPlace place = {.tile = -1, .object = name};
    if (!binding || (binding->kind == PACKAGE_OUTPUT) != output) {
        diag_error(diag, ERR_RUN_BINDING, place, "the package has no %s of this name",
                   output ? "output" : "input or parameter");
        for (size_t i = 0; i < device->package->bindings.count; i++) {
            const PackageBinding *other = &device->package->bindings.items[i];
            if ((other->kind == PACKAGE_OUTPUT) == output)
                diag_note(diag, "it has: %s", other->name);
        }
        return ERR_RUN_BINDING;
    }
    uint64_t wanted;
    char shape[SHAPE_TEXT_SIZE];
    if (!shape_count(&binding->shape, &wanted) || wanted != count)
        return diag_error(diag, ERR_RUN_COUNT, place, "%llu values given, the shape is %s",
                          (unsigned long long)count, shape_print(&binding->shape, shape));
    *found = binding;
    return STATUS_OK;
}

static Status send(Device *device, const PackageBinding *binding, const void *codes, Diag *diag) {
    Move move = {.device = device, .binding = binding, .from = codes};
    return move_shards(&move, diag);
}

/* Inputs that were set before an earlier run. */
static Status send_again(Device *device, Diag *diag) {
    Status status = STATUS_OK;
    const Package *package = device->package;
    for (size_t i = 0; i < package->bindings.count && !device->sent && !status; i++)
        if (device->inputs[i])
            status = send(device, &package->bindings.items[i], device->inputs[i], diag);
    device->sent = device->sent || !status;
    return status;
}

Status run_set(Device *device, const char *name, RunValues kind, const void *values, uint64_t count,
               Diag *diag) {
    const PackageBinding *binding;
    Status status = find_binding(device, name, false, count, &binding, diag);
    if (status)
        return status;
    size_t bytes = precision_bytes(binding->format.precision);
    void *codes = mem_alloc(count, bytes);
    if (!codes)
        return no_memory(diag);
    if (kind == RUN_CODES) {
        memcpy(codes, values, count * bytes);
    } else {
        Conversion encode = {.precision = binding->format.precision,
                             .kind = kind,
                             .from = values,
                             .to = codes,
                             .count = count};
        convert(device, &encode);
    }
    status = send(device, binding, codes, diag);
    size_t index = (size_t)(binding - device->package->bindings.items);
    if (binding->kind == PACKAGE_INPUT) {
        mem_free(device->inputs[index]);
        device->inputs[index] = codes;
    } else {
        mem_free(codes);
    }
    return status;
}

Status run_get(Device *device, const char *name, RunValues kind, void *values, uint64_t count,
               Diag *diag) {
    const PackageBinding *binding;
    Status status = find_binding(device, name, true, count, &binding, diag);
    if (status)
        return status;
    if (kind == RUN_F16 && binding->format.precision.kind == PRECISION_F32)
        return diag_error(diag, ERR_RUN_KIND, (DiagPlace){.tile = -1, .object = name},
                          "an F32 output cannot be read as F16 values");
    void *codes = values;
    if (kind != RUN_CODES)
        codes = mem_alloc(count, precision_bytes(binding->format.precision));
    if (!codes)
        return no_memory(diag);
    Move move = {.device = device, .binding = binding, .to = codes};
    status = move_shards(&move, diag);
    if (codes == values)
        return status;
    Conversion decode = {.precision = binding->format.precision,
                         .kind = kind,
                         .decode = true,
                         .from = codes,
                         .to = values,
                         .count = count};
    if (!status)
        convert(device, &decode);
    mem_free(codes);
    return status;
}

/* ---- running */

/* Lets all tiles begin at the entry. */
static Status start_entry(Device *device, const char *name, Diag *diag) {
    const Package *package = device->package;
    const PackageEntry *entry = NULL;
    for (size_t i = 0; i < package->entries.count && !entry; i += package->tile_count)
        if (!strcmp(package->entries.items[i].name, name))
            entry = &package->entries.items[i];
    if (!entry)
        return diag_error(diag, ERR_RUN_ENTRY, (DiagPlace){.tile = -1, .object = name},
                          "the package has no such entry program");
    machine_start(device->machine, entry->address);
    for (uint32_t tile = 0; tile < package->tile_count; tile++)
        if (entry[tile].address != entry->address)
            machine_start_tile(device->machine, tile, entry[tile].address);
    device->entry = entry->name;
    return STATUS_OK;
}

Status run_invoke(Device *device, const char *entry, RunResult *result, Diag *diag) {
    *result = (RunResult){0};
    Status status = send_again(device, diag);
    if (status)
        return status;
    if (!device->entry || strcmp(device->entry, entry) != 0)
        status = start_entry(device, entry, diag);
    if (!status)
        status = machine_run(device->machine, diag); /* to the opening barrier */
    if (status)
        return status;
    MachineTileCounters before = machine_counters(device->machine);
    double since = clock_seconds();
    device->sent = false;
    status = machine_run(device->machine, diag);
    if (status)
        return status;
    MachineTileCounters after = machine_counters(device->machine);
    *result = (RunResult){.cycles = after.arrived - after.released,
                          .bundles = after.bundles - before.bundles,
                          .instructions = after.instructions - before.instructions,
                          .supervisor = after.supervisor - before.supervisor,
                          .seconds = clock_seconds() - since};
    return STATUS_OK;
}

uint64_t run_tile_cycles(const Device *device, uint32_t tile) {
    MachineTileCounters counters = machine_tile_counters(device->machine, tile);
    return counters.arrived - counters.released;
}

Status run_samples(const Device *device, uint32_t tile, uint32_t **samples, uint32_t *count,
                   Diag *diag) {
    const Package *package = device->package;
    assert(tile < package->tile_count);
    const PackageProgram *program = &package->programs.items[package->program[tile]];
    *count = (uint32_t)package_samples(package, package->program[tile]);
    *samples = mem_alloc(*count, sizeof **samples);
    if (!*samples)
        return no_memory(diag);
    Status status = machine_read(device->machine, tile, program->samples_address, *samples,
                                 *count * sizeof **samples, diag);
    if (status) {
        mem_free(*samples);
        *samples = NULL;
    }
    return status;
}
