/* SafeTensors: what is accepted keeps the rules that callers rely on, and its tensors lie in the
 * file. */
#include "model/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static void check_tensor(const SafeTensors *file, const SafeTensor *tensor) {
    require(safetensors_find(file, tensor->name) == tensor);
    require(tensor->bytes * 8 == tensor->count * dtype_bits(tensor->dtype));
    unsigned sum = 0;
    for (uint64_t i = 0; i < tensor->bytes; i++)
        sum += tensor->data[i];
    require(sum <= tensor->bytes * 255);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Diag diag = {0};
    SafeTensors *file;
    Status status = safetensors_parse(bytes, size, "fuzz", &file, &diag);
    require(status == diag_status(&diag));
    if (status == STATUS_OK) {
        uint64_t sum = 0;
        for (size_t i = 0; i < file->count; i++) {
            check_tensor(file, &file->tensors[i]);
            sum += file->tensors[i].bytes;
        }
        require(sum <= size - 8);
        safetensors_close(file);
    }
    diag_free(&diag);
    return 0;
}
