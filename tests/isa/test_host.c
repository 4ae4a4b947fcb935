/* Packets of the host exchange: the published words, and back. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "chip/chip.h"
#include "isa/host.h"

#include <string.h>

static const struct {
    IsaHostPacket packet;
    uint32_t words[2];
} known[] = {
    {{.tile = 0, .host_offset = 0x40, .bytes = 64}, {0xA0000000, 0x00000011}},
    {{.tile = 1409, .host_offset = 0x40, .bytes = 64}, {0xA2C08000, 0x80000011}},
    {{.read = true, .last = true, .tile = 0, .host_offset = 0x40, .bytes = 64, .address = 0x50120},
     {0xEC000209, 0x00000011}},
    {{.read = true,
      .last = true,
      .tile = 260,
      .host_offset = 0x40,
      .bytes = 64,
      .address = 0x50120},
     {0xEC820209, 0x00000011}},
    {{.read = true, .last = true, .tile = 2, .address = 0x50180}, {0xCC01020C, 0x00000000}},
};

static bool same(const IsaHostPacket *a, const IsaHostPacket *b) {
    return a->read == b->read && a->last == b->last && a->tile == b->tile &&
           a->host_offset == b->host_offset && a->bytes == b->bytes && a->address == b->address;
}

static void test_published_words(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        uint32_t words[2];
        IsaHostPacket back;
        assert_true(isa_host_encode(&known[i].packet, words));
        assert_memory_equal(words, known[i].words, sizeof words);
        assert_true(isa_host_decode(words, &back));
        assert_true(same(&back, &known[i].packet));
    }
}

static void test_tiles(void **state) {
    (void)state;
    assert_int_equal(isa_host_mux(116), 0x634);
    assert_int_equal(isa_host_mux(582), 0x604);
    assert_int_equal(isa_host_mux(1173), 0x615);
    assert_int_equal(isa_host_controller(260), 4);
    assert_int_equal(isa_host_controller(31), 29);
    static const uint32_t bitmaps[][3] = {
        {31, 2, 0}, {81, 4, 0}, {260, 0x100, 0}, {768, 0, 1}, {1471, 0, 0x200000}};
    for (size_t i = 0; i < COUNT_OF(bitmaps); i++) {
        uint32_t words[2];
        isa_host_bitmap(bitmaps[i][0], words);
        assert_memory_equal(words, bitmaps[i] + 1, sizeof words);
    }
    /* 32 controllers, each for the tiles that its bitmap tells apart. */
    for (uint32_t tile = 0; tile < CHIP_TILES; tile++) {
        uint32_t words[2], other[2], partner = tile + 64 < CHIP_TILES ? tile + 64 : tile ^ 2;
        assert_int_equal(isa_host_mux(tile), CHIP_MUX_HOST + isa_host_controller(tile));
        assert_int_equal(isa_host_controller(tile), isa_host_controller(partner));
        isa_host_bitmap(tile, words);
        isa_host_bitmap(partner, other);
        assert_true((words[0] | words[1]) != 0 && memcmp(words, other, sizeof words) != 0);
    }
}

/* Any range of words is cut into packets that exist, and these cover it. */
static void test_pieces(void **state) {
    (void)state;
    assert_int_equal(isa_host_first(4, 100, true), 32);
    assert_int_equal(isa_host_first(36, 68, true), 32);
    assert_int_equal(isa_host_first(68, 36, true), 36);
    uint64_t seed = 104;
    Random random = random_seed(seed);
    for (int round = 0; round < 3000; round++) {
        uint32_t offset = 4 * (uint32_t)random_below(&random, 3000);
        uint32_t left = 4 * (1 + (uint32_t)random_below(&random, 2000));
        bool read = random_below(&random, 2);
        while (left > 0) {
            uint32_t bytes = isa_host_first(offset, left, read), words[2];
            IsaHostPacket packet = {.read = read,
                                    .tile = (uint32_t)random_below(&random, CHIP_TILES),
                                    .host_offset = offset,
                                    .bytes = bytes,
                                    .address = read ? 0x50180 : 0},
                          back;
            assert_true(bytes > 0 && bytes <= left);
            assert_true(isa_host_encode(&packet, words));
            assert_true(isa_host_decode(words, &back) && same(&back, &packet));
            offset += bytes;
            left -= bytes;
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const IsaHostPacket bad[] = {
        {.tile = 1472, .bytes = 64},                                  /* no such tile */
        {.tile = 1, .bytes = 6},                                      /* no whole word */
        {.tile = 1, .bytes = 100},                                    /* no whole unit */
        {.tile = 1, .bytes = 128, .host_offset = 32},                 /* long and not aligned */
        {.tile = 1, .bytes = 320},                                    /* too long a write */
        {.tile = 1, .bytes = 8, .host_offset = 4092},                 /* across a page */
        {.tile = 1},                                                  /* an empty write */
        {.tile = 1, .read = true, .bytes = 64, .address = 0x50130},   /* not in units */
        {.tile = 1, .read = true, .bytes = 64, .address = 0x54000},   /* outside the window */
        {.tile = 1, .read = true, .bytes = 2048, .address = 0x50000}, /* too long a read */
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        uint32_t words[2];
        assert_false(isa_host_encode(&bad[i], words));
    }
    static const uint32_t words[][2] = {
        {0x20000000, 0x11}, {0xA0000001, 0x11}, {0xA0008000, 0x11}, {0xA4000000, 0x11}};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        IsaHostPacket packet;
        assert_false(isa_host_decode(words[i], &packet));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_words),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
