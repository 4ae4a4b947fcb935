/* Many placement problems at once. */
#include "place/problems.h"
#include "testing.h"

/* Equal problems are solved once, and threads change nothing. */
static void test_all(void **state) {
    (void)state;
    enum { COUNT = 40, DISTINCT = 10 };
    Random random = random_seed(3);
    RandomProblem p[DISTINCT] = {0};
    PlaceProblem problems[COUNT];
    for (uint32_t i = 0; i < DISTINCT; i++)
        random_problem(&random, &p[i], 3 + i, 0x400, 0x2000);
    for (uint32_t i = 0; i < COUNT; i++)
        problems[i] = p[i % DISTINCT].problem;
    PlaceResult one[COUNT], many[COUNT];
    uint32_t distinct;
    Pool *pool = pool_create(3);
    assert_int_equal(place_solve_all(problems, COUNT, NULL, one, &distinct, NULL), STATUS_OK);
    assert_int_equal(distinct, DISTINCT);
    assert_int_equal(place_solve_all(problems, COUNT, pool, many, NULL, NULL), STATUS_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(one[i].verdict, many[i].verdict);
        for (uint32_t b = 0; one[i].address && b < problems[i].buffer_count; b++)
            assert_int_equal(one[i].address[b], many[i].address[b]);
        place_result_free(&one[i]);
        place_result_free(&many[i]);
    }
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
