/* All left-justified arrangements of a few requests.
 *
 * In any legal arrangement take the requests by ascending address and move each down to the lowest
 * legal start of its range that is not below the start before it. Moving down never brings a
 * request closer to one above it, so the arrangement stays legal, and it keeps its order. Hence
 * some order of the requests and some choice of ranges, ascending, each request put as low as it
 * goes, reaches a legal arrangement if there is one. */
#include "place/internal.h"

typedef struct Corners {
    Solver *solver;
    uint64_t budget; /* nodes left */
    bool gave_up;
} Corners;

static bool descend(Corners *corners, uint32_t placed, uint32_t range, uint32_t floor) {
    Solver *solver = corners->solver;
    if (placed == solver->count)
        return true;
    if (corners->budget == 0) {
        corners->gave_up = true;
        return false;
    }
    corners->budget--;
    solver->nodes++;
    for (uint32_t i = 0; i < solver->count; i++) {
        if (solver->start[i] != PLACE_FREE)
            continue;
        for (uint32_t r = range; r < solver->range_count && !corners->gave_up; r++) {
            uint32_t at = place_lowest_in(solver, i, r, r == range ? floor : 0);
            if (at == PLACE_FREE)
                continue;
            solver->start[i] = at;
            if (descend(corners, placed + 1, r, at))
                return true;
            solver->start[i] = PLACE_FREE;
        }
    }
    return false;
}

PlaceVerdict place_corners(Solver *solver, uint64_t budget) {
    Corners corners = {.solver = solver, .budget = budget};
    for (uint32_t i = 0; i < solver->count; i++)
        solver->start[i] = PLACE_FREE;
    if (descend(&corners, 0, 0, 0))
        return PLACE_PLACED;
    return corners.gave_up ? PLACE_NOT_FOUND : PLACE_INFEASIBLE;
}
