/* Every rule of a package, and every rule of the chip, broken once. */
#include "chip/chip.h"
#include "pack/fixture.h"

#include <string.h>

static Fixture fixture;

static int rules_create(void **state) {
    (void)state;
    fixture_create(&fixture, 24, 70, 40, "f8f143(s=-4)", 6);
    return 0;
}

static int rules_free(void **state) {
    (void)state;
    fixture_free(&fixture);
    return 0;
}

/* One way to spoil a package. */
typedef struct Damage {
    const char *what;
    void (*apply)(Package *package);
} Damage;

#define DAMAGE(name, statement)                                                                    \
    static void name(Package *p) {                                                                 \
        statement;                                                                                 \
    }

static PackageBinding *binding(Package *p, const char *name) {
    return (PackageBinding *)package_find(p, name);
}
static PackageSegment *code_segment(Package *p) {
    for (size_t i = 0; i < p->segments.count; i++)
        if (p->segments.items[i].address == fixture.library.parts.items[0].address)
            return &p->segments.items[i];
    return NULL;
}

DAMAGE(blob_order, PackageBlob b = p->blobs.items[0]; p->blobs.items[0] = p->blobs.items[1];
       p->blobs.items[1] = b)
DAMAGE(blob_empty, p->blobs.items[0].size = 0)
DAMAGE(blob_unused, vec_push(&p->blobs, p->blobs.items[0]);
       memset(&p->blobs.items[p->blobs.count - 1].id, 0xFF, 16))
DAMAGE(segment_tile, p->segments.items[p->segments.count - 1].tile = 6)
DAMAGE(segment_empty, p->segments.items[0].size = 0)
DAMAGE(segment_outside, p->segments.items[p->segments.count - 1].address = CHIP_TILE_MEM_END - 4)
DAMAGE(segment_flags, p->segments.items[0].flags = 8)
DAMAGE(segment_blob, p->segments.items[0].blob = 1000)
DAMAGE(segment_short, code_segment(p)->size -= 4)
DAMAGE(segment_overlap, p->segments.items[1].address -= 12)
DAMAGE(segment_order, p->segments.items[0].tile = 1)
DAMAGE(binding_name, binding(p, "w")->name = "")
DAMAGE(binding_order, binding(p, "w")->name = "z")
DAMAGE(binding_tiles, binding(p, "w")->format.first_tile = 1)
DAMAGE(binding_format, binding(p, "w")->format.replicas += 1)
DAMAGE(binding_stored, binding(p, "w")->stored.dims[0] += 16)
DAMAGE(binding_large, binding(p, "w")->shape.dims[0] = 1 << 24)
DAMAGE(slices_missing, binding(p, "w")->slice_count -= 1)
DAMAGE(slices_more, PackageBinding *b = binding(p, "w");
       PackageSlice *s = arena_alloc(&p->arena, b->slice_count + 1, sizeof *s);
       memcpy(s, b->slices, b->slice_count * sizeof *s); s[b->slice_count] = s[0]; b->slices = s;
       b->slice_count++)
DAMAGE(slice_tile, binding(p, "w")->slices[0].tile ^= 1)
DAMAGE(slice_size, binding(p, "w")->slices[0].size += 4)
DAMAGE(slice_address, binding(p, "w")->slices[0].address = 0)
DAMAGE(slice_offset, binding(p, "w")->slices[1].offset += 4)
DAMAGE(entry_none, p->entries.count = 0)
DAMAGE(entry_name, p->entries.items[0].name = "")
DAMAGE(entry_tile, p->entries.items[1].tile = 2)
DAMAGE(entry_mixed, p->entries.items[1].name = "walk")
DAMAGE(entry_order, for (size_t i = 0; i < 6; i++) p->entries.items[i].name = "walk")
DAMAGE(entry_address, p->entries.items[0].address += 2)
DAMAGE(entry_missing, p->entries.count -= 1)
DAMAGE(call_ordinal, p->calls.items[0].ordinal = 1)
DAMAGE(call_binding, p->calls.items[0].binding = 9)
DAMAGE(call_entry, p->calls.items[0].entry = "walk")
DAMAGE(call_mixed, p->calls.items[p->calls.count - 1].entry = "run_sampled")
DAMAGE(origin_parent, p->origins.items[0].parent = 0)
DAMAGE(tile_program, p->program[3] = 1000)
DAMAGE(operand_kernel, p->operands.items[p->operands.count - 1].kernel += 1)
DAMAGE(operand_number, p->operands.items[1].operand = 2)
DAMAGE(
    operand_many, for (uint32_t j = p->operands.items[p->operands.count - 1].operand; ++j <= 8;) {
        PackageOperand o = p->operands.items[p->operands.count - 1];
        o.operand = j;
        vec_push(&p->operands, o);
    })
DAMAGE(operand_size, p->operands.items[0].size = CHIP_TILE_MEM_SIZE + 1)
DAMAGE(operand_tail, p->operands.items[0].tail = CHIP_TILE_MEM_SIZE + 1)

/* A program with other calls: `count` words. */
static void replace_calls(Package *p, const uint32_t *words, uint32_t count) {
    PackageBlob *blob = &p->blobs.items[p->programs.items[0].calls];
    assert_true(blob->size >= 4 * count);
    blob->size = 4 * count;
    memcpy((uint8_t *)blob->bytes, words, blob->size);
}
DAMAGE(calls_blob, p->programs.items[0].calls = 1000)
DAMAGE(calls_cut, replace_calls(p, (const uint32_t[]){0x4D000, 0, 0x4D008}, 3))
DAMAGE(calls_kernel, replace_calls(p, (const uint32_t[]){0x4D000, 1000}, 2))
DAMAGE(calls_twice, replace_calls(p, (const uint32_t[]){0x4D000, 0, 0x4D000, 0}, 4))
DAMAGE(calls_outside, replace_calls(p, (const uint32_t[]){0x100, 0}, 2))
DAMAGE(calls_odd, replace_calls(p, (const uint32_t[]){0x4D002, 0}, 2))
DAMAGE(program_samples, p->programs.items[0].samples_address += 1)
DAMAGE(program_outside, p->programs.items[0].samples_address = CHIP_TILE_MEM_END - 4)
DAMAGE(program_steps, p->programs.items[0].step_count += 1)
DAMAGE(program_fewer, p->programs.items[p->programs.count - 1].step_count -= 1)
DAMAGE(step_origin, p->steps.items[0].origin = 1000)
DAMAGE(buffer_program, p->buffers.items[p->buffers.count - 1].program = 1000)
DAMAGE(buffer_ordinal, p->buffers.items[1].ordinal = 2)
DAMAGE(buffer_outside, p->buffers.items[0].address = 4)
DAMAGE(buffer_life, p->buffers.items[0].first = p->buffers.items[0].last + 1)
DAMAGE(symbol_blob, p->symbols.items[0].blob = 1000)
DAMAGE(symbol_outside, p->symbols.items[0].size = 1 << 20)
DAMAGE(line_outside, p->lines.items[0].offset = 1 << 20)
DAMAGE(line_twice, p->lines.items[1].offset = p->lines.items[0].offset)
DAMAGE(note_twice, vec_push(&p->notes, (PackageNote){"plan", ""}))

static const Damage rules[] = {
    {"blob_order", blob_order},
    {"blob_empty", blob_empty},
    {"blob_unused", blob_unused},
    {"segment_tile", segment_tile},
    {"segment_empty", segment_empty},
    {"segment_outside", segment_outside},
    {"segment_flags", segment_flags},
    {"segment_blob", segment_blob},
    {"segment_short", segment_short},
    {"segment_overlap", segment_overlap},
    {"segment_order", segment_order},
    {"binding_name", binding_name},
    {"binding_order", binding_order},
    {"binding_tiles", binding_tiles},
    {"binding_format", binding_format},
    {"binding_large", binding_large},
    {"binding_stored", binding_stored},
    {"slices_missing", slices_missing},
    {"slices_more", slices_more},
    {"slice_tile", slice_tile},
    {"slice_size", slice_size},
    {"slice_address", slice_address},
    {"slice_offset", slice_offset},
    {"entry_none", entry_none},
    {"entry_name", entry_name},
    {"entry_tile", entry_tile},
    {"entry_mixed", entry_mixed},
    {"entry_order", entry_order},
    {"entry_address", entry_address},
    {"entry_missing", entry_missing},
    {"call_ordinal", call_ordinal},
    {"call_binding", call_binding},
    {"call_entry", call_entry},
    {"call_mixed", call_mixed},
    {"origin_parent", origin_parent},
    {"tile_program", tile_program},
    {"program_samples", program_samples},
    {"program_outside", program_outside},
    {"program_steps", program_steps},
    {"program_fewer", program_fewer},
    {"step_origin", step_origin},
    {"buffer_program", buffer_program},
    {"buffer_ordinal", buffer_ordinal},
    {"buffer_outside", buffer_outside},
    {"buffer_life", buffer_life},
    {"symbol_blob", symbol_blob},
    {"symbol_outside", symbol_outside},
    {"line_outside", line_outside},
    {"line_twice", line_twice},
    {"note_twice", note_twice},
    {"operand_kernel", operand_kernel},
    {"operand_number", operand_number},
    {"operand_many", operand_many},
    {"operand_size", operand_size},
    {"operand_tail", operand_tail},
    {"calls_blob", calls_blob},
    {"calls_cut", calls_cut},
    {"calls_kernel", calls_kernel},
    {"calls_twice", calls_twice},
    {"calls_outside", calls_outside},
    {"calls_odd", calls_odd},
};

static Package *new_package(void) {
    Package *package = fixture_package(&fixture);
    static uint8_t codes[70 * 40];
    assert_int_equal(package_set_parameter(package, package_find(package, "w"), codes, NULL),
                     STATUS_OK);
    assert_true(vec_push(&package->notes, (PackageNote){"plan", "text"}));
    fixture_finish(package);
    return package;
}

static void expect_each(const Damage *damages, size_t count,
                        Status (*judge)(const Package *, Diag *), Status wanted) {
    for (size_t i = 0; i < count; i++) {
        Package *package = new_package();
        damages[i].apply(package);
        Diag diag = {0};
        Status status = judge(package, &diag);
        if (status != wanted || diag_status(&diag) != wanted)
            fail_msg("%s: %s", damages[i].what, status_code(status));
        diag_free(&diag);
        package_free(package);
    }
}

static void test_rules(void **state) {
    (void)state;
    expect_each(rules, COUNT_OF(rules), package_check, ERR_PACK_RULE);
}

/* ---- the chip */

static void change_code(Package *p, uint32_t offset, uint32_t word) {
    PackageBlob *blob = &p->blobs.items[code_segment(p)->blob];
    memcpy((uint8_t *)blob->bytes + offset, &word, 4);
}

DAMAGE(chip_low, p->segments.items[0].address = CHIP_TILE_MEM_BASE)
DAMAGE(chip_high, PackageSegment s = p->segments.items[p->segments.count - 1];
       s.address = CHIP_APP_LOAD_LIMIT - 4; s.size = 8; s.blob = PACKAGE_NONE;
       vec_push(&p->segments, s))
DAMAGE(chip_region, PackageSegment s = p->segments.items[p->segments.count - 1];
       s.address = CHIP_APP_LOAD_LIMIT - 8; s.size = 8; s.blob = PACKAGE_NONE;
       s.flags = PACKAGE_EXECUTE; vec_push(&p->segments, s))
DAMAGE(chip_misaligned, p->segments.items[0].address += 2; p->segments.items[0].size = 4;
       p->segments.items[0].blob = PACKAGE_NONE)
DAMAGE(chip_word, change_code(p, 4, 1))
DAMAGE(chip_entry, p->entries.items[0].address = CHIP_DATA_BASE)
DAMAGE(chip_entry_data, p->entries.items[0].address = binding(p, "x")->slices[0].address)
DAMAGE(chip_slice_align, binding(p, "x")->slices[0].address += 2)
DAMAGE(chip_slice_border, binding(p, "x")->slices[0].address = CHIP_REGION1_BASE - 4)
DAMAGE(chip_slice_class, binding(p, "y")->slices[0].address = CHIP_DATA_BASE + 0x10000)
DAMAGE(chip_slice_window, binding(p, "x")->slices[0].address = CHIP_HOST_WINDOW_BASE)
DAMAGE(chip_slice_state, binding(p, "x")->slices[0].address = CHIP_RUNTIME_BASE + 64)
DAMAGE(chip_slice_code, binding(p, "x")->slices[0].address = code_segment(p)->address)
DAMAGE(chip_overlap, binding(p, "x")->slices[0].address = binding(p, "w")->slices[0].address)
DAMAGE(chip_samples, p->programs.items[0].samples_address = code_segment(p)->address)
DAMAGE(chip_samples_data,
       p->programs.items[p->program[0]].samples_address = binding(p, "x")->slices[0].address)

static const Damage chip_rules[] = {
    {"chip_low", chip_low},
    {"chip_high", chip_high},
    {"chip_region", chip_region},
    {"chip_misaligned", chip_misaligned},
    {"chip_word", chip_word},
    {"chip_entry", chip_entry},
    {"chip_entry_data", chip_entry_data},
    {"chip_slice_align", chip_slice_align},
    {"chip_slice_border", chip_slice_border},
    {"chip_slice_class", chip_slice_class},
    {"chip_slice_window", chip_slice_window},
    {"chip_slice_state", chip_slice_state},
    {"chip_slice_code", chip_slice_code},
    {"chip_overlap", chip_overlap},
    {"chip_samples", chip_samples},
    {"chip_samples_data", chip_samples_data},
};

static void test_chip_rules(void **state) {
    (void)state;
    Package *package = new_package();
    Diag diag = {0};
    fixture_expect(package_verify(package, &diag), &diag);
    package_free(package);
    expect_each(chip_rules, COUNT_OF(chip_rules), package_verify, ERR_PACK_CHIP);
}

/* No more than 20 reports, and a count of the others. */
static void test_many_breaches(void **state) {
    (void)state;
    Package *package = new_package();
    for (size_t i = 0; i < package->entries.count; i++)
        package->entries.items[i].address = CHIP_DATA_BASE;
    PackageBinding *x = binding(package, "x"), *y = binding(package, "y");
    for (uint32_t i = 0; i < x->slice_count; i++)
        x->slices[i].address = CHIP_HOST_WINDOW_BASE;
    for (uint32_t i = 0; i < y->slice_count; i++)
        y->slices[i].address = CHIP_HOST_WINDOW_BASE + 2;
    Diag diag = {0};
    assert_int_equal(package_verify(package, &diag), ERR_PACK_CHIP);
    assert_int_equal(diag.count, 20);
    assert_non_null(strstr(diag.entries[19].notes, "more"));
    diag_free(&diag);
    package_free(package);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_chip_rules),
        cmocka_unit_test(test_many_breaches),
    };
    return cmocka_run_group_tests(tests, rules_create, rules_free);
}
