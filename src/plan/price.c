/* What a choice costs: kernels by their own formulas, exchange phases by the words that their
 * busiest tile receives. */
#include "plan/gemm.h"

#include "chip/chip.h"
#include "kernel/step.h"
#include "plan/cast.h"
#include "plan/point.h"

/* Cycle modulo 6 at which a tile issues the first instruction of a step: not known beforehand. */
enum { STEP_START = 0 };

/* Cycles of a phase beyond its payload: the way of the first word from memory to memory, and what
 * messages of several lengths leave open in the lanes; as our own schedules show. */
enum { EXCHANGE_RAMP = 90 };

enum { PANEL_ROW_BYTES = 32, HALF_PANEL = 16 };

/* Receive controls of one piece (source, pointer, end of the stream). */
enum { PIECE_CONTROLS = 3 };

/* ---- table: kernel calls by the numbers that decide their cycles */

typedef struct PriceKey {
    uint32_t kind, numbers[4];
} PriceKey;

typedef struct PriceEntry {
    PriceKey key;
    bool used;
    uint64_t cycles;
} PriceEntry;

struct PriceTable {
    PriceEntry *entries;
    size_t slots, count;
};

PriceTable *price_table_create(void) {
    PriceTable *table = mem_alloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->slots = 1024;
    table->entries = mem_alloc(table->slots, sizeof *table->entries);
    if (!table->entries) {
        mem_free(table);
        return NULL;
    }
    return table;
}

void price_table_free(PriceTable *table) {
    if (!table)
        return;
    mem_free(table->entries);
    mem_free(table);
}

static size_t slot_of(const PriceTable *table, const PriceKey *key) {
    uint64_t hash = key->kind;
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ key->numbers[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    size_t slot = hash & (table->slots - 1);
    while (table->entries[slot].used) {
        const PriceKey *found = &table->entries[slot].key;
        bool same = found->kind == key->kind;
        for (int i = 0; i < 4; i++)
            same &= found->numbers[i] == key->numbers[i];
        if (same)
            break;
        slot = (slot + 1) & (table->slots - 1);
    }
    return slot;
}

/* Without memory the table stays as it is: it only saves time. */
static void table_grow(PriceTable *table) {
    PriceTable larger = {.slots = 2 * table->slots};
    larger.entries = mem_alloc(larger.slots, sizeof *larger.entries);
    if (!larger.entries)
        return;
    for (size_t i = 0; i < table->slots; i++)
        if (table->entries[i].used)
            larger.entries[slot_of(&larger, &table->entries[i].key)] = table->entries[i];
    mem_free(table->entries);
    table->entries = larger.entries;
    table->slots = larger.slots;
}

static bool table_find(const PriceTable *table, const PriceKey *key, uint64_t *cycles) {
    if (!table)
        return false;
    const PriceEntry *entry = &table->entries[slot_of(table, key)];
    *cycles = entry->cycles;
    return entry->used;
}

static void table_add(PriceTable *table, const PriceKey *key, uint64_t cycles) {
    if (!table)
        return;
    if (2 * table->count >= table->slots)
        table_grow(table);
    if (4 * table->count >= 3 * table->slots)
        return;
    table->entries[slot_of(table, key)] = (PriceEntry){*key, true, cycles};
    table->count++;
}

/* ---- kernels */

/* Cycles of the call with the caller's own scalar, or 0 if no kernel takes it. */
static uint64_t spec_cycles(const KernelSpec *spec, int32_t scalar, unsigned start) {
    if (kernel_check(spec, NULL) != STATUS_OK)
        return 0;
    int32_t scalars[KERNEL_MAX_SCALARS] = {scalar};
    kernel_scalars(spec, scalars);
    return kernel_step_cycles(spec, scalars, start);
}

static uint64_t call_cycles(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part,
                            unsigned start, PriceTable *table) {
    uint32_t halves = (uint32_t)choice->operands[gemm_operand(choice, ROLE_LEFT)].half |
                      (uint32_t)choice->operands[gemm_operand(choice, ROLE_RIGHT)].half << 1;
    bool odd = choice->inner == 1 && div_up(gemm->inner, HALF_PANEL) % 2 != 0;
    PriceKey key = {KERNEL_GEMM + 16 * (uint32_t)gemm->precision + 64 * start,
                    {part.rows, part.groups, part.panels,
                     (uint32_t)choice->weights | halves << 1 | (uint32_t)odd << 3}};
    uint64_t cycles;
    if (table_find(table, &key, &cycles))
        return cycles;
    KernelSpec spec = gemm_spec(gemm, choice, part, odd);
    cycles = spec_cycles(&spec, gemm->scale, start);
    table_add(table, &key, cycles);
    return cycles;
}

/* All calls of a part; blocks of the left operand are those of the largest part. */
static uint64_t part_cycles(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part,
                            PriceTable *table) {
    uint32_t block = gemm_block_rows(choice, gemm_part(gemm, choice).rows);
    if (part.rows <= block)
        return call_cycles(gemm, choice, part, STEP_START, table);
    uint64_t cycles = 0;
    for (uint32_t group = 0; group < part.groups; group++)
        for (uint32_t row = 0; row < part.rows; row += block) {
            GemmExtents piece = {MIN_OF(block, part.rows - row), 1, part.panels};
            uint64_t call = call_cycles(gemm, choice, piece,
                                        (unsigned)((STEP_START + cycles) % CHIP_WORKERS), table);
            if (call == 0)
                return 0;
            cycles += call;
        }
    return cycles;
}

/* A tile with one row more is not always the slower one (six workers share the rows), so both row
 * counts are priced; a tile with a column group or a panel more always is. */
uint64_t price_gemm(const PlanGemm *gemm, const GemmChoice *choice, PriceTable *table) {
    GemmExtents part = gemm_part(gemm, choice);
    uint64_t cycles = part_cycles(gemm, choice, part, table);
    uint32_t grains = gemm_extents(gemm, choice->swapped).rows / gemm->row_grain;
    if (cycles == 0 || grains % choice->rows == 0)
        return cycles;
    part.rows -= gemm->row_grain;
    return MAX_OF(cycles, part_cycles(gemm, choice, part, table));
}

uint64_t price_sum(const PlanGemm *gemm, const GemmChoice *choice, PriceTable *table) {
    GemmExtents block = gemm_owner_block(gemm, choice);
    uint32_t calls = gemm_contiguous_owners(gemm, choice) ? 1 : block.groups;
    uint64_t values = (uint64_t)block.rows * block.groups * COEFFICIENT_COLUMNS / calls;
    if (calls > CHIP_TILE_MEM_SIZE / PANEL_ROW_BYTES || values > CHIP_TILE_MEM_SIZE / 2)
        return 0; /* no tile holds so much */
    PriceKey key = {KERNEL_REDUCE, {choice->inner, (uint32_t)values, calls, choice->wide_sum}};
    uint64_t cycles;
    if (table_find(table, &key, &cycles))
        return cycles;
    KernelSpec spec = {
        .family = KERNEL_REDUCE,
        .reduce = {.parts = choice->inner, .count = (uint32_t)values, .wide = choice->wide_sum}};
    cycles = 0;
    for (uint32_t i = 0; i < calls; i++) {
        uint64_t call = spec_cycles(&spec, 0, (unsigned)((STEP_START + cycles) % CHIP_WORKERS));
        if (call == 0)
            return 0;
        cycles += call;
    }
    table_add(table, &key, cycles);
    return cycles;
}

/* Of one shard; 0 if no kernel takes it. */
static uint64_t shard_cast(const Shape *shape, const Format *from, const Format *to, uint32_t shard,
                           PriceTable *table) {
    Shard source, target;
    format_shard(from, shape, shard, &source);
    format_shard(to, shape, shard, &target);
    KernelSpec spec;
    bool fast = from->memory_class == MEMORY_INTERLEAVED;
    if (!cast_spec(&source.layout, &target.layout, fast, &spec))
        return 0;
    const KernelCast *cast = &spec.cast;
    PriceKey key = {KERNEL_CAST + 16 * (uint32_t)cast->order + 64 * cast->fast,
                    {cast->rows, cast->panels, cast->groups, cast->count + cast->pitch}};
    uint64_t cycles;
    if (table_find(table, &key, &cycles))
        return cycles;
    cycles = spec_cycles(&spec, to->precision.scale_exponent, STEP_START);
    table_add(table, &key, cycles);
    return cycles;
}

/* Shard with the first or the last index of each axis, as the bits of `last` say. */
static uint32_t corner_shard(const Format *format, const Shape *shape, uint32_t last) {
    uint32_t shard = 0;
    for (uint32_t i = 0; i < format->axis_count; i++) {
        const AxisTiling *tiling = &format->axes[i];
        uint32_t extent = shape->dims[tiling->axis];
        shard *= tiling->partitions;
        if (last >> i & 1)
            shard += axis_owner(tiling, extent, extent - 1);
    }
    return shard;
}

/* The widest shard is not always the slowest one: a narrow last panel takes a way of its own. */
uint64_t price_cast(const Shape *shape, const Format *from, const Format *to, PriceTable *table) {
    uint64_t slowest = 0;
    for (uint32_t last = 0; last < 1u << from->axis_count; last++) {
        uint64_t cycles = shard_cast(shape, from, to, corner_shard(from, shape, last), table);
        if (cycles == 0)
            return 0;
        slowest = MAX_OF(slowest, cycles);
    }
    return slowest;
}

uint64_t price_pack(const Shape *shape, const Format *from, const Format *to) {
    uint64_t slowest = 0;
    for (uint32_t last = 0; last < 1u << from->axis_count; last++) {
        Shard source, target;
        uint32_t shard = corner_shard(from, shape, last);
        format_shard(from, shape, shard, &source);
        format_shard(to, shape, shard, &target);
        KernelSpec spec;
        if (!pack_spec(&source.layout, &target.layout, &spec))
            return 0;
        slowest = MAX_OF(slowest, spec_cycles(&spec, 0, STEP_START));
    }
    return slowest;
}

static bool point_spec(const PlanPoint *point, uint32_t shard, KernelSpec *spec) {
    Shard source, target;
    format_shard(point->from, point->shape, shard, &source);
    format_shard(point->to, point->shape, shard, &target);
    return point->gelu ? point_gelu(&source.layout, &target.layout, point->to->precision.kind,
                                    point->right, spec)
                       : point_add(&source.layout, point->right, spec);
}

uint64_t price_point(const PlanPoint *point) {
    uint64_t slowest = 0;
    for (uint32_t last = 0; last < 1u << point->from->axis_count; last++) {
        KernelSpec spec;
        if (!point_spec(point, corner_shard(point->from, point->shape, last), &spec))
            return 0;
        uint64_t cycles = spec_cycles(&spec, point->to->precision.scale_exponent, STEP_START);
        slowest = MAX_OF(slowest, cycles);
    }
    return slowest;
}

uint64_t price_turn(uint64_t bytes) {
    KernelSpec spec;
    return point_turn(bytes, &spec) ? spec_cycles(&spec, 0, STEP_START) : 0;
}

uint64_t price_copy(uint64_t bytes) {
    KernelSpec spec = {.family = KERNEL_COPY, .copy = {.rows = 1, .words = (uint32_t)(bytes / 8)}};
    return spec_cycles(&spec, 0, STEP_START);
}

uint64_t price_fill(uint64_t bytes) {
    KernelSpec spec = {.family = KERNEL_FILL, .fill = {.words = (uint32_t)(bytes / 8)}};
    return spec_cycles(&spec, 0, STEP_START);
}

/* ---- exchange */

uint64_t price_exchange(const ExchangeLoad *load) {
    uint64_t items = load->words + (load->paired_words + 1) / 2;
    return CHIP_EXCHANGE_PHASE_OVERHEAD - CHIP_SAMPLE_CYCLES + EXCHANGE_RAMP +
           MAX_OF(items, load->controls);
}

/* Pieces of the fullest shard: runs of lines that are contiguous on both sides. Each of its panels
 * is one, and one more where a part of the source ends inside. */
static uint64_t pieces_of(const Format *from, const Format *to, const Shape *shape) {
    Shard target, source;
    format_shard(to, shape, 0, &target);
    format_shard(from, shape, 0, &source);
    const Layout *layout = &target.layout;
    uint64_t panels = layout_count(layout) / ((uint64_t)layout->group * layout->outer_block);
    uint64_t runs = layout->inner / layout->group;
    uint64_t cuts = source.layout.outer ? layout->outer / source.layout.outer : 0;
    return panels + runs * (cuts + 1);
}

void load_add_move(ExchangeLoad *load, const Format *from, const Format *to, const Shape *shape,
                   bool paired) {
    uint64_t words = format_widest_bytes(to, shape) / 4;
    *(paired ? &load->paired_words : &load->words) += words;
    load->controls += PIECE_CONTROLS * pieces_of(from, to, shape);
}

void load_add_sum(ExchangeLoad *load, const PlanGemm *gemm, const GemmChoice *choice) {
    GemmExtents block = gemm_owner_block(gemm, choice);
    uint64_t others = choice->inner - 1;
    uint64_t pieces = gemm_contiguous_owners(gemm, choice) ? 1 : block.groups;
    load->words += others * block.rows * block.groups * COEFFICIENT_COLUMNS / 2;
    load->controls += PIECE_CONTROLS * others * pieces;
}
