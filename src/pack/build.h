/* Fills a package from what the compiler made. */
#pragma once

#include "emit/emit.h"
#include "pack/pack.h"

/* Adds tiles' segments, programs, entries, schedule, buffers, symbols, bindings, calls, origins and
 * exchange phases. `exchanges` as given to emit_images. What remains for the caller: notes,
 * package_set_parameter, package_finish. */
Status package_build(Package *package, const Graph *graph, const TileGraph *tiles,
                     const EmitLibrary *library, const EmitImages *images, const PlaceMap *places,
                     const EmitExchange *exchanges, Diag *diag);
