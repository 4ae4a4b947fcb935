/* Indexes of sharded checkpoints: what is accepted is sorted, has no name twice and only plain file
 * names. */
#include "model/checkpoint.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Diag diag = {0};
    CheckpointMap map = {0};
    Status status = checkpoint_parse_index(bytes, size, "fuzz", &map, &diag);
    require(status == diag_status(&diag));
    for (size_t i = 0; i < map.count && status == STATUS_OK; i++) {
        require(i == 0 || strcmp(map.items[i - 1].tensor, map.items[i].tensor) < 0);
        require(map.items[i].file[0] && !strchr(map.items[i].file, '/'));
        require(strcmp(map.items[i].file, "..") != 0);
    }
    checkpoint_map_free(&map);
    diag_free(&diag);
    return 0;
}
