#include "place/internal.h"

#include <string.h>

static Status bad_problem(Diag *diag, const PlaceProblem *problem, uint32_t buffer,
                          const char *what) {
    const char *name = buffer < problem->buffer_count ? problem->buffers[buffer].name : NULL;
    return diag_error(diag, ERR_PLACE_PROBLEM, DIAG_NOWHERE, "%s%s%s", name ? name : "",
                      name ? ": " : "", what);
}

static bool ranges_meet(PlaceRange a, PlaceRange b) {
    return a.begin < b.end && b.begin < a.end;
}

static Status check_ranges(const PlaceProblem *problem, Diag *diag) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < problem->range_count; i++) {
        PlaceRange range = problem->ranges[i];
        if (range.begin < end || range.end < range.begin)
            return bad_problem(diag, problem, UINT32_MAX, "ranges must ascend and not overlap");
        end = range.end;
    }
    PlaceRange window = problem->window, code = problem->code;
    if (window.end < window.begin || code.end < code.begin)
        return bad_problem(diag, problem, UINT32_MAX,
                           "the host window or the code range ends before it begins");
    bool overlap = ranges_meet(window, code);
    for (uint32_t i = 0; i < problem->range_count; i++)
        overlap = overlap || ranges_meet(problem->ranges[i], window) ||
                  ranges_meet(problem->ranges[i], code);
    if (overlap)
        return bad_problem(diag, problem, UINT32_MAX,
                           "the host window or the code range overlaps a range");
    return STATUS_OK;
}

static Status check_alias(const PlaceProblem *problem, uint32_t i, Diag *diag) {
    const PlaceBuffer *buffer = &problem->buffers[i];
    if (buffer->alias_of >= problem->buffer_count || buffer->alias_of == i ||
        problem->buffers[buffer->alias_of].alias_of != PLACE_ROOT)
        return bad_problem(diag, problem, i, "an alias must name a buffer that is no alias itself");
    if (buffer->alias_offset % buffer->align)
        return bad_problem(diag, problem, i, "the offset of an alias breaks its alignment");
    if (buffer->members > 1 && buffer->members_apart)
        return bad_problem(diag, problem, i, "an alias cannot have members that are kept apart");
    return STATUS_OK;
}

static Status check_problem(const PlaceProblem *problem, Diag *diag) {
    Status status = check_ranges(problem, diag);
    for (uint32_t i = 0; i < problem->buffer_count && !status; i++) {
        const PlaceBuffer *buffer = &problem->buffers[i];
        if (buffer->bytes == 0 || buffer->members == 0)
            status = bad_problem(diag, problem, i, "a buffer has at least one byte and one member");
        else if (buffer->align == 0 || buffer->align & (buffer->align - 1) ||
                 buffer->align > CHIP_REGION1_PAIR_SIZE)
            status = bad_problem(diag, problem, i, "the alignment must be a power of two to 32768");
        else if (buffer->code && buffer->memory_class == MEMORY_INTERLEAVED)
            status = bad_problem(diag, problem, i, "nothing is executed in interleaved memory");
        else if (buffer->first > buffer->last)
            status = bad_problem(diag, problem, i, "the lifetime ends before it begins");
        else if (buffer->alias_of != PLACE_ROOT)
            status = check_alias(problem, i, diag);
    }
    for (uint32_t i = 0; i < problem->conflict_count && !status; i++) {
        PlaceConflict pair = problem->conflicts[i];
        if (pair.a >= problem->buffer_count || pair.b >= problem->buffer_count)
            status = bad_problem(diag, problem, UINT32_MAX, "a conflict names no buffer");
    }
    return status;
}

/* Bytes from the base of `buffer` to its end if its members are `stride` apart. The last member of
 * a sequence is rounded up as the others are, so that all look alike to the code. */
static uint64_t span_of(const PlaceBuffer *buffer, uint64_t stride) {
    uint64_t one = (uint64_t)buffer->bytes + buffer->tail;
    return buffer->members == 1 ? one
                                : (buffer->members - 1) * stride + align_up(one, buffer->align);
}

static uint64_t stride_of(const PlaceBuffer *buffer, int region) {
    uint64_t one = (uint64_t)buffer->bytes + buffer->tail;
    if (buffer->members == 1)
        return one;
    if (buffer->members_apart)
        return align_up(one, region ? CHIP_REGION1_PAIR_SIZE : CHIP_MEM_ELEM_SIZE);
    return align_up(one, MAX_OF(buffer->align, 4u));
}

static void request_fill(const PlaceProblem *problem, Request *request, const PlaceBuffer *root) {
    *request = (Request){.align = root->align,
                         .first = root->first,
                         .last = root->last,
                         .interleaved = root->memory_class == MEMORY_INTERLEAVED,
                         .code = root->code,
                         .live = UINT64_MAX};
    for (int region = 0; region < 2; region++) {
        uint64_t stride = stride_of(root, region), span = span_of(root, stride);
        bool apart = root->members > 1 && root->members_apart;
        request->window[region] =
            apart ? (uint32_t)(stride - root->bytes - root->tail) : UINT32_MAX;
        request->live = MIN_OF(request->live, span);
        request->bytes[region] = span > CHIP_TILE_MEM_SIZE ? UINT32_MAX : (uint32_t)span;
        request->stride[region] = (uint32_t)MIN_OF(stride, (uint64_t)UINT32_MAX);
    }
    request->host_window = root->first > 0 && root->last < problem->end_event;
}

static void request_add_alias(const PlaceProblem *problem, Request *request,
                              const PlaceBuffer *alias) {
    uint64_t end = alias->alias_offset + span_of(alias, stride_of(alias, 0));
    request->align = MAX_OF(request->align, alias->align);
    request->first = MIN_OF(request->first, alias->first);
    request->last = MAX_OF(request->last, alias->last);
    request->interleaved = request->interleaved || alias->memory_class == MEMORY_INTERLEAVED;
    request->code = request->code || alias->code;
    request->live = MAX_OF(request->live, end);
    for (int region = 0; region < 2; region++)
        if (request->bytes[region] < end)
            request->bytes[region] = end > CHIP_TILE_MEM_SIZE ? UINT32_MAX : (uint32_t)end;
    request->host_window =
        request->host_window && alias->first > 0 && alias->last < problem->end_event;
}

static bool build_requests(Solver *solver) {
    const PlaceProblem *problem = solver->problem;
    solver->request_of = ARENA_NEW(&solver->arena, uint32_t, problem->buffer_count + 1);
    solver->requests = ARENA_NEW(&solver->arena, Request, problem->buffer_count + 1);
    solver->start = ARENA_NEW(&solver->arena, uint32_t, problem->buffer_count + 1);
    solver->order_keys = ARENA_NEW(&solver->arena, OrderKey, problem->buffer_count + 1);
    if (!solver->request_of || !solver->requests || !solver->start || !solver->order_keys)
        return false;
    for (uint32_t i = 0; i < problem->buffer_count; i++) {
        if (problem->buffers[i].alias_of != PLACE_ROOT)
            continue;
        solver->request_of[i] = solver->count;
        solver->start[solver->count] = PLACE_FREE;
        request_fill(problem, &solver->requests[solver->count++], &problem->buffers[i]);
    }
    for (uint32_t i = 0; i < problem->buffer_count; i++) {
        const PlaceBuffer *buffer = &problem->buffers[i];
        if (buffer->alias_of == PLACE_ROOT)
            continue;
        solver->request_of[i] = solver->request_of[buffer->alias_of];
        request_add_alias(problem, &solver->requests[solver->request_of[i]], buffer);
    }
    for (uint32_t i = 0; i < solver->count; i++) {
        Request *request = &solver->requests[i];
        if (request->interleaved)
            request->bytes[0] = UINT32_MAX;
        if (request->code)
            request->bytes[1] = UINT32_MAX;
    }
    return true;
}

/* Marks conflicts between requests in a triangular bit map; false for one inside a group. */
static bool mark_conflicts(const Solver *solver, uint8_t *marks, uint32_t *inner) {
    for (uint32_t i = 0; i < solver->problem->conflict_count; i++) {
        PlaceConflict pair = solver->problem->conflicts[i];
        uint32_t a = solver->request_of[pair.a], b = solver->request_of[pair.b];
        if (pair.soft && (!solver->soft || a == b))
            continue;
        *inner = pair.a;
        if (a == b)
            return false;
        marks[(size_t)a * solver->count + b] = marks[(size_t)b * solver->count + a] = 1;
    }
    return true;
}

static bool lives_together(const Request *a, const Request *b) {
    return a->first <= b->last && b->first <= a->last;
}

static Status build_links(Solver *solver, Diag *diag) {
    uint32_t n = solver->count, total = 0, inner = 0;
    uint8_t *marks = ARENA_NEW(&solver->arena, uint8_t, (size_t)n * n + 1);
    if (!marks)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "placement of %u buffers", n);
    if (!mark_conflicts(solver, marks, &inner))
        return bad_problem(diag, solver->problem, inner,
                           "conflicts with itself or with a buffer that shares its place");
    for (int pass = 0; pass < 2; pass++) {
        total = 0;
        for (uint32_t i = 0; i < n; i++) {
            Request *request = &solver->requests[i];
            request->link = total;
            for (uint32_t j = 0; j < n; j++) {
                bool conflict = marks[(size_t)i * n + j];
                if (i == j || (!conflict && !lives_together(request, &solver->requests[j])))
                    continue;
                if (pass)
                    solver->links[total] = (Link){.other = j, .conflict = conflict};
                request->conflicts += pass && conflict;
                total++;
            }
            request->links = total - request->link;
        }
        if (!pass && !(solver->links = ARENA_NEW(&solver->arena, Link, total + 1)))
            return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "placement of %u buffers", n);
    }
    return STATUS_OK;
}

/* Keeps the ranges ascending; *special follows the range that it names. */
static void follow(uint32_t *special, uint32_t at) {
    if (*special != UINT32_MAX && *special >= at)
        ++*special;
}

/* `special` (may be NULL) receives the index of the range. */
static void add_range(Solver *solver, PlaceRange range, uint32_t *special) {
    uint32_t cut = MIN_OF(MAX_OF(range.begin, CHIP_REGION1_BASE), range.end);
    PlaceRange parts[2] = {{range.begin, cut}, {cut, range.end}};
    for (int i = 0; i < 2; i++) {
        if (parts[i].begin == parts[i].end)
            continue;
        uint32_t at = solver->range_count++;
        while (at > 0 && solver->ranges[at - 1].begin > parts[i].begin) {
            solver->ranges[at] = solver->ranges[at - 1];
            at--;
        }
        solver->ranges[at] = parts[i];
        follow(&solver->window, at);
        follow(&solver->code, at);
        if (special)
            *special = at;
    }
}

static bool build_ranges(Solver *solver) {
    const PlaceProblem *problem = solver->problem;
    solver->window = solver->code = UINT32_MAX;
    solver->ranges = ARENA_NEW(&solver->arena, PlaceRange, 2 * (size_t)problem->range_count + 4);
    if (!solver->ranges)
        return false;
    for (uint32_t i = 0; i < problem->range_count; i++)
        add_range(solver, problem->ranges[i], NULL);
    add_range(solver, problem->window, &solver->window);
    add_range(solver, problem->code, &solver->code);
    return true;
}

Status place_solver_create(const PlaceProblem *problem, bool soft, Solver *solver, Diag *diag) {
    *solver = (Solver){.problem = problem, .soft = soft};
    Status status = check_problem(problem, diag);
    if (status)
        return status;
    if (!build_ranges(solver) || !build_requests(solver))
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "placement of %u buffers",
                          problem->buffer_count);
    return build_links(solver, diag);
}

void place_solver_free(Solver *solver) {
    arena_free(&solver->arena);
}

/* Rules, without the solver's help. */

typedef struct Checker {
    const PlaceProblem *problem;
    const PlaceResult *result;
    char *text;
    size_t size;
} Checker;

static const char *broken(const Checker *checker, uint32_t a, uint32_t b, const char *what) {
    const PlaceBuffer *buffers = checker->problem->buffers;
    snprintf(checker->text, checker->size, "%s at 0x%X, %s at 0x%X: %s", buffers[a].name,
             checker->result->address[a], buffers[b].name, checker->result->address[b], what);
    return checker->text;
}

static uint32_t root_of(const PlaceProblem *problem, uint32_t i) {
    return problem->buffers[i].alias_of == PLACE_ROOT ? i : problem->buffers[i].alias_of;
}

/* End of the bytes of buffer i, tails of all members included. */
static uint64_t end_of(const Checker *checker, uint32_t i) {
    const PlaceBuffer *buffer = &checker->problem->buffers[i];
    return checker->result->address[i] +
           (uint64_t)(buffer->members - 1) * checker->result->stride[i] + buffer->bytes +
           buffer->tail;
}

/* End of the whole group that i is the root of. */
static uint64_t group_end(const Checker *checker, uint32_t root) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < checker->problem->buffer_count; i++)
        if (root_of(checker->problem, i) == root)
            end = MAX_OF(end, end_of(checker, i));
    return end;
}

static bool inside_ranges(const Checker *checker, uint32_t i) {
    const PlaceProblem *problem = checker->problem;
    uint64_t begin = checker->result->address[i], end = end_of(checker, i);
    const PlaceBuffer *buffer = &problem->buffers[i];
    if (buffer->first > 0 && buffer->last < problem->end_event && begin >= problem->window.begin &&
        end <= problem->window.end)
        return true;
    if (buffer->code && begin >= problem->code.begin && end <= problem->code.end)
        return true;
    for (uint32_t r = 0; r < problem->range_count; r++)
        if (begin >= problem->ranges[r].begin && end <= problem->ranges[r].end)
            return true;
    return false;
}

static const char *check_one(const Checker *checker, uint32_t i) {
    const PlaceBuffer *buffer = &checker->problem->buffers[i];
    uint32_t address = checker->result->address[i], stride = checker->result->stride[i];
    if (address % buffer->align)
        return broken(checker, i, i, "the alignment is broken");
    if (!inside_ranges(checker, i))
        return broken(checker, i, i, "outside the available ranges");
    if (address < CHIP_REGION1_BASE && end_of(checker, i) > CHIP_REGION1_BASE)
        return broken(checker, i, i, "crosses 0x80000");
    if (buffer->memory_class == MEMORY_INTERLEAVED && address < CHIP_REGION1_BASE)
        return broken(checker, i, i, "an interleaved buffer lies below 0x80000");
    if (buffer->code && end_of(checker, i) > CHIP_REGION1_BASE)
        return broken(checker, i, i, "code lies above 0x80000");
    if (buffer->alias_of != PLACE_ROOT &&
        address - checker->result->address[buffer->alias_of] != buffer->alias_offset)
        return broken(checker, i, buffer->alias_of, "an alias is not at its offset");
    if (buffer->members > 1 &&
        (stride < buffer->bytes + buffer->tail || stride % 4 || stride % buffer->align))
        return broken(checker, i, i, "the members of a sequence overlap or are misaligned");
    for (uint32_t m = 1; m < buffer->members && buffer->members_apart; m++)
        if (chip_effective_element(address + m * stride) <=
            chip_effective_element(address + (m - 1) * stride + buffer->bytes + buffer->tail - 1))
            return broken(checker, i, i, "two members share a memory element");
    return NULL;
}

static const char *check_pair(const Checker *checker, uint32_t a, uint32_t b) {
    const PlaceBuffer *x = &checker->problem->buffers[a], *y = &checker->problem->buffers[b];
    if (root_of(checker->problem, a) == root_of(checker->problem, b) || x->first > y->last ||
        y->first > x->last)
        return NULL;
    if (checker->result->address[a] < end_of(checker, b) &&
        checker->result->address[b] < end_of(checker, a))
        return broken(checker, a, b, "both live at once and overlap");
    return NULL;
}

static const char *check_conflict(const Checker *checker, PlaceConflict pair) {
    uint32_t a = root_of(checker->problem, pair.a), b = root_of(checker->problem, pair.b);
    uint32_t a_end = (uint32_t)group_end(checker, a) - 1,
             b_end = (uint32_t)group_end(checker, b) - 1;
    if (chip_effective_element(checker->result->address[a]) <= chip_effective_element(b_end) &&
        chip_effective_element(checker->result->address[b]) <= chip_effective_element(a_end))
        return broken(checker, a, b, "a conflict pair shares a memory element");
    return NULL;
}

const char *place_check(const PlaceProblem *problem, const PlaceResult *result, char *buffer,
                        size_t size) {
    Checker checker = {problem, result, buffer, size};
    const char *text = NULL;
    for (uint32_t i = 0; i < problem->buffer_count && !text; i++)
        text = check_one(&checker, i);
    for (uint32_t i = 0; i < problem->buffer_count && !text; i++)
        for (uint32_t j = i + 1; j < problem->buffer_count && !text; j++)
            text = check_pair(&checker, i, j);
    for (uint32_t i = 0; i < problem->conflict_count && !text; i++)
        if (!problem->conflicts[i].soft)
            text = check_conflict(&checker, problem->conflicts[i]);
    return text;
}
