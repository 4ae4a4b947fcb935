/* Placement of a tile graph: equal tiles once, the first failure told, text that can be replayed.
 */
#include "place/tiles.h"

#include "testing.h"

#include <stdlib.h>
#include <string.h>

enum { TILES = 4 };

/* Tiles 0, 1 and 3 are alike; `bytes` is the size of tile 2's second buffer. */
static void tiles_create(TileGraph *graph, uint32_t bytes) {
    *graph = (TileGraph){.tiles = TILES, .end_event = 2};
    graph->tile_buffer = mem_alloc(TILES + 1, sizeof(uint32_t));
    graph->tile_pair = mem_alloc(TILES + 1, sizeof(uint32_t));
    for (uint32_t tile = 0; tile < TILES; tile++) {
        LowerBuffer left = {.tile = tile,
                            .value = 0,
                            .shard = tile,
                            .bytes = 0x1000,
                            .tail = 8,
                            .alignment = 32,
                            .role = BUFFER_INPUT,
                            .last_event = 2};
        LowerBuffer out = {.tile = tile,
                           .value = 1,
                           .bytes = tile == 2 ? bytes : 0x800,
                           .alignment = 32,
                           .memory_class = MEMORY_INTERLEAVED,
                           .role = BUFFER_OUTPUT,
                           .first_event = 1,
                           .last_event = 2};
        assert_true(vec_push(&graph->buffers, left) && vec_push(&graph->buffers, out));
        assert_true(vec_push(&graph->pairs, (LowerPair){.a = 2 * tile, .b = 2 * tile + 1}));
        graph->tile_buffer[tile + 1] = 2 * (tile + 1);
        graph->tile_pair[tile + 1] = tile + 1;
    }
    LowerBinding binding = {.name = "the x", .kind = BINDING_INPUT, .value = 0};
    assert_true(vec_push(&graph->bindings, binding));
}

static void tiles_free(TileGraph *graph) {
    mem_free(graph->tile_buffer);
    mem_free(graph->tile_pair);
    vec_free(&graph->buffers);
    vec_free(&graph->pairs);
    vec_free(&graph->bindings);
}

static PlaceSpace spaces[TILES];

static void fill_spaces(void) {
    for (uint32_t tile = 0; tile < TILES; tile++)
        spaces[tile] = (PlaceSpace){.ranges = {{0x70000, 0x80000}, {0x80000, 0x98000}},
                                    .count = 2,
                                    .code = {0x4E000, 0x50000}};
}

static void test_placed(void **state) {
    (void)state;
    TileGraph graph;
    PlaceMap map;
    tiles_create(&graph, 0x900);
    fill_spaces();
    assert_int_equal(place_tiles(&graph, spaces, NULL, &map, NULL), STATUS_OK);
    assert_int_equal(map.distinct, 2);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        assert_int_equal(map.address[2 * tile], 0x70000);
        assert_int_equal(map.address[2 * tile + 1], 0x80000);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(place_print_tile(&graph, &spaces[2], &map, 2, out, NULL), STATUS_OK);
    fclose(out);
    assert_non_null(strstr(text, "buffer input:the_x[2] bytes=4096 tail=8 align=32"));
    assert_non_null(strstr(text, "buffer output:1[0] bytes=2304"));
    assert_non_null(strstr(text, "at output:1[0] 0x80000"));
    PlaceFile file;
    PlaceResult result;
    assert_int_equal(place_read(text, "dump", &file, NULL), STATUS_OK);
    assert_int_equal(place_solve(&file.problem, &result, NULL), STATUS_OK);
    assert_int_equal(result.address[0], 0x70000);
    assert_int_equal(result.address[1], 0x80000);
    place_result_free(&result);
    place_file_free(&file);
    free(text);
    place_map_free(&map);
    tiles_free(&graph);
}

/* The row of an exchange stands below the host window. */
static void test_rows(void **state) {
    (void)state;
    TileGraph graph;
    PlaceMap map;
    tiles_create(&graph, 0x900);
    fill_spaces();
    LowerBuffer row = {.tile = 3,
                       .value = LOWER_NONE,
                       .shard = 2,
                       .bytes = 40,
                       .tail = 64,
                       .alignment = 8,
                       .role = BUFFER_ROWS,
                       .last_event = 2};
    assert_true(vec_push(&graph.buffers, row));
    graph.tile_buffer[TILES]++;
    assert_int_equal(place_tiles(&graph, spaces, NULL, &map, NULL), STATUS_OK);
    assert_int_equal(map.distinct, 3);
    assert_int_equal(map.address[2 * TILES], 0x4E000);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(place_print_tile(&graph, &spaces[3], &map, 3, out, NULL), STATUS_OK);
    fclose(out);
    assert_non_null(strstr(text, "buffer rows:2 bytes=40 tail=64 align=8"));
    free(text);
    place_map_free(&map);
    tiles_free(&graph);
}

static void test_failed(void **state) {
    (void)state;
    TileGraph graph;
    PlaceMap map;
    Diag diag = {0};
    tiles_create(&graph, 0x20000);
    fill_spaces();
    assert_int_equal(place_tiles(&graph, spaces, NULL, &map, &diag), ERR_PLACE_INFEASIBLE);
    assert_int_equal(diag.count, 1);
    assert_int_equal(diag.entries[0].place.tile, 2);
    assert_non_null(strstr(diag.entries[0].text, "interleaved"));
    assert_non_null(strstr(diag.entries[0].notes, "output:1[0], 131072 bytes"));
    assert_null(map.address);
    assert_int_equal(map.failed_tile, 2);
    assert_int_equal(map.failure.shortage, PLACE_SHORT_INTERLEAVED);
    assert_int_equal(map.failure.over, 0x20000 - 0x18000);
    FILE *out = tmpfile();
    assert_int_equal(place_print_tile(&graph, &spaces[2], &map, 2, out, NULL), STATUS_OK);
    fclose(out);
    diag_free(&diag);
    place_map_free(&map);
    tiles_free(&graph);
}

static void test_memory(void **state) {
    (void)state;
    TileGraph graph;
    tiles_create(&graph, 0x900);
    fill_spaces();
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status; n++) {
        PlaceMap map;
        Diag diag = {0};
        FILE *out = tmpfile();
        mem_fail_after(n);
        status = place_tiles(&graph, spaces, NULL, &map, &diag);
        if (!status)
            status = place_print_tile(&graph, &spaces[0], &map, 0, out, &diag);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        fclose(out);
        place_map_free(&map);
        diag_free(&diag);
    }
    tiles_free(&graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placed),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_failed),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
