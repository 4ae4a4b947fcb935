/* Checked allocation, the failure hook, arenas, vectors and maps. */
#include "testing.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"

#include <string.h>

static void test_alloc(void **state) {
    (void)state;
    assert_null(mem_alloc(SIZE_MAX / 2, 3));
    unsigned char *block = mem_alloc(100, 3);
    assert_non_null(block);
    for (int i = 0; i < 300; i++)
        assert_int_equal(block[i], 0);
    memset(block, 7, 300);
    assert_null(mem_resize(block, SIZE_MAX / 2, 3));
    block = mem_resize(block, 1000, 1);
    assert_int_equal(block[299], 7);
    mem_free(block);
    void *empty = mem_alloc(0, 8);
    assert_non_null(empty);
    mem_free(empty);
    char *text = mem_printf("%d %s", 12, "tiles");
    assert_string_equal(text, "12 tiles");
    mem_free(text);
}

static void test_failing_allocation(void **state) {
    (void)state;
    mem_fail_after(2);
    char *first = mem_strdup("a");
    assert_non_null(first);
    assert_null(mem_strdup("b"));
    assert_null(mem_resize(first, 10, 1));
    assert_int_equal(mem_fail_after(0), 3);
    assert_string_equal(first, "a");
    mem_free(first);
    assert_int_equal(mem_fail_after(0), 0);
}

static void test_arena(void **state) {
    (void)state;
    Arena arena = {0};
    Random random = random_seed(1);
    unsigned char *blocks[300];
    size_t sizes[300];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        sizes[i] = (size_t)random_below(&random, i % 50 == 0 ? 100000 : 200);
        blocks[i] = ARENA_NEW(&arena, unsigned char, sizes[i]);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)i & 0xFF, sizes[i]);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(blocks[i][j], i & 0xFF);
    }
    assert_string_equal(arena_printf(&arena, "%s-%u", "x", 3u), "x-3");
    assert_string_equal(arena_strdup(&arena, "y"), "y");
    assert_null(arena_alloc(&arena, SIZE_MAX / 4, 5));
    assert_null(arena_alloc(&arena, SIZE_MAX - 8, 1));
    assert_null(arena_alloc(&arena, SIZE_MAX - 20, 1));
    arena_free(&arena);
    assert_null(arena.chunks);
}

static void test_vec(void **state) {
    (void)state;
    VEC(uint32_t) vec = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(vec_push(&vec, i * i));
    assert_int_equal(vec.count, 1000);
    assert_int_equal(vec.items[999], 999 * 999);
    assert_false(vec_reserve(&vec, SIZE_MAX - 10));
    assert_false(vec_reserve(&vec, SIZE_MAX / 8));
    mem_fail_after(1);
    while (vec.count < vec.capacity)
        assert_true(vec_push(&vec, 1));
    assert_false(vec_push(&vec, 2));
    mem_fail_after(0);
    assert_int_equal(vec.items[999], 999 * 999);
    vec_free(&vec);
    assert_int_equal(vec.capacity, 0);
}

static void test_arithmetic(void **state) {
    (void)state;
    uint32_t sum;
    assert_true(checked_add(1u, 2u, &sum));
    assert_int_equal(sum, 3);
    assert_false(checked_add(UINT32_MAX, 1u, &sum));
    assert_false(checked_mul(65536u, 65536u, &sum));
    assert_int_equal(align_up(17, 8), 24);
    assert_int_equal(align_up(16, 8), 16);
    assert_int_equal(div_up(17, 8), 3);
}

enum { KEY_SIZE = 20 };
static const char *map_key(unsigned i, char key[KEY_SIZE]) {
    snprintf(key, KEY_SIZE, "key %u", i * 7919);
    return key;
}

static void fill_map(StrMap *map, unsigned count, unsigned first) {
    char key[KEY_SIZE];
    for (unsigned i = 0; i < count; i++)
        assert_true(strmap_put(map, map_key(i, key), first + i));
}

static void expect_map(const StrMap *map, uint64_t count, unsigned first) {
    char key[KEY_SIZE];
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = 0;
        assert_true(strmap_get(map, map_key(i, key), &value));
        assert_int_equal(value, first + i);
    }
}

static void test_map(void **state) {
    (void)state;
    StrMap *map = strmap_create();
    uint64_t value = 0;
    assert_false(strmap_get(map, "key 0", &value));
    fill_map(map, 2000, 5);
    fill_map(map, 2000, 0);
    assert_true(strmap_put(map, "", 77));
    assert_true(strmap_get(map, "", &value));
    assert_int_equal(value, 77);
    assert_false(strmap_get(map, "key 1", &value));
    expect_map(map, 2000, 0);
    strmap_free(map);
    strmap_free(NULL);
}

/* A map that lacks memory refuses the new key and stays as it was. */
static void test_map_without_memory(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        mem_fail_after(n);
        StrMap *map = strmap_create();
        uint64_t stored = 0;
        while (map && stored < 100) {
            char key[KEY_SIZE];
            if (!strmap_put(map, map_key((unsigned)stored, key), stored))
                break;
            stored++;
        }
        mem_fail_after(0);
        if (map) {
            char key[KEY_SIZE];
            uint64_t value;
            expect_map(map, stored, 0);
            assert_false(strmap_get(map, map_key((unsigned)stored, key), &value));
        }
        strmap_free(map);
        if (stored == 100)
            break;
        assert_true(n < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_failing_allocation),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_vec),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_map_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
