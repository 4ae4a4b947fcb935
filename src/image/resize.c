#include "image/image.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

enum { WEIGHT_BITS = 22 };

/* For each output sample: its first input sample, how many, and their integer weights. */
typedef struct Taps {
    uint32_t most; /* of any output */
    uint32_t *first, *count;
    int32_t *weights; /* most for each output */
} Taps;

static void taps_free(Taps *taps) {
    mem_free(taps->first);
    mem_free(taps->count);
    mem_free(taps->weights);
}

static double kernel(ImageFilter filter, double t) {
    t = fabs(t);
    if (filter == IMAGE_BILINEAR)
        return t < 1 ? 1 - t : 0;
    if (t < 1)
        return (1.5 * t - 2.5) * t * t + 1;
    return t < 2 ? -0.5 * (((t - 5) * t + 8) * t - 4) : 0;
}

static void make_tap(Taps *taps, uint32_t from, uint32_t to, ImageFilter filter, uint32_t i,
                     double *values) {
    double scale = (double)from / (double)to, stretch = fmax(scale, 1);
    double support = stretch * (filter == IMAGE_BICUBIC ? 2 : 1);
    double centre = (i + 0.5) * scale;
    double low = trunc(centre - support + 0.5), high = trunc(centre + support + 0.5);
    uint32_t first = low > 0 ? (uint32_t)low : 0;
    uint32_t end = high < (double)from ? (uint32_t)high : from;
    double sum = 0;
    for (uint32_t x = first; x < end; x++)
        sum += values[x - first] = kernel(filter, ((double)x - centre + 0.5) / stretch);
    taps->first[i] = first;
    taps->count[i] = end - first;
    for (uint32_t k = 0; k < end - first; k++) {
        double weight = values[k] / sum * (1 << WEIGHT_BITS);
        taps->weights[(size_t)i * taps->most + k] =
            (int32_t)(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
}

static bool taps_make(Taps *taps, uint32_t from, uint32_t to, ImageFilter filter) {
    double stretch = fmax((double)from / (double)to, 1);
    *taps = (Taps){.most = 2 * (uint32_t)ceil(stretch * 2) + 2};
    taps->first = mem_alloc(to, sizeof *taps->first);
    taps->count = mem_alloc(to, sizeof *taps->count);
    taps->weights = mem_alloc((size_t)to * taps->most, sizeof *taps->weights);
    double *values = mem_alloc(taps->most, sizeof *values);
    bool made = taps->first && taps->count && taps->weights && values;
    for (uint32_t i = 0; i < to && made; i++)
        make_tap(taps, from, to, filter, i, values);
    mem_free(values);
    return made;
}

/* One output sample from inputs `step` bytes apart. */
static uint8_t blend(const uint8_t *in, size_t step, const int32_t *weights, uint32_t count) {
    int32_t sum = 1 << (WEIGHT_BITS - 1);
    for (uint32_t k = 0; k < count; k++)
        sum += weights[k] * in[k * step];
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static void pass_rows(const Image *from, const Taps *taps, Image *to) {
    for (uint32_t y = 0; y < to->height; y++) {
        const uint8_t *in = from->rgb + 3 * (size_t)from->width * y;
        uint8_t *out = to->rgb + 3 * (size_t)to->width * y;
        for (uint32_t x = 0; x < to->width; x++)
            for (unsigned c = 0; c < 3; c++)
                out[3 * x + c] = blend(in + 3 * (size_t)taps->first[x] + c, 3,
                                       taps->weights + (size_t)x * taps->most, taps->count[x]);
    }
}

static void pass_columns(const Image *from, const Taps *taps, Image *to) {
    size_t stride = 3 * (size_t)from->width;
    for (uint32_t y = 0; y < to->height; y++)
        for (size_t i = 0; i < stride; i++)
            to->rgb[y * stride + i] = blend(from->rgb + taps->first[y] * stride + i, stride,
                                            taps->weights + (size_t)y * taps->most, taps->count[y]);
}

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the picture");
}

static bool make(Image *image, uint32_t width, uint32_t height) {
    *image = (Image){width, height, mem_alloc((size_t)width * height, 3)};
    return image->rgb != NULL;
}

Status image_resize(const Image *from, uint32_t width, uint32_t height, ImageFilter filter,
                    Image *to, Diag *diag) {
    Taps across = {0}, down = {0};
    Image wide = {0};
    *to = (Image){0};
    bool made = make(&wide, width, from->height) && make(to, width, height) &&
                taps_make(&across, from->width, width, filter) &&
                taps_make(&down, from->height, height, filter);
    if (made) {
        pass_rows(from, &across, &wide);
        pass_columns(&wide, &down, to);
    } else {
        image_free(to);
    }
    image_free(&wide);
    taps_free(&across);
    taps_free(&down);
    return made ? STATUS_OK : no_memory(diag);
}

Status image_crop(const Image *from, uint32_t left, uint32_t top, uint32_t width, uint32_t height,
                  Image *to, Diag *diag) {
    if (!make(to, width, height))
        return no_memory(diag);
    for (uint32_t y = 0; y < height; y++)
        memcpy(to->rgb + 3 * (size_t)width * y,
               from->rgb + 3 * ((size_t)from->width * (top + y) + left), 3 * (size_t)width);
    return STATUS_OK;
}

uint32_t image_crc32(uint32_t crc, const void *bytes, size_t size) {
    return (uint32_t)crc32_z(crc, bytes, size);
}
