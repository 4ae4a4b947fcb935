/* Placement: published cases, every rule, and random problems against brute force. */
#include "place/place.h"

#include "chip/chip.h"
#include "place/problems.h"
#include "testing.h"

#include <stdlib.h>
#include <string.h>

static PlaceFile read_problem(const char *text) {
    PlaceFile file;
    Diag diag = {0};
    if (place_read(text, "case", &file, &diag)) {
        diag_print(&diag, stderr);
        fail();
    }
    return file;
}

static PlaceResult solve(const PlaceProblem *problem) {
    PlaceResult result;
    Diag diag = {0};
    assert_int_equal(place_solve(problem, &result, &diag), STATUS_OK);
    assert_int_equal(diag.count, 0);
    if (result.verdict == PLACE_PLACED) {
        char text[200];
        const char *broken = place_check(problem, &result, text, sizeof text);
        if (broken)
            fail_msg("%s", broken);
    }
    return result;
}

static void expect_addresses(const char *text, const uint32_t *address, const char *method) {
    PlaceFile file = read_problem(text);
    PlaceResult result = solve(&file.problem);
    assert_int_equal(result.verdict, PLACE_PLACED);
    if (method)
        assert_string_equal(result.method, method);
    for (uint32_t i = 0; i < file.problem.buffer_count; i++)
        assert_int_equal(result.address[i], address[i]);
    place_result_free(&result);
    place_file_free(&file);
}

/* First fit in lifetime order over both regions, conflicts kept apart. */
static void test_joint(void **state) {
    (void)state;
    expect_addresses("range 0x5C000 0x80000\nrange 0x80000 0xE7BB0\nend 5\n"
                     "buffer A bytes=0x3000 align=32 live=0..5\n"
                     "buffer B bytes=0x9000 align=32 class=interleaved live=1..2\n"
                     "buffer C bytes=0x5000 align=32 live=1..1\n"
                     "buffer D bytes=0x22000 align=32 live=2..3\n"
                     "buffer E bytes=0x4000 align=32 class=interleaved live=3..4\n"
                     "conflict 2 1\nconflict 3 4\n",
                     (const uint32_t[]){0x5C000, 0x80000, 0x5F000, 0x89000, 0x80000}, "lifetime");
}

/* The lifetime order leaves a hole that is too small; the next order fits. */
static void test_retry(void **state) {
    (void)state;
    expect_addresses("range 0x5C000 0x60000\nend 4\n"
                     "buffer p bytes=0x1000 live=0..4\nbuffer q bytes=0x2000 live=0..1\n"
                     "buffer s bytes=0x800 live=1..4\nbuffer t bytes=0x2800 live=2..3\n",
                     (const uint32_t[]){0x5E800, 0x5C000, 0x5F800, 0x5C000}, "aligned");
}

static void expect_sequence(const char *fields, uint32_t base, uint32_t stride, uint32_t next) {
    char text[400];
    snprintf(text, sizeof text,
             "range 0x5C000 0x80000\nrange 0x80000 0xE7BB0\nend 9\n"
             "buffer w bytes=3072 align=32 live=0..9 members=%s\n"
             "buffer n bytes=32 align=32 live=0..9 %s\n",
             fields, base >= CHIP_REGION1_BASE ? "class=interleaved" : "");
    PlaceFile file = read_problem(text);
    PlaceResult result = solve(&file.problem);
    assert_int_equal(result.verdict, PLACE_PLACED);
    assert_int_equal(result.address[0], base);
    assert_int_equal(result.stride[0], stride);
    assert_int_equal(result.address[1], next);
    place_result_free(&result);
    place_file_free(&file);
}

/* Strides of iterated parameters; the next buffer shows where the sequence ends. */
static void test_sequences(void **state) {
    (void)state;
    expect_sequence("27 apart=0 tail=8", 0x5C000, 3104, 0x5C000 + 83808);
    expect_sequence("27 apart=0", 0x5C000, 3072, 0x5C000 + 82944);
    expect_sequence("9 apart=1", 0x5C000, 16384, 0x5C000 + 8 * 16384 + 3072);
    expect_sequence("5 apart=1 class=interleaved", 0x80000, 32768, 0x80000 + 4 * 32768 + 3072);
}

/* Members that are kept apart may not start so late in an element that they reach the next. */
static void test_sequence_apart_offset(void **state) {
    (void)state;
    PlaceFile file = read_problem("range 0x5C000 0x70000\nend 9\n"
                                  "buffer a bytes=0x3000 align=32 live=0..9\n"
                                  "buffer w bytes=0x2000 align=32 live=0..9 members=4 apart=1\n");
    PlaceResult result = solve(&file.problem);
    assert_int_equal(result.verdict, PLACE_PLACED);
    for (uint32_t m = 0; m < 4; m++)
        assert_true((result.address[1] + m * result.stride[1]) % 0x4000 <= 0x2000);
    place_result_free(&result);
    place_file_free(&file);
}

static PlaceResult expect_refusal(const char *text, PlaceVerdict verdict, PlaceShortage shortage,
                                  uint64_t over) {
    PlaceFile file = read_problem(text);
    PlaceResult result = solve(&file.problem);
    assert_int_equal(result.verdict, verdict);
    assert_int_equal(result.shortage, shortage);
    assert_int_equal(result.over, over);
    Diag diag = {0};
    Status wanted = verdict == PLACE_INFEASIBLE ? ERR_PLACE_INFEASIBLE : ERR_PLACE_NOT_FOUND;
    assert_int_equal(place_report(&file.problem, &result, 3, &diag), wanted);
    assert_int_equal(diag.entries[0].place.tile, 3);
    assert_non_null(diag.entries[0].notes);
    diag_free(&diag);
    place_file_free(&file);
    return result;
}

static void test_refusals(void **state) {
    (void)state;
    /* An output that accumulates needs region 1. */
    PlaceResult r = expect_refusal("range 0x5C000 0x80000\n"
                                   "buffer out bytes=64 align=32 class=interleaved live=0..1\n",
                                   PLACE_INFEASIBLE, PLACE_SHORT_INTERLEAVED, 64);
    place_result_free(&r);
    /* Left operand and output in one pair. */
    r = expect_refusal("range 0x80000 0x88000\n"
                       "buffer left bytes=64 align=32 live=0..1\n"
                       "buffer out bytes=64 align=32 class=interleaved live=0..1\nconflict 0 1\n",
                       PLACE_INFEASIBLE, PLACE_SHORT_ARRANGEMENT, 64);
    place_result_free(&r);
    /* Sum of both classes; the worst step and its buffers, largest first. */
    r = expect_refusal("range 0x7F000 0x80000\nrange 0x80000 0x81000\n"
                       "buffer a bytes=0x800 align=4 live=0..9\n"
                       "buffer b bytes=0x1000 align=4 live=2..3\n"
                       "buffer c bytes=0xA00 align=4 live=3..4\n",
                       PLACE_INFEASIBLE, PLACE_SHORT_TOTAL, 0x200);
    assert_int_equal(r.event, 3);
    assert_int_equal(r.alive_count, 3);
    assert_int_equal(r.alive[0], 1);
    assert_int_equal(r.alive[1], 2);
    assert_int_equal(r.alive[2], 0);
    place_result_free(&r);
    /* Nothing crosses 0x80000. */
    r = expect_refusal("range 0x70000 0x90000\nbuffer a bytes=0x10001 align=4 live=0..9\n",
                       PLACE_INFEASIBLE, PLACE_SHORT_SINGLE, 1);
    place_result_free(&r);
    r = expect_refusal("buffer a bytes=4 live=0..0\n", PLACE_INFEASIBLE, PLACE_SHORT_TOTAL, 4);
    place_result_free(&r);
    /* Larger than all memory, in members of 2 GiB. */
    r = expect_refusal("range 0x80000 0x90000\n"
                       "buffer a bytes=0x80000000 live=0..0 members=0x40000000\n",
                       PLACE_INFEASIBLE, PLACE_SHORT_TOTAL, (1ull << 61) - 0x10000);
    place_result_free(&r);
}

static void test_window(void **state) {
    (void)state;
    const char *text = "range 0x58000 0x59000\nwindow 0x50000 0x54000\nend 4\n"
                       "buffer a bytes=0x1000 live=0..4\nbuffer b bytes=0x3000 live=1..3\n"
                       "buffer c bytes=0x1000 live=2..2\n";
    expect_addresses(text, (const uint32_t[]){0x58000, 0x50000, 0x53000}, NULL);
    PlaceResult r = expect_refusal("range 0x58000 0x59000\nwindow 0x50000 0x54000\nend 4\n"
                                   "buffer a bytes=0x1000 live=0..3\n"
                                   "buffer b bytes=0x3000 live=1..4\n",
                                   PLACE_INFEASIBLE, PLACE_SHORT_TOTAL, 0x3000);
    place_result_free(&r);
}

/* Code goes into its own range first, then below 0x80000; data never goes there. */
static void test_code(void **state) {
    (void)state;
    const char *text = "range 0x58000 0x80000\nrange 0x80000 0x88000\ncode 0x4D000 0x50000\n"
                       "end 4\nbuffer a bytes=0x1000 live=0..4\n"
                       "buffer b bytes=0x2800 align=8 live=0..4 code=1\n"
                       "buffer c bytes=0x800 tail=64 align=8 live=0..4 code=1\n"
                       "conflict 0 1\nconflict 0 2\n";
    expect_addresses(text, (const uint32_t[]){0x5C000, 0x4D000, 0x58000}, NULL);
    PlaceResult r = expect_refusal("range 0x7F000 0x88000\ncode 0x4D000 0x4E000\n"
                                   "buffer a bytes=0x2000 live=0..0 code=1\n",
                                   PLACE_INFEASIBLE, PLACE_SHORT_SINGLE, 0x1000);
    place_result_free(&r);
    r = expect_refusal("range 0x80000 0x81000\ncode 0x4D000 0x4E000\n"
                       "buffer a bytes=0x800 live=0..0\nbuffer b bytes=0x1000 live=0..0\n"
                       "buffer c bytes=0x100 live=0..0 code=1\n",
                       PLACE_INFEASIBLE, PLACE_SHORT_TOTAL, 0x800);
    place_result_free(&r);
}

static void test_aliases(void **state) {
    (void)state;
    PlaceFile file = read_problem("range 0x58000 0x80000\nend 4\n"
                                  "buffer a bytes=0x100 live=0..1\n"
                                  "buffer b bytes=0x80 live=2..4 alias=0 offset=0xC0 tail=0x20\n"
                                  "buffer c bytes=0x10 live=3..3\n");
    PlaceResult result = solve(&file.problem);
    assert_int_equal(result.verdict, PLACE_PLACED);
    assert_int_equal(result.address[1], result.address[0] + 0xC0);
    assert_true(result.address[2] >= result.address[0] + 0x160 ||
                result.address[2] + 0x10 <= result.address[0]);
    PlaceRange *ranges;
    uint32_t count;
    assert_int_equal(place_unused(&file.problem, &result, &ranges, &count, NULL), STATUS_OK);
    uint64_t unused = 0;
    for (uint32_t i = 0; i < count; i++)
        unused += ranges[i].end - ranges[i].begin;
    assert_int_equal(unused, 0x28000 - 0x160 - 0x10);
    mem_free(ranges);
    place_result_free(&result);
    place_file_free(&file);
}

/* Soft pairs are kept apart where a quick order can, and given up before anything else. */
static void test_soft_pairs(void **state) {
    (void)state;
    PlaceFile file = read_problem("range 0x80000 0x90000\n"
                                  "buffer a bytes=64 align=32 live=0..1\n"
                                  "buffer b bytes=64 align=32 live=0..1\nconflict 0 1 soft\n");
    PlaceResult result = solve(&file.problem);
    assert_int_equal(result.verdict, PLACE_PLACED);
    assert_int_equal(result.address[1], 0x88000);
    assert_false(result.soft_broken);
    place_result_free(&result);
    place_file_free(&file);
    file = read_problem("range 0x80000 0x88000\n"
                        "buffer a bytes=64 align=32 live=0..1\n"
                        "buffer b bytes=64 align=32 live=0..1\nconflict 0 1 soft\n");
    result = solve(&file.problem);
    assert_int_equal(result.verdict, PLACE_PLACED);
    assert_int_equal(result.address[1], 0x80040);
    assert_true(result.soft_broken);
    place_result_free(&result);
    place_file_free(&file);
}

static void expect_problem_error(const char *text) {
    PlaceFile file = read_problem(text);
    PlaceResult result;
    Diag diag = {0};
    assert_int_equal(place_solve(&file.problem, &result, &diag), ERR_PLACE_PROBLEM);
    assert_int_equal(diag_status(&diag), ERR_PLACE_PROBLEM);
    diag_free(&diag);
    place_result_free(&result);
    place_file_free(&file);
}

static void test_bad_problems(void **state) {
    (void)state;
    expect_problem_error("range 0x58000 0x60000\nrange 0x5F000 0x61000\n");
    expect_problem_error("range 0x60000 0x58000\n");
    expect_problem_error("range 0x58000 0x60000\nwindow 0x5F000 0x61000\n");
    expect_problem_error("window 0x5F000 0x51000\nbuffer a bytes=1 live=0..0\n");
    expect_problem_error("code 0x5F000 0x51000\nbuffer a bytes=1 live=0..0\n");
    expect_problem_error("code 0x4D000 0x51000\nwindow 0x50000 0x54000\n");
    expect_problem_error("range 0x58000 0x60000\ncode 0x5F000 0x61000\n");
    expect_problem_error("buffer a bytes=0 live=0..0\n");
    expect_problem_error("buffer a bytes=1 live=0..0 members=0\n");
    expect_problem_error("buffer a bytes=1 align=12 live=0..0\n");
    expect_problem_error("buffer a bytes=1 align=65536 live=0..0\n");
    expect_problem_error("buffer a bytes=1 live=1..0\n");
    expect_problem_error("buffer a bytes=1 live=0..0 class=interleaved code=1\n");
    expect_problem_error("buffer a bytes=1 live=0..0 alias=0\n");
    expect_problem_error("buffer a bytes=1 live=0..0 alias=7\n");
    expect_problem_error(
        "buffer a bytes=1 live=0..0\nbuffer b bytes=1 live=0..0 alias=0 offset=2\n");
    expect_problem_error("buffer a bytes=1 live=0..0\nconflict 0 1\n");
    expect_problem_error("buffer a bytes=1 live=0..0\nbuffer b bytes=1 live=0..0 alias=0\n"
                         "conflict 0 1\n");
}

static void expect_text_error(const char *text, uint32_t line, uint32_t column) {
    PlaceFile file;
    Diag diag = {0};
    assert_int_equal(place_read(text, "case", &file, &diag), ERR_PLACE_TEXT);
    assert_int_equal(diag.entries[0].place.line, line);
    assert_int_equal(diag.entries[0].place.column, column);
    diag_free(&diag);
}

static void test_text(void **state) {
    (void)state;
    expect_text_error("range 1\n", 1, 8);
    expect_text_error("# note\nrange 1 2 3\n", 2, 11);
    expect_text_error("rang 1 2\n", 1, 1);
    expect_text_error("buffer\n", 1, 7);
    expect_text_error("buffer a live=1-2\n", 1, 16);
    expect_text_error("buffer a class=fast\n", 1, 16);
    expect_text_error("buffer a size=1\n", 1, 10);
    expect_text_error("end 4294967296\n", 1, 5);
    expect_text_error("end -1\n", 1, 5);

    const char *text =
        "range 0x58000 0x60000\nwindow 0x50000 0x54000\ncode 0x4D000 0x4E000\nend 7\n"
        "buffer a bytes=9 tail=8 align=32 class=interleaved live=1..2\n"
        "buffer b bytes=9 tail=0 align=4 class=standard live=0..7 members=3 apart=1\n"
        "buffer c bytes=4 tail=0 align=4 class=standard live=0..7 alias=0 offset=4\n"
        "buffer d bytes=8 tail=64 align=8 class=standard live=0..7 code=1\n"
        "conflict 0 1\nconflict 1 2 soft\n";
    PlaceFile file = read_problem(text);
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);
    place_print(&file.problem, NULL, out);
    fclose(out);
    assert_string_equal(printed, text);
    free(printed);
    place_file_free(&file);
}

/* ---- random problems */

/* Every start at every multiple of the alignment. */
static bool brute_force(const PlaceProblem *problem, PlaceResult *result, uint32_t i,
                        PlaceProblem *part) {
    if (i == problem->buffer_count)
        return true;
    const PlaceBuffer *buffer = &problem->buffers[i];
    part->buffer_count = i + 1;
    part->conflict_count = 0;
    PlaceConflict conflicts[32];
    for (uint32_t c = 0; c < problem->conflict_count; c++)
        if (problem->conflicts[c].a <= i && problem->conflicts[c].b <= i)
            conflicts[part->conflict_count++] = problem->conflicts[c];
    uint32_t one = buffer->bytes + buffer->tail;
    for (uint32_t at = 0x50000; at < 0xB0000; at += buffer->align) {
        uint32_t whole = !buffer->members_apart ? MAX_OF(buffer->align, 4u)
                         : at < 0x80000         ? 0x4000
                                                : 0x8000;
        result->address[i] = at;
        result->stride[i] = buffer->members == 1 ? one : (uint32_t)align_up(one, whole);
        part->conflicts = conflicts;
        part->buffer_count = i + 1;
        char text[200];
        if (place_check(part, result, text, sizeof text))
            continue;
        PlaceProblem next = *part;
        if (brute_force(problem, result, i + 1, &next))
            return true;
    }
    return false;
}

static void test_brute_force(void **state) {
    (void)state;
    uint64_t seed = 1;
    Random random = random_seed(seed);
    uint32_t cases = getenv("TW_TEST_ALL") ? 20000 : 600, placed = 0;
    for (uint32_t n = 0; n < cases; n++) {
        RandomProblem p = {0};
        random_problem(&random, &p, 1 + n % 4, 0x2000, 0xA000);
        PlaceResult result = solve(&p.problem);
        uint32_t address[4], stride[4];
        PlaceResult brute = {.address = address, .stride = stride};
        PlaceProblem part = p.problem;
        bool possible = brute_force(&p.problem, &brute, 0, &part);
        if (possible != (result.verdict == PLACE_PLACED) ||
            (!possible && result.verdict != PLACE_INFEASIBLE)) {
            place_print(&p.problem, &result, stderr);
            fail_msg("seed %llu case %u: brute force %d, verdict %d by %s",
                     (unsigned long long)seed, n, possible, result.verdict, result.method);
        }
        placed += possible;
        place_result_free(&result);
    }
    assert_in_range(placed, cases / 5, cases * 4 / 5);
}

/* Dense problems with many buffers: whatever is placed keeps all rules (checked in solve). */
static void test_many_buffers(void **state) {
    (void)state;
    uint64_t seed = 2;
    Random random = random_seed(seed);
    uint32_t counts[3] = {0}, searched = 0;
    for (uint32_t n = 0; n < 150; n++) {
        RandomProblem p = {0};
        random_problem(&random, &p, 8 + n % 17, 0x400, 0x3000);
        p.ranges[0] = (PlaceRange){0x78000, 0x80000};
        p.ranges[1] = (PlaceRange){0x80000, 0x98000};
        PlaceResult result = solve(&p.problem);
        counts[result.verdict]++;
        searched += result.nodes > 0 && result.verdict == PLACE_PLACED;
        if (result.verdict != PLACE_PLACED)
            assert_true(result.alive_count > 0);
        place_result_free(&result);
    }
    print_message("placed %u (%u by search), infeasible %u, not found %u; seed %llu\n",
                  counts[PLACE_PLACED], searched, counts[PLACE_INFEASIBLE], counts[PLACE_NOT_FOUND],
                  (unsigned long long)seed);
    assert_true(counts[PLACE_PLACED] > 50);
}

/* place_check finds what is wrong: moves of a good placement that break a rule. */
static void test_check_rejects(void **state) {
    (void)state;
    PlaceFile file = read_problem("range 0x70000 0x90000\nwindow 0x50000 0x51000\n"
                                  "code 0x4C000 0x4D000\nend 4\n"
                                  "buffer a bytes=0x1000 align=32 live=0..4\n"
                                  "buffer b bytes=0x1000 align=32 live=1..3 class=interleaved\n"
                                  "buffer c bytes=0x100 align=32 live=0..4 members=2 apart=1\n"
                                  "buffer d bytes=0x10 align=16 live=0..4 alias=0 offset=16\n"
                                  "buffer e bytes=0x10 align=16 live=0..4 code=1\n"
                                  "conflict 0 1\n");
    PlaceResult result = solve(&file.problem);
    struct {
        uint32_t buffer, address, stride;
    } moves[] = {
        {0, 0x70010, 0}, {0, 0x6FFE0, 0},      {0, 0x50000, 0},      {0, 0x7FFE0, 0},
        {1, 0x7C000, 0}, {2, 0x70000, 0x100},  {2, 0x73FE0, 0x4000}, {3, 0x70020, 0},
        {0, 0x80000, 0}, {2, 0x70000, 0x4002}, {4, 0x8F000, 0},      {2, 0x4C000, 0x4000},
    };
    char text[200];
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        uint32_t b = moves[i].buffer, address = result.address[b], stride = result.stride[b];
        uint32_t alias = result.address[3];
        result.address[b] = moves[i].address;
        if (b == 0)
            result.address[3] = moves[i].address + 16;
        if (moves[i].stride)
            result.stride[b] = moves[i].stride;
        assert_non_null(place_check(&file.problem, &result, text, sizeof text));
        result.address[b] = address;
        result.stride[b] = stride;
        result.address[3] = b == 3 ? address : alias;
        assert_null(place_check(&file.problem, &result, text, sizeof text));
    }
    place_result_free(&result);
    place_file_free(&file);
}

/* Every allocation may fail. */
static void test_memory(void **state) {
    (void)state;
    RandomProblem p = {0};
    PlaceProblem problems[2];
    Random random = random_seed(4);
    random_problem(&random, &p, 14, 0x400, 0x4000);
    problems[0] = problems[1] = p.problem;
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status == ERR_NO_MEMORY; n++) {
        PlaceResult results[2];
        Diag diag = {0};
        mem_fail_after(n);
        status = place_solve_all(problems, 2, NULL, results, NULL, &diag);
        mem_fail_after(0);
        place_result_free(&results[0]);
        place_result_free(&results[1]);
        diag_free(&diag);
        assert_true(n < 200000);
        if (n > 200)
            n += n / 16; /* the search allocates the same things again and again */
    }
    assert_int_equal(status, STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint),         cmocka_unit_test(test_retry),
        cmocka_unit_test(test_sequences),     cmocka_unit_test(test_sequence_apart_offset),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_window),
        cmocka_unit_test(test_aliases),       cmocka_unit_test(test_soft_pairs),
        cmocka_unit_test(test_bad_problems),  cmocka_unit_test(test_text),
        cmocka_unit_test(test_brute_force),   cmocka_unit_test(test_many_buffers),
        cmocka_unit_test(test_check_rejects), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
