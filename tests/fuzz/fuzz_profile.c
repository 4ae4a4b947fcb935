/* Profile files: whatever is accepted has sums that agree, becomes a page and a trace, and survives
 * being written and read again. */
#include "prof/prof.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static void name_file(char path[200], const char *suffix) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, 200, "%s/tilework-fuzz-%d%s", folder ? folder : "/tmp", (int)getpid(), suffix);
}

static void use_profile(const Profile *profile) {
    uint64_t cycles = 0;
    for (size_t s = 0; s < profile->steps.count; s++)
        cycles += profile->steps.items[s].cycles[PROF_SIMULATED];
    require(cycles == profile->cycles[PROF_SIMULATED]);
    size_t size;
    char *page = prof_html(profile, &size);
    require(page && strlen(page) <= size);
    mem_free(page);
    char *trace = prof_trace(profile, &size);
    require(trace && strlen(trace) == size);
    mem_free(trace);
    char path[200];
    Profile again;
    name_file(path, ".again");
    require(prof_write(profile, path, NULL) == STATUS_OK);
    require(prof_read(path, &again, NULL) == STATUS_OK);
    require(again.steps.count == profile->steps.count &&
            again.buffers.count == profile->buffers.count &&
            again.rows.count == profile->rows.count);
    prof_free(&again);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char path[200];
    Diag diag = {0};
    Profile profile;
    name_file(path, "");
    FILE *file = fopen(path, "wb");
    require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    Status status = prof_read(path, &profile, &diag);
    require(status == diag_status(&diag));
    if (status == STATUS_OK)
        use_profile(&profile);
    prof_free(&profile);
    diag_free(&diag);
    unlink(path);
    return 0;
}
