/* First fit in several orders, and the lower bounds that need no placement. */
#include "place/internal.h"

#include <stdlib.h>

/* If `request` at `at` breaks the rule with a request that has a start: the lowest address that is
 * clear of it, else 0. */
static uint32_t blocked_until(const Solver *solver, const Request *request, uint32_t at,
                              const Link *link) {
    uint32_t other = solver->start[link->other];
    if (other == PLACE_FREE)
        return 0;
    uint32_t end = at + request->bytes[place_region(at)];
    uint32_t other_end = other + solver->requests[link->other].bytes[place_region(other)];
    if (!link->conflict)
        return at < other_end && other < end ? other_end : 0;
    bool shared = chip_effective_element(at) <= chip_effective_element(other_end - 1) &&
                  chip_effective_element(other) <= chip_effective_element(end - 1);
    return shared ? place_element_end(other_end - 1) : 0;
}

uint32_t place_lowest_in(const Solver *solver, uint32_t index, uint32_t range_index,
                         uint32_t from) {
    const Request *request = &solver->requests[index];
    PlaceRange range = solver->ranges[range_index];
    if (!place_range_allowed(solver, request, range_index))
        return PLACE_FREE;
    int region = place_region(range.begin);
    uint32_t bytes = request->bytes[region];
    uint32_t at = MAX_OF(range.begin, from);
    for (;;) {
        at = (uint32_t)align_up(at, request->align);
        if (at > range.end || range.end - at < bytes)
            return PLACE_FREE;
        uint32_t next =
            at - place_element_begin(at) > request->window[region] ? place_element_end(at) : 0;
        for (uint32_t i = 0; i < request->links && !next; i++)
            next = blocked_until(solver, request, at, &solver->links[request->link + i]);
        if (!next)
            return at;
        at = next;
    }
}

static uint32_t place_lowest(const Solver *solver, uint32_t request) {
    for (uint32_t r = 0; r < solver->range_count; r++) {
        uint32_t at = place_lowest_in(solver, request, r, 0);
        if (at != PLACE_FREE)
            return at;
    }
    return PLACE_FREE;
}

static uint64_t live_at(const Solver *solver, bool interleaved_only, uint32_t event) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < solver->count; i++) {
        const Request *request = &solver->requests[i];
        if (request->first <= event && event <= request->last &&
            (request->interleaved || !interleaved_only))
            sum += request->live;
    }
    return sum;
}

/* The maximum is reached where some lifetime begins. */
uint64_t place_worst(const Solver *solver, bool interleaved_only, uint32_t *event) {
    uint64_t worst = 0;
    *event = 0;
    for (uint32_t i = 0; i < solver->count; i++) {
        uint64_t live = live_at(solver, interleaved_only, solver->requests[i].first);
        if (live > worst || (live == worst && live && solver->requests[i].first < *event)) {
            worst = live;
            *event = solver->requests[i].first;
        }
    }
    return worst;
}

/* 0 for a range that does not exist. */
static uint64_t range_bytes(const Solver *solver, uint32_t range) {
    return range == UINT32_MAX ? 0 : solver->ranges[range].end - solver->ranges[range].begin;
}

uint64_t place_capacity(const Solver *solver, bool interleaved_only, uint32_t event) {
    uint64_t sum = 0, window = 0, code = 0;
    for (uint32_t r = 0; r < solver->range_count; r++)
        if (r != solver->window && r != solver->code &&
            (!interleaved_only || place_region(solver->ranges[r].begin)))
            sum += range_bytes(solver, r);
    if (interleaved_only)
        return sum;
    for (uint32_t i = 0; i < solver->count; i++) {
        const Request *request = &solver->requests[i];
        if (request->first > event || event > request->last)
            continue;
        window += request->host_window ? request->live : 0;
        code += request->code ? request->live : 0;
    }
    return sum + MIN_OF(window, range_bytes(solver, solver->window)) +
           MIN_OF(code, range_bytes(solver, solver->code));
}

static int order_compare(const void *a, const void *b) {
    const OrderKey *x = a, *y = b;
    for (size_t i = 0; i < COUNT_OF(x->key); i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return x->request < y->request ? -1 : x->request > y->request;
}

typedef enum OrderRule { ORDER_LIFETIME, ORDER_ALIGNED, ORDER_SIZE, ORDER_END_FIRST } OrderRule;

static OrderKey order_key(const Solver *solver, OrderRule rule, uint32_t i, uint32_t end) {
    const Request *request = &solver->requests[i];
    uint64_t small_align = UINT32_MAX - request->align, small = UINT64_MAX - request->live;
    uint64_t brief = UINT32_MAX - (request->last - request->first);
    switch (rule) {
    case ORDER_LIFETIME:
        return (OrderKey){
            {request->first, !request->interleaved, small_align, small, request->last}, i};
    case ORDER_ALIGNED: return (OrderKey){{small_align, small, brief, request->first, 0}, i};
    case ORDER_SIZE: return (OrderKey){{!request->interleaved, small, brief, request->first, 0}, i};
    case ORDER_END_FIRST: break;
    }
    return (OrderKey){{!(request->first == 0 && request->last == end), request->last != end,
                       !request->interleaved, small, request->first},
                      i};
}

static bool place_in_order(Solver *solver, OrderRule rule, OrderKey *keys) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < solver->count; i++)
        end = MAX_OF(end, solver->requests[i].last);
    for (uint32_t i = 0; i < solver->count; i++) {
        keys[i] = order_key(solver, rule, i, end);
        solver->start[i] = PLACE_FREE;
    }
    qsort(keys, solver->count, sizeof *keys, order_compare);
    for (uint32_t i = 0; i < solver->count; i++) {
        uint32_t request = keys[i].request;
        solver->start[request] = place_lowest(solver, request);
        if (solver->start[request] == PLACE_FREE)
            return false;
    }
    return true;
}

const char *place_orders(Solver *solver) {
    static const char *const names[] = {"lifetime", "aligned", "size", "end-first"};
    OrderKey *keys = solver->order_keys;
    for (OrderRule rule = ORDER_LIFETIME; rule <= ORDER_END_FIRST; rule++)
        if (place_in_order(solver, rule, keys))
            return names[rule];
    return NULL;
}
