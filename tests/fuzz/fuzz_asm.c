/* Assembler source, or an ELF object if the bytes begin like one: no crash, no sanitizer finding;
 * what assembles also lists, links and survives ELF. */
#include "asm/asm.h"

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

static void use_object(const AsmObject *object) {
    char *listing = asm_listing(object);
    if (!listing)
        abort();
    mem_free(listing);
    AsmImage image;
    if (asm_link(&object, 1, 0x4C000, NULL, 0, &image, NULL) == STATUS_OK) {
        uint32_t address;
        asm_image_symbol(&image, "main", &address);
        asm_image_line(&image, image.base + image.size / 2);
        if (image.size > asm_link_size(&object, 1))
            abort();
        asm_image_free(&image);
    }
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
    if (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0) {
        if (asm_elf_read("fuzz.o", bytes, size, &object, &diag) == STATUS_OK)
            use_object(object);
    } else {
        Text text = {(const char *)bytes, size};
        AsmDefine define = {"DEFINED", 3};
        AsmOptions options = {&define, 1, include, &text};
        Status status = asm_assemble("fuzz.S", text.text, size, &options, &object, &diag);
        if ((status == STATUS_OK) != (diag.errors == 0) ||
            (status == STATUS_OK) != (object != NULL))
            abort();
        if (object) {
            use_object(object);
            round_trip(object);
        }
    }
    asm_object_free(object);
    diag_free(&diag);
    return 0;
}
