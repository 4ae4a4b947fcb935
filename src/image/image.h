/* Pictures for calibration: PNG, JPEG and binary PPM/PGM files as 8-bit RGB, and Pillow's
 * resampling, which the preprocessing of published models is defined by. */
#pragma once

#include "base/diag.h"

#include <stdint.h>

typedef struct Image {
    uint32_t width, height;
    uint8_t *rgb; /* rows from the top, three bytes a pixel; mem_free by image_free */
} Image;

/* What the file is, its first bytes tell. Grey becomes equal red, green and blue, 16 bits their
 * upper eight, palettes their colours; transparency is dropped. Errors: ERR_FILE_*, ERR_IMAGE_KIND,
 * ERR_IMAGE_DAMAGED, ERR_NO_MEMORY. */
Status image_read(const char *path, Image *image, Diag *diag);
Status image_parse(const uint8_t *bytes, size_t size, const char *path, Image *image, Diag *diag);
void image_free(Image *image);

typedef enum ImageFilter { IMAGE_BILINEAR, IMAGE_BICUBIC } ImageFilter;

/* Pillow's resize, bit by bit (checked against 9.4): horizontal, then vertical pass, weights of 22
 * bits, each pass rounded to bytes; bicubic with a = -0.5; both widened when shrinking. width and
 * height > 0. `to` is made. */
Status image_resize(const Image *from, uint32_t width, uint32_t height, ImageFilter filter,
                    Image *to, Diag *diag);
/* A copy of a rectangle that lies in the picture. */
Status image_crop(const Image *from, uint32_t left, uint32_t top, uint32_t width, uint32_t height,
                  Image *to, Diag *diag);

/* CRC-32 (that of PNG and zlib) of bytes; begin with 0. */
uint32_t image_crc32(uint32_t crc, const void *bytes, size_t size);
