/* Branches, calls, repeats, launches, control registers of the supervisor, code that changes. */
#include "rig.h"

/* Runs one supervisor program; what it leaves at 0x60000 … is compared with `words`. */
static void check_program(const char *text, const uint32_t *words, unsigned count) {
    Machine *machine = rig_load(text, 1);
    rig_run(machine);
    for (unsigned i = 0; i < count; i++) {
        uint32_t got = rig_word(machine, 0, 0x60000 + 4 * i);
        if (got != words[i])
            fail_msg("word %u is 0x%X, not 0x%X:\n%s", i, got, words[i], text);
    }
    machine_free(machine);
}
#define CHECK(text, ...)                                                                           \
    check_program(text, (uint32_t[]){__VA_ARGS__},                                                 \
                  sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* One worker does `text` with m8 = 0x60000; then the host barrier. */
#define WORKER(text)                                                                               \
    ".supervisor\n setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n sync 7\n .worker\n"           \
    " .align 8\n worker:\n setzi $m8, 0x60000\n" text "\n exitz $mzero\n"

static void branches(void **state) {
    (void)state;
    /* Each taken branch skips an addition to m1. */
    CHECK(WORKER("setzi $m1, 0\n setzi $m2, 1\n sub $m3, $mzero, $m2\n"
                 "brz $mzero, 1f\n add $m1, $m1, 1\n 1: brz $m2, 1f\n add $m1, $m1, 2\n 1:"
                 "brnz $m2, 1f\n add $m1, $m1, 4\n 1: brnz $mzero, 1f\n add $m1, $m1, 8\n 1:"
                 "brneg $m3, 1f\n add $m1, $m1, 16\n 1: brneg $mzero, 1f\n add $m1, $m1, 32\n 1:"
                 "brpos $mzero, 1f\n add $m1, $m1, 64\n 1: brpos $m3, 1f\n add $m1, $m1, 128\n 1:"
                 "bri 1f\n add $m1, $m1, 256\n 1: st32 $m1, $m8, $mzero, 0"),
          2 + 8 + 32 + 128);
    CHECK(WORKER("setzi $m1, 0\n setzi $m2, 3\n 1: add $m1, $m1, 10\n brnzdec $m2, 1b\n"
                 "st32 $m1, $m8, $mzero, 0\n st32 $m2, $m8, $mzero, 1"),
          40, 0);
    /* A call returns behind itself, also when it is half of a bundle, whose aux half always runs.
     */
    CHECK(WORKER("setzi $m1, 0\n call $m10, f\n call $m10, f\n {call $m10, f; setzi $a0, 7}\n"
                 "st32 $m1, $m8, $mzero, 0\n st32 $a0, $m8, $mzero, 1\n exitz $mzero\n"
                 "f: add $m1, $m1, 1\n br $m10"),
          3, 7);
    CHECK(WORKER(
              "{brz $mzero, 1f; setzi $a0, 5}\n setzi $a0, 6\n 1: {brnz $mzero, 1f; setzi $a1, 8}\n"
              "1: st32 $a0, $m8, $mzero, 0\n st32 $a1, $m8, $mzero, 1"),
          5, 8);
}

/* Both halves of a bundle see what was there before it. */
static void bundles(void **state) {
    (void)state;
    CHECK(WORKER("setzi $a0, 1\n setzi $a1, 2\n setzi $m0, 7\n st32 $m0, $m8, $mzero, 0\n"
                 "{ld32 $a0, $m8, $mzero, 0; or $a2, $a0, $azero}\n"
                 "st32 $a0, $m8, $mzero, 0\n st32 $a2, $m8, $mzero, 1\n"
                 /* main stores what aux overwrites */
                 "{st32 $a1, $m8, $mzero, 2; setzi $a1, 9}\n st32 $a1, $m8, $mzero, 3\n"
                 /* each reads what the other writes */
                 "setzi $a0, 20\n setzi $a1, 30\n setzi $m2, 0x60010\n"
                 "{ld32step $a0, $mzero, $m2+=, 1; or $a1, $a0, $azero}\n"
                 "{atom $m3, $a1; setzi $a1, 99}\n"
                 "st32 $m3, $m8, $mzero, 5\n st32 $a1, $m8, $mzero, 6"),
          7, 1, 2, 9, 0, 20, 99);
    /* Crossed: the store and the load of one instruction against aux. */
    CHECK(WORKER(
              "setzi $a0, 11\n setzi $a1, 12\n setzi $a4, 13\n setzi $a5, 14\n"
              "setzi $m0, 0x70000\n setzi $m1, 0x60100\n setzi $m6, 77\n st32 $m6, $m0, $mzero, 0\n"
              "tapack $m2:3, $m0, $mzero, $m1\n"
              "{ldst64pace $a0:1, $a4:5, $m2:3+=, $mzero, 0; or64 $a4:5, $a0:1, $azeros}\n"
              "st32 $a0, $m8, $mzero, 0\n st32 $a4, $m8, $mzero, 1\n st32 $a5, $m8, $mzero, 2\n"
              "ld32 $m4, $m8, $mzero, 64\n st32 $m4, $m8, $mzero, 3"),
          77, 11, 12, 13);
}

static void repeats(void **state) {
    (void)state;
    CHECK(
        WORKER("setzi $m1, 0\n setzi $m2, 0x10003\n"
               "nop\n nop\n rpt 5, 1\n {add $m1, $m1, 1; fnop}\n {add $m1, $m1, 10; fnop}\n"
               "st32 $m1, $m8, $mzero, 0\n setzi $m1, 0\n"
               /* the low 16 bits count */
               "nop\n rpt $m2, 0\n {add $m1, $m1, 1; fnop}\n st32 $m1, $m8, $mzero, 1\n"
               "nop\n nop\n rpt $mzero, 1\n {add $m1, $m1, 1; fnop}\n {add $m1, $m1, 1; fnop}\n"
               "st32 $m1, $m8, $mzero, 2\n setzi $a0, 0\n"
               "{rpt 2, 0; setzi $a0, 5}\n {nop; f32add $a1, $a1, $a1}\n st32 $a0, $m8, $mzero, 3"),
        55, 3, 3, 5);
    /* The longest body, 256 bundles, which ends in another granule and page than it began. */
    CHECK(WORKER("setzi $m1, 0\n bri far\n .space 3072\n .align 8\n far: nop\n rpt 3, 255\n"
                 ".rept 256\n {add $m1, $m1, 1; fnop}\n .endr\n st32 $m1, $m8, $mzero, 0"),
          768);
}

/* A bundle may lie across two pages; it still follows changes of either half. */
static void straddling_bundle(void **state) {
    (void)state;
    const char *text =
        ".supervisor\n begin: setzi $m8, 0x60000\n setzi $m7, worker\n setzi $m6, here\n"
        "setzi $m5, pattern\n run $m7, $mzero, 0\n sync 2\n"
        "ld32 $m0, $m5, $mzero, 1\n st32 $m0, $m6, $mzero, 1\n"
        "setzi $m8, 0x60004\n put $WORKER0_BASE, $m8\n run $m7, $mzero, 0\n sync 2\n sync 7\n"
        ".align 8\n pattern: .worker\n {nop; setzi $a0, 9}\n"
        "worker: get $m0, $WORKER_BASE\n setzi $m1, 0x60000\n add $m1, $m1, $m0\n brz $m0, 1f\n"
        "setzi $m1, 0x60004\n 1: bri here\n"
        ".space 4092 - (. - begin)\n"
        "here: {nop; setzi $a0, 5}\n st32 $a0, $m1, $mzero, 0\n exitz $mzero\n";
    CHECK(text, 5, 9);
}

static void launches(void **state) {
    (void)state;
    /* runall: absolute base plus 4 z a worker; run: relative to 0x4C000, in the first free context.
     */
    CHECK(
        ".supervisor\n setzi $m0, worker\n setzi $m1, 0x60000\n runall $m0, $m1, 3\n sync 2\n"
        "setzi $m0, single\n setzi $m1, 0x14000\n run $m0, $m1, 18\n run $m0, $m1, 19\n sync 2\n"
        "sync 7\n"
        ".worker\n worker: get $m0, $WSR\n add $m0, $m0, 100\n st32 $m0, $mvertex_base, $mzero, 0\n"
        "exitz $mzero\n"
        "single: get $m0, $WSR\n add $m0, $m0, 200\n st32 $m0, $mvertex_base, $mzero, 0\n"
        "exitz $mzero\n",
        100, 0, 0, 101, 0, 0, 102, 0, 0, 103, 0, 0, 104, 0, 0, 105, 0, 0, 200, 201);
    /* What workers keep, and what a launch sets anew. */
    CHECK(
        ".supervisor\n setzi $m8, 0x60000\n setzi $m0, first\n setzi $m1, 3\n put $FP_INFMT, $m1\n"
        "setzi $m1, 5\n put $FP_ISCL, $m1\n setzi $m1, 0x1000\n shl $m1, $m1, 4\n"
        "put $FP_ICTL, $m1\n setzi $m1, 0x5F000\n put $WORKER0_BASE, $m1\n"
        "run $m0, $mzero, 0\n sync 2\n setzi $m0, second\n run $m0, $mzero, 0\n sync 2\n sync 7\n"
        ".worker\n first: setzi $m3, 33\n setzi $a3, 44\n setzi $a0, 1\n uput $FP_SCL, $a0\n"
        "uput $FP_NFMT, $a0\n uput $FP_CTL, $a0\n f32oox $a1, $azero\n exitz $mzero\n"
        "second: setzi $m8, 0x60000\n st32 $m3, $m8, $mzero, 0\n st32 $a3, $m8, $mzero, 1\n"
        "uget $a0, $FP_SCL\n st32 $a0, $m8, $mzero, 2\n uget $a0, $FP_NFMT\n"
        "st32 $a0, $m8, $mzero, 3\n uget $a0, $FP_CTL\n st32 $a0, $m8, $mzero, 4\n"
        "uget $a0, $FP_STS\n st32 $a0, $m8, $mzero, 5\n st32 $m12, $m8, $mzero, 6\n exitz $mzero\n",
        33, 44, 5, 3, 0x10000, 0, 0x5F000);
}

/* exit hands its condition to the local consensus: all workers must agree. */
static void consensus(void **state) {
    (void)state;
#define LOCAL(exit)                                                                                \
    ".supervisor\n setzi $m8, 0x60000\n setzi $m1, 2\n put $CR, $m1\n setzi $m0, worker\n"         \
    "runall $m0, $mzero, 0\n sync 2\n get $m2, $SSR\n and $m2, $m2, 1\n"                           \
    "st32 $m2, $m8, $mzero, 0\n sync 7\n"                                                          \
    ".worker\n worker: get $m0, $WSR\n and $m0, $m0, 7\n" exit "\n"
    CHECK(LOCAL("exitz $mzero"), 1);
    CHECK(LOCAL("exitnz $mzero"), 0);
    CHECK(LOCAL("exitz $m0"), 0);
    CHECK(LOCAL("exitpos $m0"), 1);
    CHECK(LOCAL("add $m0, $m0, -6\n exitneg $m0"), 1);
    CHECK(LOCAL("add $m0, $m0, -5\n exitneg $m0"), 0);
#undef LOCAL
    CHECK(".supervisor\n setzi $m8, 0x60000\n setzi $m1, 1\n put $CR, $m1\n get $m2, $SSR\n"
          "and $m2, $m2, 1\n st32 $m2, $m8, $mzero, 0\n sync 7\n",
          0);
}

static void supervisor_registers(void **state) {
    (void)state;
    CHECK(".supervisor\n setzi $m8, 0x60000\n setzi $m1, 0x5A\n"
          "put $FP_ICTL, $m1\n get $m2, $FP_ICTL\n st32 $m2, $m8, $mzero, 0\n"
          "put $FP_INFMT, $m1\n get $m2, $FP_INFMT\n st32 $m2, $m8, $mzero, 1\n"
          "put $FP_ISCL, $m1\n get $m2, $FP_ISCL\n st32 $m2, $m8, $mzero, 2\n"
          "put $WORKER5_BASE, $m1\n get $m2, $WORKER5_BASE\n st32 $m2, $m8, $mzero, 3\n"
          "put $CCCSLOAD, $m8\n ld64putcs 3\n get $m2, $CCCSLOAD\n st32 $m2, $m8, $mzero, 4\n"
          "get $m2, $TILE_ID\n st32 $m2, $m8, $mzero, 5\n get $m2, $SCOUNT_U\n"
          "st32 $m2, $m8, $mzero, 6\n here: get $m2, $PC\n setzi $m3, here\n sub $m2, $m2, $m3\n"
          "st32 $m2, $m8, $mzero, 7\n get $m2, $CTXT_STS\n st32 $m2, $m8, $mzero, 8\n"
          "put $INCOMING_MUX, $m1\n get $m2, $INCOMING_MUX\n st32 $m2, $m8, $mzero, 9\n sync 7\n",
          0x5A, 0x5A, 0x5A, 0x5A, 0x60008, chip_tile_physical(0), 0, 0, 1, 0x5A);
}

/* Instructions are data: a program that patches itself executes what it wrote, in its own page or
 * in one that other tiles share, even a word ahead of the next instruction. */
static void patched_code(void **state) {
    (void)state;
    const char *text =
        ".supervisor\n setzi $m8, 0x60000\n setzi $m6, patch\n setzi $m5, word\n"
        "ld32 $m4, $m5, $mzero, 0\n ld32 $m3, $m8, $mzero, 1024\n"
        "1: call $m10, patch\n st32step $m1, $mzero, $m8+=, 1\n brnz $m3, 2f\n"
        "st32 $m4, $m6, $mzero, 0\n call $m10, patch\n st32 $m1, $m8, $mzero, 0\n"
        /* the next instruction itself */
        "setzi $m6, next\n st32 $m4, $m6, $mzero, 0\n next: nop\n st32 $m1, $m8, $mzero, 1\n"
        "2: sync 7\n patch: setzi $m1, 5\n br $m10\n word: setzi $m1, 9\n";
    AsmImage image = rig_assemble(text);
    Machine *machine = rig_machine(&image, 3, NULL, NULL);
    rig_set_word(machine, 1, 0x61000, 1);
    rig_run(machine);
    for (uint32_t tile = 0; tile < 3; tile++) {
        bool patching = tile != 1;
        assert_int_equal(rig_word(machine, tile, 0x60000), 5);
        assert_int_equal(rig_word(machine, tile, 0x60004), patching ? 9 : 0);
        assert_int_equal(rig_word(machine, tile, 0x60008), patching ? 9 : 0);
    }
    /* The host may patch as well. */
    uint32_t patch = rig_symbol(&image, "patch"), word;
    memcpy(&word, image.bytes + (rig_symbol(&image, "word") - image.base), 4);
    machine_start(machine, image.base);
    for (uint32_t tile = 0; tile < 3; tile++)
        rig_set_word(machine, tile, patch, word);
    rig_run(machine);
    for (uint32_t tile = 0; tile < 3; tile++)
        assert_int_equal(rig_word(machine, tile, 0x60000), 9);
    machine_free(machine);
    asm_image_free(&image);
}

/* A worker changes the body of the repeat that another one is in. */
static void patched_repeat(void **state) {
    (void)state;
    const char *text =
        ".supervisor\n setzi $m0, worker\n setzi $m1, 0x60000\n runall $m0, $m1, 1\n sync 2\n"
        "sync 7\n .worker\n worker: get $m0, $WSR\n and $m0, $m0, 7\n setzi $m1, 0\n"
        "brz $m0, patcher\n .align 8\n nop\n rpt 20, 0\n"
        "body: {add $m1, $m1, 1; fnop}\n st32 $m1, $mvertex_base, $mzero, 0\n exitz $mzero\n"
        "patcher: .rept 5\n nop\n .endr\n setzi $m2, body\n setzi $m3, new\n"
        "ld32 $m4, $m3, $mzero, 0\n st32 $m4, $m2, $mzero, 0\n exitz $mzero\n"
        ".align 8\n new: {add $m1, $m1, 100; fnop}\n";
    Machine *machine = rig_load(text, 1);
    rig_run(machine);
    /* All see the change in the same rotation: rounds of both kinds, at most one apart. */
    uint32_t least = UINT32_MAX, most = 0;
    for (unsigned w = 1; w < 6; w++) {
        uint32_t sum = rig_word(machine, 0, 0x60000 + 4 * w);
        assert_int_equal((sum - 20) % 99, 0);
        least = MIN_OF(least, sum);
        most = MAX_OF(most, sum);
    }
    assert_in_range(least, 20 + 99, 1999 - 99);
    assert_in_range(most - least, 0, 99);
    machine_free(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches),
        cmocka_unit_test(bundles),
        cmocka_unit_test(repeats),
        cmocka_unit_test(straddling_bundle),
        cmocka_unit_test(launches),
        cmocka_unit_test(consensus),
        cmocka_unit_test(supervisor_registers),
        cmocka_unit_test(patched_code),
        cmocka_unit_test(patched_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
