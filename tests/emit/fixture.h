/* A compiled GEMM for tests: graph → plan → lower → link → place → images, best candidate first. */
#pragma once

#include "emit/emit.h"
#include "plan/search.h"

#include "testing.h"

typedef struct Fixture {
    Graph *graph;
    PlanSearch search;
    Plan plan;
    TileGraph tiles;
    EmitLibrary library;
    PlaceSpace *spaces;
    PlaceMap places;
    EmitImages images;
} Fixture;

static inline void fixture_expect(Status status, Diag *diag) {
    if (status) {
        diag_print(diag, stderr);
        fail();
    }
}

/* Lowers and places one candidate; false if it has no placement. */
static inline bool fixture_try(Fixture *f, const PlanCandidate *candidate, Diag *diag) {
    fixture_expect(plan_build(&f->search, candidate, &f->plan, diag), diag);
    fixture_expect(lower_plan(f->graph, &f->plan, &f->tiles, diag), diag);
    fixture_expect(emit_link(&f->tiles, &f->library, diag), diag);
    f->spaces = mem_alloc(f->tiles.tiles, sizeof *f->spaces);
    for (uint32_t tile = 0; tile < f->tiles.tiles; tile++)
        f->spaces[tile] = emit_space(&f->library, &f->tiles, tile);
    Status status = place_tiles(&f->tiles, f->spaces, NULL, &f->places, NULL);
    return status == STATUS_OK;
}

static inline void fixture_drop(Fixture *f) {
    place_map_free(&f->places);
    mem_free(f->spaces);
    emit_library_free(&f->library);
    tile_graph_free(&f->tiles);
    plan_free(&f->plan);
}

/* `operand`: text of the operands' precision, "f16" or "f8f143(s=-4)". */
static inline void fixture_create(Fixture *f, uint32_t rows, uint32_t inner, uint32_t columns,
                                  const char *operand, uint32_t tiles) {
    *f = (Fixture){0};
    Diag diag = {0};
    Precision precision;
    assert_non_null(precision_parse(operand, &precision));
    fixture_expect(graph_build_gemm(&f->graph, rows, inner, columns, precision, &diag), &diag);
    PlanOptions options = {.tiles = tiles, .no_exchange = true};
    fixture_expect(plan_search(f->graph, &options, &f->search, &diag), &diag);
    size_t candidate = 0;
    while (candidate < f->search.count &&
           !fixture_try(f, &f->search.candidates[candidate], &diag)) {
        fixture_drop(f);
        candidate++;
    }
    assert_true(candidate < f->search.count);
    fixture_expect(emit_images(&f->library, &f->tiles, &f->places, NULL, &f->images, &diag), &diag);
    diag_free(&diag);
}

static inline void fixture_free(Fixture *f) {
    emit_images_free(&f->images);
    fixture_drop(f);
    plan_search_free(&f->search);
    graph_free(f->graph);
}
