#include "testing.h"

#include "base/mem.h"
#include "chip/chip.h"

#include <string.h>

/* Logical and physical numbers published with ipu-stack's topology. */
static const unsigned physical_of[][2] = {
    {0, 0},     {1, 2},    {2, 64},    {22, 704},  {44, 1408},  {45, 1410},  {46, 1409},
    {47, 1411}, {91, 3},   {92, 4},    {100, 260}, {137, 1414}, {138, 1413}, {274, 9},
    {735, 31},  {736, 32}, {900, 613}, {1286, 53}, {1470, 61},  {1471, 63}};

/* Routes between physical tiles: sender, receiver, displacement, direction, time. */
static const int routes[][5] = {
    {0, 53, 13, 1, -23},  {32, 260, -41, 2, 49}, {53, 63, -10, 2, -14},
    {1024, 0, 1, 1, 3},   {0, 9, 17, 1, -23},    {0, 64, 1, 1, -31},
    {0, 1409, 5, 1, -69}, {1409, 0, -5, 2, 19},  {1117, 1119, -2, 2, -28}};

/* Routes between logical tiles: sender, receiver, displacement, time. */
static const int logical_routes[][4] = {
    {274, 1286, -5, -25}, {5, 0, 1, -25}, {0, 735, 46, -19}, {1471, 0, 1, -13}, {0, 1, 2, -28}};

static void test_tile_numbers(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(physical_of); i++)
        assert_int_equal(chip_tile_physical(physical_of[i][0]), physical_of[i][1]);
    bool seen[CHIP_TILES] = {false};
    for (unsigned logical = 0; logical < CHIP_TILES; logical++) {
        unsigned physical = chip_tile_physical(logical);
        assert_true(physical < CHIP_TILES && !seen[physical]);
        seen[physical] = true;
        assert_int_equal(chip_tile_logical(physical), logical);
        assert_int_equal(chip_tile_physical(logical ^ 1), physical ^ 2);
    }
}

static void test_routes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        ChipRoute route = chip_route((unsigned)routes[i][0], (unsigned)routes[i][1]);
        assert_int_equal(route.displacement, routes[i][2]);
        assert_int_equal(route.direction, routes[i][3]);
        assert_int_equal(route.time, routes[i][4]);
    }
    for (size_t i = 0; i < COUNT_OF(logical_routes); i++) {
        ChipRoute route = chip_route(chip_tile_physical((unsigned)logical_routes[i][0]),
                                     chip_tile_physical((unsigned)logical_routes[i][1]));
        assert_int_equal(route.displacement, logical_routes[i][2]);
        assert_int_equal(route.time, logical_routes[i][3]);
    }
    assert_int_equal(chip_route(1, 1412).time, -78);
    assert_int_equal(chip_route(1440, 0).time, 112);
}

static void test_all_routes(void **state) {
    (void)state;
    int least = 0, greatest = 0;
    long sum = 0, first_direction = 0;
    for (unsigned s = 0; s < CHIP_TILES; s++) {
        for (unsigned d = 0; d < CHIP_TILES; d++) {
            ChipRoute route = chip_route(s, d), partner = chip_route(s, d ^ 2);
            assert_true(route.displacement != 0);
            assert_int_equal(route.direction, partner.direction);
            int difference = route.time - partner.time;
            assert_true(difference == 1 || difference == -1);
            first_direction += route.direction == 1;
            if (s == d) {
                assert_int_equal(route.time, (s & 3) < 2 ? -29 : -28);
                continue;
            }
            sum += route.time;
            least = MIN_OF(least, route.time);
            greatest = MAX_OF(greatest, route.time);
        }
    }
    assert_int_equal(least, -78);
    assert_int_equal(greatest, 112);
    assert_int_equal(first_direction * 2, (long)CHIP_TILES * CHIP_TILES);
    double mean = (double)sum / ((double)CHIP_TILES * (CHIP_TILES - 1));
    assert_true(mean > -9.865 && mean < -9.855);
}

static void test_elements(void **state) {
    (void)state;
    static const unsigned element_of[][2] = {{0x4C000, 0},  {0x7FFF8, 12}, {0x80000, 13},
                                             {0x80008, 14}, {0x88010, 15}, {0xE7FF8, 38}};
    for (size_t i = 0; i < COUNT_OF(element_of); i++)
        assert_int_equal(chip_element(element_of[i][0]), element_of[i][1]);
    unsigned long bytes[CHIP_MEM_ELEMENTS] = {0};
    for (uint32_t address = CHIP_TILE_MEM_BASE; address < CHIP_TILE_MEM_END; address += 8) {
        unsigned element = chip_element(address), effective = chip_effective_element(address);
        bytes[element] += 8;
        assert_int_equal(effective, element < 13 ? element : 13 + (element - 13) / 2);
        assert_true(address >= chip_effective_element_base(effective) &&
                    address < chip_effective_element_base(effective + 1));
        assert_int_equal(chip_effective_mask(address, 8), 1u << effective);
    }
    for (unsigned i = 0; i < CHIP_MEM_ELEMENTS; i++)
        assert_int_equal(bytes[i], CHIP_MEM_ELEM_SIZE);
    assert_int_equal(chip_effective_mask(0x4FFFF, 2), 3);
    assert_int_equal(chip_effective_mask(0x4C000, CHIP_TILE_MEM_SIZE), (1u << 26) - 1);
    assert_int_equal(chip_effective_mask(0x4C000, 0), 0);
    assert_false(chip_address_ok(CHIP_TILE_MEM_BASE - 1));
    assert_true(chip_address_ok(CHIP_TILE_MEM_END - 1));
    assert_false(chip_address_ok(CHIP_TILE_MEM_END));
}

static void check_csr(bool worker, const char *name, unsigned number) {
    const ChipCsr *csr = chip_csr_by_number(worker, number);
    assert_non_null(csr);
    assert_string_equal(csr->name, name);
    assert_ptr_equal(chip_csr_by_name(worker, name), csr);
}

static void test_tables(void **state) {
    (void)state;
    size_t count;
    const ChipConstant *constants = chip_constants(&count);
    for (size_t i = 0; i < count; i++) {
        assert_true(constants[i].meaning[0] != 0);
        /* Only assumptions and inferences may lack a source. */
        if (constants[i].evidence < CHIP_INFERRED)
            assert_true(constants[i].source[0] != 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(constants[i].name, constants[k].name);
    }
#define CSR(file, name, number, meaning) check_csr(#file[0] == 'W', #name, number);
#define FIELD(file, csr, name, lowest, width)
#include "chip/csr.def"
#undef CSR
#undef FIELD
    assert_null(chip_csr_by_name(false, "WSR"));
    assert_null(chip_csr_by_number(true, 0x32));
    assert_int_equal(CHIP_CSR_W_FP_CTL_RND_MASK, 7);
    assert_int_equal(CHIP_CSR_W_FP_CTL_RND_SHIFT, 16);
    assert_string_equal(chip_evidence_name(CHIP_ASSUMED), "assumed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tile_numbers), cmocka_unit_test(test_routes),
        cmocka_unit_test(test_all_routes),   cmocka_unit_test(test_elements),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
