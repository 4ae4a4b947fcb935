/* Packages with exchange phases: round trip, what they tell, each rule broken once, and the proof
 * of their rows. */
#include "emit/exchange.h"
#include "pack/build.h"
#include "pack/folder.h"

#include <string.h>

static Detour detour;

static int create(void **state) {
    if (folder_create(state))
        return -1;
    detour_create(&detour, 40, 64, 48, "f16", 7);
    return 0;
}

static int destroy(void **state) {
    detour_free(&detour);
    return folder_remove(state);
}

static Package *new_package(void) {
    const Fixture *f = &detour.f;
    Diag diag = {0};
    Package *package = package_create("test 1", f->tiles.tiles);
    assert_non_null(package);
    fixture_expect(package_build(package, f->graph, &f->tiles, &f->library, &f->images, &f->places,
                                 detour.exchanges, &diag),
                   &diag);
    fixture_expect(package_finish(package, &diag), &diag);
    return package;
}

static void test_round_trip(void **state) {
    (void)state;
    Package *package = new_package(), *again;
    char path[300];
    Diag diag = {0};
    in_folder("exchange", path);
    fixture_expect(package_verify(package, &diag), &diag);
    fixture_expect(package_write(package, path, 0, &diag), &diag);
    fixture_expect(package_read(path, &again, &diag), &diag);
    FILE *out = tmpfile();
    assert_int_equal(package_diff(package, again, out, 10), 0);
    fclose(out);
    fixture_expect(package_verify(again, &diag), &diag);
    package_free(package);
    package_free(again);
}

static void test_phases(void **state) {
    (void)state;
    Package *package = new_package();
    assert_int_equal(package->phases.count, DETOUR_PHASES);
    for (uint32_t e = 0; e < DETOUR_PHASES; e++) {
        const XchgPhase *wanted = &detour.phases[e];
        XchgPhase got;
        PackageExchange summary;
        assert_int_equal(package_phase_transfers(package, e, &got, NULL), STATUS_OK);
        assert_string_equal(got.name, wanted->name);
        assert_int_equal(got.transfers.count, wanted->transfers.count);
        assert_memory_equal(got.transfers.items, wanted->transfers.items,
                            got.transfers.count * sizeof *got.transfers.items);
        assert_int_equal(got.dests.count, wanted->dests.count);
        assert_memory_equal(got.dests.items, wanted->dests.items,
                            got.dests.count * sizeof *got.dests.items);
        assert_int_equal(package_phase_summary(package, e, &summary, NULL), STATUS_OK);
        assert_int_equal(summary.transfers, got.transfers.count);
        assert_int_equal(summary.bound, xchg_phase_bound(wanted, package->tile_count));
        assert_true(summary.horizon >= summary.bound);
        assert_int_equal(summary.words_received, summary.words_sent * (e == 0 ? 2 : 1));
        assert_true(summary.messages >= summary.transfers && summary.paired <= summary.messages);
        assert_true(summary.rows > 0 && summary.max_row_bytes >= detour.rows[e].max_bytes);
        assert_true(summary.row_bytes > summary.max_row_bytes);
        xchg_phase_free(&got);
    }
    const PackageProgram *program = &package->programs.items[0];
    assert_int_equal(program->step_count, 3);
    assert_int_equal(package->steps.items[0].kind, PACKAGE_EXCHANGE);
    assert_int_equal(package->steps.items[1].phase, 1);
    assert_int_equal(package->steps.items[2].phase, PACKAGE_NONE);
    PackageSource source;
    assert_true(package_source(package, 0, package->rows.items[0].address, &source));
    assert_string_equal(source.function, "exchange row");
    package_free(package);
}

/* A phase that needs two parts. */
static void test_parts(void **state) {
    (void)state;
    Package *package = package_create("test 1", 1000);
    XchgPhase phase = {.name = "wide"}, got;
    XchgDest dests[999];
    for (uint32_t i = 0; i < 999; i++)
        dests[i] = (XchgDest){i + 1, 0x60000 + 4 * i};
    for (uint32_t i = 0; i < 90; i++)
        assert_int_equal(xchg_phase_add(&phase, 0, 0x50000 + 4 * i, 1 + i, dests, 999, NULL),
                         STATUS_OK);
    assert_true(package_add_phase(package, &phase, 12, 1));
    assert_int_equal(package->transfers.count, 2);
    assert_int_equal(package_phase_transfers(package, 0, &got, NULL), STATUS_OK);
    assert_int_equal(got.transfers.count, 90);
    assert_memory_equal(got.transfers.items, phase.transfers.items,
                        90 * sizeof *got.transfers.items);
    assert_memory_equal(got.dests.items, phase.dests.items, 90 * 999 * sizeof *got.dests.items);
    xchg_phase_free(&got);
    xchg_phase_free(&phase);
    package_free(package);
}

/* ---- rules */

typedef struct Damage {
    const char *what;
    void (*apply)(Package *package);
} Damage;

#define DAMAGE(name, statement)                                                                    \
    static void name(Package *p) {                                                                 \
        statement;                                                                                 \
    }

static uint32_t *words_of(Package *p, uint32_t part) {
    return (uint32_t *)p->blobs.items[p->transfers.items[part].blob].bytes;
}

DAMAGE(phase_name, p->phases.items[1].name = "")
DAMAGE(phase_horizon, p->phases.items[0].horizon++)
DAMAGE(phase_transfers, p->phases.items[0].transfers++)
DAMAGE(phase_missing, vec_push(&p->phases, ((PackagePhase){.name = "more"})))
DAMAGE(row_phase, p->rows.items[p->rows.count - 1].phase = 2)
DAMAGE(row_tile, p->rows.items[p->rows.count - 1].tile = 7)
DAMAGE(row_order, p->rows.items[1].tile = p->rows.items[0].tile)
DAMAGE(row_align, p->rows.items[0].address += 4)
DAMAGE(row_outside, p->rows.items[0].address = CHIP_DATA_BASE + 0x1000)
DAMAGE(row_long, p->rows.items[0].size += 4)
DAMAGE(row_empty, p->rows.items[0].size = 0)
DAMAGE(part_phase, p->transfers.items[1].phase = 2)
DAMAGE(part_number, p->transfers.items[1].part = 1)
DAMAGE(part_blob, p->transfers.items[0].blob = 1000)
DAMAGE(part_cut, p->blobs.items[p->transfers.items[0].blob].size -= 4)
DAMAGE(part_bytes, p->blobs.items[p->transfers.items[0].blob].size -= 2)
DAMAGE(part_head, p->blobs.items[p->transfers.items[0].blob].size = 8)
DAMAGE(part_alone, words_of(p, 0)[3] = 0)
DAMAGE(part_many, words_of(p, 0)[3] = 8)
DAMAGE(step_kind, p->steps.items[0].kind = PACKAGE_COMPUTE)
DAMAGE(step_phase, p->steps.items[0].phase = 1)
DAMAGE(step_more, p->steps.items[2].phase = 0)

static const Damage rules[] = {
    {"phase_name", phase_name},
    {"phase_horizon", phase_horizon},
    {"phase_transfers", phase_transfers},
    {"phase_missing", phase_missing},
    {"row_phase", row_phase},
    {"row_tile", row_tile},
    {"row_order", row_order},
    {"row_align", row_align},
    {"row_outside", row_outside},
    {"row_long", row_long},
    {"row_empty", row_empty},
    {"part_phase", part_phase},
    {"part_number", part_number},
    {"part_blob", part_blob},
    {"part_cut", part_cut},
    {"part_bytes", part_bytes},
    {"part_head", part_head},
    {"part_alone", part_alone},
    {"part_many", part_many},
    {"step_kind", step_kind},
    {"step_phase", step_phase},
    {"step_more", step_more},
};

/* What the chip makes of it. */
static uint8_t *row_bytes(Package *p, size_t row) {
    for (size_t i = 0; i < p->segments.count; i++)
        if (p->segments.items[i].tile == p->rows.items[row].tile &&
            p->segments.items[i].address == p->rows.items[row].address)
            return (uint8_t *)p->blobs.items[p->segments.items[i].blob].bytes;
    return NULL;
}

DAMAGE(proof_word, row_bytes(p, 0)[0] ^= 1)
DAMAGE(proof_source, words_of(p, 0)[1] += 4)
DAMAGE(proof_dest, words_of(p, 0)[6] += 4)
DAMAGE(proof_words, words_of(p, 0)[2] += 1)
DAMAGE(proof_tile, words_of(p, 0)[0] = 9)

static const Damage proofs[] = {
    {"proof_word", proof_word},
    {"proof_source", proof_source},
    {"proof_dest", proof_dest},
    {"proof_words", proof_words},
};
static const Damage impossible[] = {{"proof_tile", proof_tile}};

DAMAGE(chip_bound, p->phases.items[0].bound++)
/* The call of the second row becomes one of the first. */
static void chip_call(Package *p) {
    const EmitProgram *program = &detour.f.images.programs.items[0];
    for (size_t i = 0; i < p->segments.count; i++) {
        const PackageSegment *segment = &p->segments.items[i];
        if (segment->tile != program->first_tile || segment->address != program->code.address)
            continue;
        uint32_t *words = (uint32_t *)p->blobs.items[segment->blob].bytes;
        uint32_t call = words[2 + 6], other = words[2 + 13];
        for (uint32_t k = 0; k < program->code.size / 4; k++)
            words[k] = words[k] == other ? call : words[k];
    }
}

static const Damage chip_rules[] = {{"chip_bound", chip_bound}, {"chip_call", chip_call}};

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

static void test_proofs(void **state) {
    (void)state;
    expect_each(proofs, COUNT_OF(proofs), package_verify, ERR_XCHG_VERIFY);
    expect_each(impossible, COUNT_OF(impossible), package_verify, ERR_XCHG_TRANSFER);
    expect_each(chip_rules, COUNT_OF(chip_rules), package_verify, ERR_PACK_CHIP);
}

static void test_memory(void **state) {
    (void)state;
    const Fixture *f = &detour.f;
    Status status = ERR_NO_MEMORY;
    char path[300];
    in_folder("memory", path);
    for (uint64_t n = 1; status; n += 1 + n / 100) {
        Diag diag = {0};
        PackageExchange summary;
        Package *again = NULL;
        mem_fail_after(n);
        Package *package = package_create("test", f->tiles.tiles);
        status = package ? package_build(package, f->graph, &f->tiles, &f->library, &f->images,
                                         &f->places, detour.exchanges, &diag)
                         : ERR_NO_MEMORY;
        if (!status)
            status = package_finish(package, &diag);
        if (!status)
            status = package_verify(package, &diag);
        if (!status)
            status = package_phase_summary(package, 0, &summary, &diag);
        if (!status)
            status = package_write(package, path, 0, &diag);
        if (!status)
            status = package_read(path, &again, &diag);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        package_free(package);
        package_free(again);
        diag_free(&diag);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_phases),
        cmocka_unit_test(test_parts),      cmocka_unit_test(test_rules),
        cmocka_unit_test(test_proofs),     cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
