/* Assembler source: no crash, no sanitizer finding; what assembles also lists, links and survives
 * ELF. */
#include "use_object.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* `.include` finds the text itself once more: recursion must end. */
typedef struct Text {
    const char *text;
    size_t size;
} Text;

static const char *include(void *context, const char *name, size_t *size) {
    const Text *text = context;
    if (strcmp(name, "self") != 0)
        return NULL;
    *size = text->size;
    return text->text;
}

static void round_trip(const AsmObject *object) {
    uint8_t *elf;
    size_t size;
    if (asm_elf_write(object, &elf, &size, NULL) != STATUS_OK)
        return;
    AsmObject *back;
    Diag diag = {0};
    if (asm_elf_read("fuzz.o", elf, size, &back, &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        abort();
    }
    asm_object_free(back);
    mem_free(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    AsmObject *object;
    Diag diag = {0};
    Text text = {(const char *)bytes, size};
    AsmDefine define = {"DEFINED", 3};
    AsmOptions options = {&define, 1, include, &text};
    Status status = asm_assemble("fuzz.S", text.text, size, &options, &object, &diag);
    if ((status == STATUS_OK) != (diag.errors == 0) || (status == STATUS_OK) != (object != NULL))
        abort();
    if (object) {
        use_object(object);
        round_trip(object);
    }
    asm_object_free(object);
    diag_free(&diag);
    return 0;
}
