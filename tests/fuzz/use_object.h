/* What every object must bear, whether it was assembled or read from a file. */
#pragma once

#include "asm/asm.h"

#include <stdlib.h>

static inline void use_object(const AsmObject *object) {
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
