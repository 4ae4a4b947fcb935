#include "prof/prof.h"

#include <string.h>

const char *prof_cause_name(ProfCause cause) {
    static const char *const names[] = {
        [PROF_MULTIPLY_ADDS] = "multiply_adds",
        [PROF_PADDING] = "padding",
        [PROF_IMBALANCE] = "imbalance",
        [PROF_COEFFICIENT_LOADS] = "coefficient_loads",
        [PROF_LAUNCH_JOIN] = "launch_join",
        [PROF_EXCHANGE_PAYLOAD] = "exchange_payload",
        [PROF_EXCHANGE_CONTROL] = "exchange_control",
        [PROF_EXCHANGE_SYNC] = "exchange_sync",
        [PROF_CAST] = "cast",
        [PROF_COPY] = "copy",
        [PROF_ACTIVATION] = "activation",
        [PROF_REDUCTION] = "reduction",
        [PROF_IDLE] = "idle",
        [PROF_UNSCHEDULED] = "unscheduled",
    };
    return names[cause];
}

const char *prof_figure_name(ProfFigure figure) {
    static const char *const names[] = {[PROF_PREDICTED] = "predicted",
                                        [PROF_SCHEDULED] = "scheduled",
                                        [PROF_SIMULATED] = "simulated"};
    return names[figure];
}

bool prof_is_exchange(const ProfStep *step) {
    return strcmp(step->name, "exchange") == 0;
}

void prof_free(Profile *profile) {
    mem_free(profile->cells);
    mem_free(profile->map);
    vec_free(&profile->steps);
    vec_free(&profile->buffers);
    vec_free(&profile->rows);
    arena_free(&profile->arena);
    *profile = (Profile){0};
}
