/* Random placement problems. */
#pragma once

#include "base/random.h"
#include "place/place.h"

typedef struct RandomProblem {
    PlaceProblem problem;
    PlaceRange ranges[3];
    PlaceBuffer buffers[24];
    PlaceConflict conflicts[32];
} RandomProblem;

static inline void random_problem(Random *random, RandomProblem *p, uint32_t buffers, uint32_t unit,
                                  uint32_t most) {
    uint32_t low = 0x80000 - unit * (uint32_t)random_below(random, 12);
    uint32_t high = 0x80000 + unit * (1 + (uint32_t)random_below(random, 20));
    uint32_t cut = low + unit * (uint32_t)random_below(random, (high - low) / unit + 1);
    uint32_t gap = unit * (uint32_t)random_below(random, 2);
    p->ranges[0] = (PlaceRange){low, cut};
    p->ranges[1] = (PlaceRange){MIN_OF(high, cut + gap), high};
    p->problem = (PlaceProblem){.ranges = p->ranges,
                                .range_count = 2,
                                .end_event = 5,
                                .buffers = p->buffers,
                                .buffer_count = buffers,
                                .conflicts = p->conflicts};
    if (random_below(random, 3) == 0)
        p->problem.window = (PlaceRange){0x50000, 0x50000 + 2 * unit};
    if (random_below(random, 3) == 0)
        p->problem.code = (PlaceRange){0x54000, 0x54000 + 2 * unit};
    for (uint32_t i = 0; i < buffers; i++) {
        uint32_t a = (uint32_t)random_below(random, 6), b = (uint32_t)random_below(random, 6);
        p->buffers[i] = (PlaceBuffer){.name = "b",
                                      .bytes = 1 + (uint32_t)random_below(random, most),
                                      .tail = (uint32_t)random_below(random, 2) * 8,
                                      .align = unit,
                                      .memory_class = random_below(random, 3) == 0,
                                      .code = random_below(random, 5) == 0,
                                      .first = MIN_OF(a, b),
                                      .last = MAX_OF(a, b),
                                      .members = 1,
                                      .alias_of = PLACE_ROOT};
        if (p->buffers[i].code)
            p->buffers[i].memory_class = MEMORY_STANDARD;
        if (random_below(random, 12) == 0) {
            p->buffers[i].members = 2;
            p->buffers[i].members_apart = random_below(random, 2);
        }
    }
    for (uint32_t i = 0; i + 1 < buffers; i++)
        if (random_below(random, 2))
            p->conflicts[p->problem.conflict_count++] = (PlaceConflict){
                .a = i, .b = i + 1 + (uint32_t)random_below(random, buffers - i - 1)};
}
