#include "prof/prof.h"

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

int64_t prof_sum(const Profile *profile, size_t step, ProfCause cause) {
    int64_t sum = 0;
    for (uint32_t tile = 0; tile < profile->tiles; tile++)
        sum += profile->cells[(step * profile->tiles + tile) * PROF_CAUSES + cause];
    return sum;
}

void prof_free(Profile *profile) {
    mem_free(profile->cells);
    mem_free(profile->program);
    vec_free(&profile->steps);
    vec_free(&profile->buffers);
    arena_free(&profile->arena);
    *profile = (Profile){0};
}

Status prof_end(const Device *device, uint64_t cycles, Profile *profile, Diag *diag) {
    if (cycles > INT32_MAX)
        return diag_error(diag, ERR_PROF_LONG, DIAG_NOWHERE,
                          "%llu cycles are more than a profile holds", (unsigned long long)cycles);
    profile->cycles = cycles;
    for (uint32_t tile = 0; tile < profile->tiles; tile++) {
        int32_t *cells =
            profile->cells + ((profile->steps.count - 1) * profile->tiles + tile) * PROF_CAUSES;
        int32_t scheduled = cells[PROF_UNSCHEDULED];
        bool idle = cells[PROF_IDLE];
        uint64_t end = run_tile_cycles(device, tile);
        cells[PROF_IDLE] = 0;
        cells[PROF_UNSCHEDULED] = (int32_t)end - scheduled;
        cells[idle ? PROF_IDLE : PROF_IMBALANCE] = (int32_t)(cycles - end);
    }
    return STATUS_OK;
}
