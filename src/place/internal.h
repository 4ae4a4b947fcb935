/* Shared by the files of this module: requests (buffers resolved into roots) and first fit. */
#pragma once

#include "base/mem.h"
#include "chip/chip.h"
#include "place/place.h"

/* First byte of, and behind, the effective element of an address. */
static inline uint32_t place_element_begin(uint32_t address) {
    return chip_effective_element_base(chip_effective_element(address));
}
static inline uint32_t place_element_end(uint32_t address) {
    return chip_effective_element_base(chip_effective_element(address) + 1);
}

/* A root with its aliases. Sizes differ by region only for sequences whose members are apart. */
typedef struct Request {
    uint32_t bytes[2];  /* whole span in region 0, 1; UINT32_MAX where it cannot lie */
    uint32_t stride[2]; /* of the root's members */
    uint32_t window[2]; /* start modulo the element must be at most this */
    uint32_t align;
    uint64_t live; /* bytes for lower bounds: the smaller span */
    uint32_t first, last;
    bool interleaved, code;
    bool host_window; /* may lie in the host window */
    uint32_t link;    /* first index in Solver.links */
    uint32_t links;   /* how many */
    uint32_t conflicts;
} Request;

/* Another request that this one must keep away from. */
typedef struct Link {
    uint32_t other;
    bool conflict; /* by elements, else by bytes */
} Link;

/* Sort keys of one request, compared in turn, smaller first. The index makes the order total. */
typedef struct OrderKey {
    uint64_t key[5];
    uint32_t request;
} OrderKey;

typedef struct Solver {
    const PlaceProblem *problem;
    bool soft;          /* soft pairs count */
    PlaceRange *ranges; /* cut at the border of the regions, window and code range among them */
    uint32_t range_count;
    uint32_t window; /* index of the window in ranges, or UINT32_MAX */
    uint32_t code;   /* the same of the code range */
    Request *requests;
    uint32_t count;
    uint32_t *request_of; /* buffer → request */
    Link *links;
    OrderKey *order_keys; /* scratch of place_orders */
    uint32_t *start;      /* of each request; PLACE_FREE if it has none */
    Arena arena;
    uint64_t nodes;
} Solver;

#define PLACE_FREE UINT32_MAX

/* Checks the problem and builds the solver, which is to be freed in any case. soft: soft pairs are
 * kept apart like the others, else they are left out. */
Status place_solver_create(const PlaceProblem *problem, bool soft, Solver *solver, Diag *diag);
void place_solver_free(Solver *solver);

static inline int place_region(uint32_t address) {
    return chip_interleaved(address);
}
static inline bool place_range_allowed(const Solver *solver, const Request *request,
                                       uint32_t range) {
    return (range != solver->window || request->host_window) &&
           (range != solver->code || request->code) &&
           request->bytes[place_region(solver->ranges[range].begin)] != UINT32_MAX;
}

/* Lowest legal start of request `index` in a range at or above `from`, against all requests that
 * have a start; PLACE_FREE if there is none. */
uint32_t place_lowest_in(const Solver *solver, uint32_t index, uint32_t range, uint32_t from);

/* Live bytes: the worst event over the requests of a class (both: all), and its sum. */
uint64_t place_worst(const Solver *solver, bool interleaved_only, uint32_t *event);
/* Bytes that requests alive at the event may use. */
uint64_t place_capacity(const Solver *solver, bool interleaved_only, uint32_t event);

/* The cheap orders; name of the first that succeeds, or NULL. Leaves the starts. */
const char *place_orders(Solver *solver);
/* All left-justified arrangements. PLACE_NOT_FOUND when `budget` nodes are used up;
 * PLACE_INFEASIBLE is a proof. */
PlaceVerdict place_corners(Solver *solver, uint64_t budget);
/* Branch and propagate over intervals of starts, bounded. PLACE_INFEASIBLE (a proof) only when
 * propagation alone leaves some request no start. *memory becomes false without memory. */
PlaceVerdict place_search(Solver *solver, bool *memory);
