#include "place/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Requests up to which the exhaustive search has no budget, so that its failure is a proof. */
#define EXHAUSTIVE_REQUESTS 4
#define CORNER_NODES        20000
/* First and last growth of memory that is tried to tell how many bytes are missing. */
#define GROWTH_STEP 64u
#define GROWTH_MOST (1u << 28)

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "placement");
}

static Status keep_starts(const Solver *solver, PlaceResult *result, const char *method,
                          Diag *diag) {
    const PlaceProblem *problem = solver->problem;
    result->verdict = PLACE_PLACED;
    result->method = method;
    result->address = mem_alloc((size_t)problem->buffer_count + 1, sizeof *result->address);
    result->stride = mem_alloc((size_t)problem->buffer_count + 1, sizeof *result->stride);
    if (!result->address || !result->stride)
        return no_memory(diag);
    for (uint32_t i = 0; i < problem->buffer_count; i++) {
        const PlaceBuffer *buffer = &problem->buffers[i];
        uint32_t request = solver->request_of[i], start = solver->start[request];
        uint64_t one = (uint64_t)buffer->bytes + buffer->tail;
        bool alias = buffer->alias_of != PLACE_ROOT;
        result->address[i] = start + (alias ? buffer->alias_offset : 0);
        result->stride[i] = !alias ? solver->requests[request].stride[place_region(start)]
                            : buffer->members == 1
                                ? (uint32_t)one
                                : (uint32_t)align_up(one, MAX_OF(buffer->align, 4u));
    }
    return STATUS_OK;
}

/* ---- why not */

typedef struct Alive {
    uint64_t bytes;
    uint32_t buffer;
} Alive;

static int alive_compare(const void *a, const void *b) {
    const Alive *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

/* The roots alive at result->event, largest first. */
static Status list_alive(const Solver *solver, PlaceResult *result, bool interleaved_only,
                         Diag *diag) {
    const PlaceProblem *problem = solver->problem;
    Alive *alive = mem_alloc((size_t)problem->buffer_count + 1, sizeof *alive);
    result->alive = mem_alloc((size_t)problem->buffer_count + 1, sizeof *result->alive);
    if (!alive || !result->alive) {
        mem_free(alive);
        return no_memory(diag);
    }
    for (uint32_t i = 0; i < problem->buffer_count; i++) {
        const Request *request = &solver->requests[solver->request_of[i]];
        if (problem->buffers[i].alias_of == PLACE_ROOT && request->first <= result->event &&
            result->event <= request->last && (request->interleaved || !interleaved_only))
            alive[result->alive_count++] = (Alive){request->live, i};
    }
    qsort(alive, result->alive_count, sizeof *alive, alive_compare);
    for (uint32_t i = 0; i < result->alive_count; i++)
        result->alive[i] = alive[i].buffer;
    mem_free(alive);
    return STATUS_OK;
}

static void short_of(PlaceResult *result, PlaceShortage shortage, uint64_t needed,
                     uint64_t available) {
    result->verdict = PLACE_INFEASIBLE;
    result->shortage = shortage;
    result->needed = needed;
    result->available = available;
    result->over = needed > available ? needed - available : 0;
}

/* The largest range a request may use. */
static uint64_t largest_hole(const Solver *solver, const Request *request) {
    uint64_t hole = 0;
    for (uint32_t r = 0; r < solver->range_count; r++) {
        PlaceRange range = solver->ranges[r];
        if ((r == solver->window && !request->host_window) || (r == solver->code && !request->code))
            continue;
        if (place_region(range.begin) ? !request->code : !request->interleaved)
            hole = MAX_OF(hole, (uint64_t)(range.end - range.begin));
    }
    return hole;
}

/* A lower bound that the memory cannot meet; false if there is none. The largest deficit tells. */
static bool bound_fails(const Solver *solver, PlaceResult *result) {
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        uint32_t event;
        uint64_t needed = place_worst(solver, interleaved, &event);
        uint64_t available = place_capacity(solver, interleaved, event);
        if (needed > available && needed - available > result->over) {
            short_of(result, interleaved ? PLACE_SHORT_INTERLEAVED : PLACE_SHORT_TOTAL, needed,
                     available);
            result->event = event;
        }
    }
    for (uint32_t i = 0; i < solver->count; i++) {
        const Request *request = &solver->requests[i];
        uint64_t hole = largest_hole(solver, request);
        if (request->live > hole && request->live - hole > result->over) {
            short_of(result, PLACE_SHORT_SINGLE, request->live, hole);
            result->event = request->first;
        }
    }
    return result->over > 0;
}

/* Smallest growth of the last range (beyond the end of memory if need be) with which a cheap order
 * succeeds. */
static uint64_t missing_bytes(Solver *solver) {
    if (solver->range_count == 0)
        return 0;
    PlaceRange *last = &solver->ranges[solver->range_count - 1];
    uint32_t end = last->end, low = 0, high = GROWTH_STEP;
    for (; high < GROWTH_MOST; high *= 2) {
        last->end = end + high;
        if (place_orders(solver))
            break;
        low = high;
    }
    while (high < GROWTH_MOST && high - low > GROWTH_STEP) {
        uint32_t middle = low + (high - low) / 2;
        last->end = end + middle;
        if (place_orders(solver))
            high = middle;
        else
            low = middle;
    }
    last->end = end;
    return high < GROWTH_MOST ? high : 0;
}

static void short_of_arrangement(Solver *solver, PlaceVerdict verdict, PlaceResult *result) {
    uint64_t needed = place_worst(solver, false, &result->event);
    short_of(result, PLACE_SHORT_ARRANGEMENT, needed, place_capacity(solver, false, result->event));
    result->verdict = verdict;
    result->over = missing_bytes(solver);
}

static Status solve(Solver *solver, PlaceResult *result, Diag *diag) {
    if (bound_fails(solver, result))
        return list_alive(solver, result, result->shortage == PLACE_SHORT_INTERLEAVED, diag);
    const char *method = place_orders(solver);
    if (method)
        return keep_starts(solver, result, method, diag);
    bool few = solver->count <= EXHAUSTIVE_REQUESTS, memory = true;
    PlaceVerdict verdict = place_corners(solver, few ? UINT64_MAX : CORNER_NODES);
    method = "corners";
    if (verdict == PLACE_NOT_FOUND) {
        verdict = place_search(solver, &memory);
        method = "search";
    }
    result->nodes = solver->nodes;
    if (!memory)
        return no_memory(diag);
    if (verdict == PLACE_PLACED)
        return keep_starts(solver, result, method, diag);
    result->method = method;
    short_of_arrangement(solver, verdict, result);
    return list_alive(solver, result, false, diag);
}

static bool has_soft_pairs(const PlaceProblem *problem) {
    for (uint32_t i = 0; i < problem->conflict_count; i++)
        if (problem->conflicts[i].soft)
            return true;
    return false;
}

/* With the soft pairs apart, by the cheap orders alone. Stays NOT_FOUND if they fail. */
static Status solve_soft(const PlaceProblem *problem, PlaceResult *result, Diag *diag) {
    Solver solver;
    Status status = place_solver_create(problem, true, &solver, diag);
    const char *method = status ? NULL : place_orders(&solver);
    if (method)
        status = keep_starts(&solver, result, method, diag);
    place_solver_free(&solver);
    return status;
}

Status place_solve(const PlaceProblem *problem, PlaceResult *result, Diag *diag) {
    *result = (PlaceResult){.verdict = PLACE_NOT_FOUND, .method = "none"};
    bool soft = has_soft_pairs(problem);
    Status status = soft ? solve_soft(problem, result, diag) : STATUS_OK;
    if (!status && result->verdict != PLACE_PLACED) {
        Solver solver;
        status = place_solver_create(problem, false, &solver, diag);
        if (!status)
            status = solve(&solver, result, diag);
        place_solver_free(&solver);
        result->soft_broken = soft && result->verdict == PLACE_PLACED;
    }
    if (status)
        place_result_free(result);
    return status;
}

void place_result_free(PlaceResult *result) {
    mem_free(result->address);
    mem_free(result->stride);
    mem_free(result->alive);
    *result = (PlaceResult){.verdict = PLACE_NOT_FOUND, .method = "none"};
}

/* ---- many problems */

static bool same_buffer(const PlaceBuffer *a, const PlaceBuffer *b) {
    return a->bytes == b->bytes && a->tail == b->tail && a->align == b->align &&
           a->memory_class == b->memory_class && a->first == b->first && a->last == b->last &&
           a->members == b->members && a->members_apart == b->members_apart && a->code == b->code &&
           a->alias_of == b->alias_of && a->alias_offset == b->alias_offset;
}

static bool same_problem(const PlaceProblem *a, const PlaceProblem *b) {
    if (a->range_count != b->range_count || a->buffer_count != b->buffer_count ||
        a->conflict_count != b->conflict_count || a->end_event != b->end_event ||
        a->window.begin != b->window.begin || a->window.end != b->window.end ||
        a->code.begin != b->code.begin || a->code.end != b->code.end)
        return false;
    for (uint32_t i = 0; i < a->range_count; i++)
        if (a->ranges[i].begin != b->ranges[i].begin || a->ranges[i].end != b->ranges[i].end)
            return false;
    for (uint32_t i = 0; i < a->conflict_count; i++)
        if (a->conflicts[i].a != b->conflicts[i].a || a->conflicts[i].b != b->conflicts[i].b ||
            a->conflicts[i].soft != b->conflicts[i].soft)
            return false;
    for (uint32_t i = 0; i < a->buffer_count; i++)
        if (!same_buffer(&a->buffers[i], &b->buffers[i]))
            return false;
    return true;
}

static uint64_t hash_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_problem(const PlaceProblem *problem) {
    uint64_t hash = hash_mix(problem->buffer_count, problem->conflict_count);
    for (uint32_t i = 0; i < problem->range_count; i++)
        hash = hash_mix(hash_mix(hash, problem->ranges[i].begin), problem->ranges[i].end);
    for (uint32_t i = 0; i < problem->buffer_count; i++) {
        const PlaceBuffer *b = &problem->buffers[i];
        hash = hash_mix(hash_mix(hash, b->bytes), (uint64_t)b->first << 32 | b->last);
    }
    return hash;
}

typedef struct Batch {
    const PlaceProblem *problems;
    PlaceResult *results;
    Diag *diags;
    Status *statuses;
    uint32_t *distinct; /* indices of the problems that are solved */
    uint32_t distinct_count;
    uint32_t *same_as; /* problem → the index of the one that is solved for it */
} Batch;

static void solve_one(void *context, size_t index, unsigned worker) {
    Batch *batch = context;
    (void)worker;
    uint32_t i = batch->distinct[index];
    batch->statuses[index] =
        place_solve(&batch->problems[i], &batch->results[i], &batch->diags[index]);
}

/* Open addressing over the distinct problems. */
static bool find_distinct(Batch *batch, uint32_t count) {
    size_t slots = 16;
    while (slots < 2 * (size_t)count)
        slots *= 2;
    uint32_t *table = mem_alloc(slots, sizeof *table); /* distinct number + 1 */
    for (uint32_t i = 0; i < count && table; i++) {
        size_t slot = hash_problem(&batch->problems[i]) & (slots - 1);
        while (table[slot] && !same_problem(&batch->problems[batch->distinct[table[slot] - 1]],
                                            &batch->problems[i]))
            slot = (slot + 1) & (slots - 1);
        if (!table[slot]) {
            batch->distinct[batch->distinct_count++] = i;
            table[slot] = batch->distinct_count;
        }
        batch->same_as[i] = batch->distinct[table[slot] - 1];
    }
    mem_free(table);
    return table != NULL;
}

static bool copy_array(uint32_t **to, const uint32_t *from, uint32_t count) {
    *to = NULL;
    if (!from)
        return true;
    *to = mem_alloc((size_t)count + 1, sizeof **to);
    if (*to && count)
        memcpy(*to, from, count * sizeof **to);
    return *to != NULL;
}

static bool copy_result(PlaceResult *to, const PlaceResult *from, uint32_t buffers) {
    *to = *from;
    bool address = copy_array(&to->address, from->address, buffers);
    bool stride = copy_array(&to->stride, from->stride, buffers);
    bool alive = copy_array(&to->alive, from->alive, from->alive_count);
    return address && stride && alive;
}

static Status solve_batch(Batch *batch, uint32_t count, Pool *pool, Diag *diag) {
    if (!find_distinct(batch, count))
        return no_memory(diag);
    batch->diags = mem_alloc(batch->distinct_count, sizeof *batch->diags);
    batch->statuses = mem_alloc(batch->distinct_count, sizeof *batch->statuses);
    if (!batch->diags || !batch->statuses)
        return no_memory(diag);
    pool_run(pool, batch->distinct_count, solve_one, batch);
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < batch->distinct_count; i++) {
        if (diag)
            diag_append(diag, &batch->diags[i]);
        diag_free(&batch->diags[i]);
        status = status ? status : batch->statuses[i];
    }
    for (uint32_t i = 0; i < count && !status; i++)
        if (batch->same_as[i] != i &&
            !copy_result(&batch->results[i], &batch->results[batch->same_as[i]],
                         batch->problems[i].buffer_count))
            status = no_memory(diag);
    return status;
}

Status place_solve_all(const PlaceProblem *problems, uint32_t count, Pool *pool,
                       PlaceResult *results, uint32_t *distinct, Diag *diag) {
    for (uint32_t i = 0; i < count; i++)
        results[i] = (PlaceResult){.verdict = PLACE_NOT_FOUND, .method = "none"};
    Batch batch = {.problems = problems,
                   .results = results,
                   .distinct = mem_alloc((size_t)count + 1, sizeof(uint32_t)),
                   .same_as = mem_alloc((size_t)count + 1, sizeof(uint32_t))};
    Status status =
        batch.distinct && batch.same_as ? solve_batch(&batch, count, pool, diag) : no_memory(diag);
    if (distinct)
        *distinct = batch.distinct_count;
    mem_free(batch.distinct);
    mem_free(batch.same_as);
    mem_free(batch.diags);
    mem_free(batch.statuses);
    return status;
}

/* ---- the story */

#define ALIVE_SHOWN 8

static const char *shortage_text(PlaceShortage shortage) {
    return shortage == PLACE_SHORT_INTERLEAVED ? "interleaved memory"
           : shortage == PLACE_SHORT_SINGLE    ? "contiguous memory"
                                               : "memory";
}

Status place_report(const PlaceProblem *problem, const PlaceResult *result, int32_t tile,
                    Diag *diag) {
    assert(result->verdict != PLACE_PLACED);
    bool proved = result->verdict == PLACE_INFEASIBLE;
    Status status = proved ? ERR_PLACE_INFEASIBLE : ERR_PLACE_NOT_FOUND;
    DiagPlace place = {.tile = tile};
    unsigned long long needed = result->needed, available = result->available;
    if (result->shortage == PLACE_SHORT_ARRANGEMENT)
        diag_error(
            diag, status, place,
            "%llu of %llu bytes are alive at step %u, but %s that keeps to lifetimes, memory "
            "elements and the border at 0x80000",
            needed, available, result->event,
            proved ? "there is no arrangement (proved)" : "no arrangement was found");
    else
        diag_error(
            diag, status, place,
            "the buffers at step %u need %llu bytes of %s, %llu are there: %llu over (proved)",
            result->event, needed, shortage_text(result->shortage), available,
            (unsigned long long)result->over);
    if (result->shortage == PLACE_SHORT_ARRANGEMENT && result->over)
        diag_note(diag, "%llu bytes more would do", (unsigned long long)result->over);
    for (uint32_t i = 0; i < result->alive_count && i < ALIVE_SHOWN; i++) {
        const PlaceBuffer *buffer = &problem->buffers[result->alive[i]];
        diag_note(diag, "alive: %s, %u bytes and a tail of %u, %s", buffer->name, buffer->bytes,
                  buffer->tail, memory_class_name(buffer->memory_class));
    }
    if (result->alive_count > ALIVE_SHOWN)
        diag_note(diag, "alive: %u more", result->alive_count - ALIVE_SHOWN);
    return status;
}

/* ---- what is left */

Status place_unused(const PlaceProblem *problem, const PlaceResult *result, PlaceRange **ranges,
                    uint32_t *count, Diag *diag) {
    VEC(PlaceRange) free_ranges = {0};
    for (uint32_t r = 0; r < problem->range_count; r++) {
        uint32_t at = problem->ranges[r].begin, end = problem->ranges[r].end;
        while (at < end) {
            /* The lowest buffer that ends above `at`. */
            uint32_t used = end, used_end = end;
            for (uint32_t i = 0; i < problem->buffer_count; i++) {
                const PlaceBuffer *buffer = &problem->buffers[i];
                uint32_t begin = result->address[i];
                uint32_t stop = begin + (buffer->members - 1) * result->stride[i] + buffer->bytes +
                                buffer->tail;
                if (stop > at && begin < used) {
                    used = MAX_OF(begin, at);
                    used_end = stop;
                }
            }
            if (used > at && !vec_push(&free_ranges, (PlaceRange){at, used})) {
                vec_free(&free_ranges);
                return no_memory(diag);
            }
            at = used_end;
        }
    }
    *ranges = free_ranges.items;
    *count = (uint32_t)free_ranges.count;
    return STATUS_OK;
}
