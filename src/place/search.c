/* Bounded branch search with propagation, for many requests.
 *
 * Each request has a domain: intervals of aligned starts. A decision removes from the domains of
 * all linked requests the starts that it forbids; an empty domain sends the search back. The order
 * of choices and the budgets are those that served the public ipu-stack allocator. */
#include "place/internal.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH_NODES   4096
#define SEARCH_UPDATES 2000000

/* Aligned starts low, low + align, …, high. */
typedef struct Interval {
    uint32_t low, high;
} Interval;

typedef struct Domain {
    VEC(Interval) intervals;
} Domain;

typedef struct Search {
    Solver *solver;
    uint64_t nodes, updates; /* left */
    bool memory, gave_up;
    uint32_t end; /* last event of any request */
} Search;

static bool fully_open(const Solver *solver, const Request *request, uint32_t range,
                       Domain *domain) {
    PlaceRange r = solver->ranges[range];
    int region = place_region(r.begin);
    if (!place_range_allowed(solver, request, range) || r.end - r.begin < request->bytes[region])
        return true;
    uint32_t last = r.end - request->bytes[region];
    last -= last % request->align;
    uint32_t low = (uint32_t)align_up(r.begin, request->align);
    while (low <= last) {
        uint32_t high = last;
        if (request->window[region] != UINT32_MAX) {
            uint32_t begin = place_element_begin(low);
            uint32_t top = begin + request->window[region];
            high = MIN_OF(last, top - top % request->align);
            if (low > high) {
                low = (uint32_t)align_up(place_element_end(low), request->align);
                continue;
            }
        }
        if (!vec_push(&domain->intervals, (Interval){low, high}))
            return false;
        low = (uint32_t)align_up((uint64_t)place_element_end(high), request->align);
        if (request->window[region] == UINT32_MAX)
            break;
    }
    return true;
}

/* Removes the starts s with above < s < below (as signed distances, `above` may be negative). */
static bool domain_cut(Domain *domain, int64_t above, int64_t below, uint32_t align) {
    size_t count = domain->intervals.count;
    if (!vec_reserve(&domain->intervals, 1))
        return false;
    Interval *items = domain->intervals.items;
    for (size_t i = 0; i < count; i++) {
        Interval cut = items[i];
        if (cut.low >= below || cut.high <= above)
            continue;
        int64_t left = above - (above % align + align) % align; /* highest start that stays below */
        int64_t right = (int64_t)align_up((uint64_t)below, align);
        bool keep_left = left >= cut.low, keep_right = right <= cut.high;
        if (keep_left && keep_right) { /* at most one interval holds both ends */
            memmove(&items[i + 2], &items[i + 1], (count - i - 1) * sizeof *items);
            items[i] = (Interval){cut.low, (uint32_t)left};
            items[i + 1] = (Interval){(uint32_t)right, cut.high};
            domain->intervals.count = count + 1;
            return true;
        }
        if (keep_left) {
            items[i].high = (uint32_t)left;
        } else if (keep_right) {
            items[i].low = (uint32_t)right;
        } else {
            memmove(&items[i], &items[i + 1], (count - i - 1) * sizeof *items);
            count--;
            i--;
        }
    }
    domain->intervals.count = count;
    return true;
}

/* Bytes of a request differ by region only for sequences kept apart; a cut then applies to the
 * region in which the decision lies, since neither lives across the border. */
static bool propagate(Search *search, Domain *domains, uint32_t decided) {
    Solver *solver = search->solver;
    const Request *request = &solver->requests[decided];
    uint32_t start = solver->start[decided];
    int region = place_region(start);
    uint32_t end = start + request->bytes[region];
    for (uint32_t i = 0; i < request->links; i++) {
        const Link *link = &solver->links[request->link + i];
        if (solver->start[link->other] != PLACE_FREE)
            continue;
        const Request *other = &solver->requests[link->other];
        if (other->bytes[region] == UINT32_MAX)
            continue;
        int64_t first = link->conflict ? place_element_begin(start) : start;
        int64_t last = link->conflict ? place_element_end(end - 1) : end;
        search->updates -= MIN_OF(search->updates, domains[link->other].intervals.count + 1);
        if (!domain_cut(&domains[link->other], first - other->bytes[region], last, other->align)) {
            search->memory = false;
            return false;
        }
        if (domains[link->other].intervals.count == 0)
            return false;
    }
    return true;
}

/* Starts of a domain, weighed by the size that each takes. */
static uint64_t freedom(const Domain *domain, const Request *request) {
    uint64_t starts = 0;
    for (size_t i = 0; i < domain->intervals.count; i++)
        starts +=
            (domain->intervals.items[i].high - domain->intervals.items[i].low) / request->align + 1;
    return starts * request->align / MAX_OF(request->live, 1u);
}

static bool chosen_before(const Search *search, const Domain *domains, uint32_t a, uint32_t b) {
    const Request *x = &search->solver->requests[a], *y = &search->solver->requests[b];
    bool x_whole = x->first == 0 && x->last == search->end;
    bool y_whole = y->first == 0 && y->last == search->end;
    if (x_whole != y_whole)
        return x_whole;
    uint64_t x_free = freedom(&domains[a], x), y_free = freedom(&domains[b], y);
    if (x_free != y_free)
        return x_free < y_free;
    if (x->conflicts != y->conflicts)
        return x->conflicts > y->conflicts;
    return x->live > y->live;
}

static bool add_start(const Domain *domain, uint32_t align, int64_t at, bool down, Domain *starts) {
    if (at < 0)
        return true;
    uint64_t start = down ? (uint64_t)at - (uint64_t)at % align : align_up((uint64_t)at, align);
    for (size_t i = 0; i < domain->intervals.count; i++)
        if (start >= domain->intervals.items[i].low && start <= domain->intervals.items[i].high)
            return vec_push(&starts->intervals, (Interval){(uint32_t)start, (uint32_t)start});
    return true;
}

/* The starts that are tried: ends of intervals, lowest first, then starts and ends at element
 * boundaries. */
static bool list_starts(const Search *search, uint32_t i, const Domain *domain, Domain *starts) {
    const Request *request = &search->solver->requests[i];
    bool memory = true;
    for (size_t k = 0; k < domain->intervals.count; k++)
        memory = memory &&
                 add_start(domain, request->align, domain->intervals.items[k].low, false, starts);
    for (size_t k = 0; k < domain->intervals.count; k++)
        memory = memory &&
                 add_start(domain, request->align, domain->intervals.items[k].high, true, starts);
    for (size_t k = 0; k < domain->intervals.count && memory; k++) {
        Interval interval = domain->intervals.items[k];
        uint32_t bytes = request->bytes[place_region(interval.low)];
        for (uint32_t at = place_element_end(interval.low); at < interval.high + bytes;
             at = place_element_end(at))
            memory = memory && add_start(domain, request->align, at, false, starts) &&
                     add_start(domain, request->align, (int64_t)at - bytes, true, starts);
    }
    return memory;
}

static void domains_free(Domain *domains, uint32_t count) {
    for (uint32_t i = 0; domains && i < count; i++)
        vec_free(&domains[i].intervals);
    mem_free(domains);
}

static Domain *domains_copy(const Domain *domains, uint32_t count) {
    Domain *copy = mem_alloc(count, sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++) {
        size_t n = domains[i].intervals.count;
        if (!vec_reserve(&copy[i].intervals, n + 1)) {
            domains_free(copy, count);
            return NULL;
        }
        if (n)
            memcpy(copy[i].intervals.items, domains[i].intervals.items, n * sizeof(Interval));
        copy[i].intervals.count = n;
    }
    return copy;
}

static bool branch(Search *search, const Domain *domains, uint32_t placed);

static bool try_start(Search *search, const Domain *domains, uint32_t i, uint32_t start,
                      uint32_t placed) {
    Solver *solver = search->solver;
    Domain *next = domains_copy(domains, solver->count);
    if (!next) {
        search->memory = false;
        return false;
    }
    solver->start[i] = start;
    bool found = propagate(search, next, i) && branch(search, next, placed + 1);
    domains_free(next, solver->count);
    if (!found)
        solver->start[i] = PLACE_FREE;
    return found;
}

static bool branch(Search *search, const Domain *domains, uint32_t placed) {
    Solver *solver = search->solver;
    if (placed == solver->count)
        return true;
    if (search->nodes == 0 || search->updates == 0) {
        search->gave_up = true;
        return false;
    }
    search->nodes--;
    solver->nodes++;
    uint32_t chosen = UINT32_MAX;
    for (uint32_t i = 0; i < solver->count; i++)
        if (solver->start[i] == PLACE_FREE &&
            (chosen == UINT32_MAX || chosen_before(search, domains, i, chosen)))
            chosen = i;
    Domain starts = {0};
    bool found = false;
    search->memory = search->memory && list_starts(search, chosen, &domains[chosen], &starts);
    for (size_t k = 0; k < starts.intervals.count && !found && search->memory && !search->gave_up;
         k++)
        found = try_start(search, domains, chosen, starts.intervals.items[k].low, placed);
    vec_free(&starts.intervals);
    return found;
}

PlaceVerdict place_search(Solver *solver, bool *memory) {
    Search search = {
        .solver = solver, .nodes = SEARCH_NODES, .updates = SEARCH_UPDATES, .memory = true};
    Domain *domains = mem_alloc(solver->count, sizeof *domains);
    bool empty = false;
    search.memory = domains != NULL;
    for (uint32_t i = 0; i < solver->count && search.memory; i++) {
        solver->start[i] = PLACE_FREE;
        search.end = MAX_OF(search.end, solver->requests[i].last);
        for (uint32_t r = 0; r < solver->range_count && search.memory; r++)
            search.memory = fully_open(solver, &solver->requests[i], r, &domains[i]);
        empty = empty || domains[i].intervals.count == 0;
    }
    bool found = search.memory && !empty && branch(&search, domains, 0);
    domains_free(domains, solver->count);
    *memory = search.memory;
    return found ? PLACE_PLACED : empty ? PLACE_INFEASIBLE : PLACE_NOT_FOUND;
}
