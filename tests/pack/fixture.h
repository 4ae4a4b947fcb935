/* The package of a compiled GEMM, without parameters' values. */
#pragma once

#include "emit/fixture.h"
#include "pack/build.h"

/* Not finished yet: notes and parameters may be added. */
static inline Package *fixture_package(const Fixture *f) {
    Diag diag = {0};
    Package *package = package_create("test 1", f->tiles.tiles);
    assert_non_null(package);
    fixture_expect(package_build(package, f->graph, &f->tiles, &f->library, &f->images, &f->places,
                                 NULL, &diag),
                   &diag);
    diag_free(&diag);
    return package;
}

static inline void fixture_finish(Package *package) {
    Diag diag = {0};
    fixture_expect(package_finish(package, &diag), &diag);
    diag_free(&diag);
}
