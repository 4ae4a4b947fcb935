/* ELF objects: whatever is accepted can be listed and linked, and written again as it is. */
#include "use_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    AsmObject *object;
    Diag diag = {0};
    Status status = asm_elf_read("fuzz.o", bytes, size, &object, &diag);
    if ((status == STATUS_OK) != (diag.errors == 0) || (status == STATUS_OK) != (object != NULL))
        abort();
    if (object) {
        uint8_t *again;
        size_t again_size;
        use_object(object);
        if (asm_elf_write(object, &again, &again_size, NULL) == STATUS_OK)
            mem_free(again);
    }
    asm_object_free(object);
    diag_free(&diag);
    return 0;
}
