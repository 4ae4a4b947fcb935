#include "image/image.h"

#include "base/file.h"
#include "base/mem.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

#include <jpeglib.h>

enum { LARGEST_SIDE = 32768 }; /* a picture beyond that is a mistake or an attack */

static DiagPlace in_file(const char *path) {
    return (DiagPlace){.file = path, .tile = -1};
}

static Status damaged(const char *path, const char *why, Diag *diag) {
    return diag_error(diag, ERR_IMAGE_DAMAGED, in_file(path), "%s", why);
}

static Status make_image(const char *path, uint64_t width, uint64_t height, Image *image,
                         Diag *diag) {
    if (width == 0 || height == 0 || width > LARGEST_SIDE || height > LARGEST_SIDE)
        return diag_error(diag, ERR_IMAGE_DAMAGED, in_file(path),
                          "%llu × %llu pixels are none, or more than %d a side",
                          (unsigned long long)width, (unsigned long long)height, LARGEST_SIDE);
    *image = (Image){(uint32_t)width, (uint32_t)height, mem_alloc(width * height, 3)};
    if (!image->rgb)
        return diag_error(diag, ERR_NO_MEMORY, in_file(path), "no memory left for the picture");
    return STATUS_OK;
}

void image_free(Image *image) {
    mem_free(image->rgb);
    *image = (Image){0};
}

/* ---- PNG: libpng's simplified interface converts to RGB; a transparent pixel keeps its colour
 * only when alpha is read too. */
static void drop_alpha(const uint8_t *rgba, size_t count, uint8_t *rgb) {
    for (size_t i = 0; i < count; i++)
        memcpy(rgb + 3 * i, rgba + 4 * i, 3);
}

typedef struct PngSource {
    const uint8_t *bytes;
    size_t left;
} PngSource;

static void png_take(png_structp png, png_bytep out, size_t size) {
    PngSource *source = png_get_io_ptr(png);
    if (size > source->left)
        png_error(png, "the file is cut off");
    memcpy(out, source->bytes, size);
    source->bytes += size;
    source->left -= size;
}

typedef struct PngProblem {
    jmp_buf jump;
    char text[128];
} PngProblem;

static void png_failed(png_structp png, png_const_charp text) {
    PngProblem *problem = png_get_error_ptr(png);
    snprintf(problem->text, sizeof problem->text, "%s", text);
    longjmp(problem->jump, 1);
}

static void png_quiet(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

/* Rows as RGBA into `pixels`, which is made; also on failure it is the caller's. */
static Status png_decode(png_structp png, png_infop info, PngSource *source, PngProblem *problem,
                         const char *path, Image *image, uint8_t **pixels, Diag *diag) {
    if (setjmp(problem->jump))
        return damaged(path, problem->text, diag);
    png_set_read_fn(png, source, png_take);
    png_set_user_limits(png, LARGEST_SIDE, LARGEST_SIDE);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    Status status = make_image(path, png_get_image_width(png, info),
                               png_get_image_height(png, info), image, diag);
    if (status != STATUS_OK)
        return status;
    size_t stride = 4 * (size_t)image->width;
    *pixels = mem_alloc(image->height, stride);
    if (!*pixels)
        return diag_error(diag, ERR_NO_MEMORY, in_file(path), "no memory left for the picture");
    if (png_get_rowbytes(png, info) != stride)
        return damaged(path, "a kind of PNG that is not read here", diag);
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < image->height; y++)
            png_read_row(png, *pixels + y * stride, NULL);
    png_read_end(png, NULL);
    drop_alpha(*pixels, (size_t)image->width * image->height, image->rgb);
    return STATUS_OK;
}

static Status read_png(const uint8_t *bytes, size_t size, const char *path, Image *image,
                       Diag *diag) {
    PngSource source = {bytes, size};
    PngProblem problem;
    uint8_t *pixels = NULL;
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &problem, png_failed, png_quiet);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    Status status = info ? png_decode(png, info, &source, &problem, path, image, &pixels, diag)
                         : diag_error(diag, ERR_NO_MEMORY, in_file(path), "no memory left");
    png_destroy_read_struct(&png, &info, NULL);
    mem_free(pixels);
    return status;
}

/* ---- JPEG */
typedef struct JpegProblem {
    struct jpeg_error_mgr manager; /* first: the library hands out its address */
    jmp_buf jump;
    char text[JMSG_LENGTH_MAX];
} JpegProblem;

static void jpeg_failed(j_common_ptr jpeg) {
    JpegProblem *problem = (JpegProblem *)jpeg->err;
    jpeg->err->format_message(jpeg, problem->text);
    longjmp(problem->jump, 1);
}

/* Warnings tell of damaged data, which the library would replace by grey. */
static void jpeg_message(j_common_ptr jpeg, int level) {
    if (level < 0)
        jpeg_failed(jpeg);
}

static Status jpeg_decode(struct jpeg_decompress_struct *jpeg, JpegProblem *problem,
                          const uint8_t *bytes, size_t size, const char *path, Image *image,
                          Diag *diag) {
    if (setjmp(problem->jump))
        return damaged(path, problem->text, diag);
    jpeg_create_decompress(jpeg);
    jpeg_mem_src(jpeg, bytes, size);
    jpeg_read_header(jpeg, TRUE);
    jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    Status status = make_image(path, jpeg->output_width, jpeg->output_height, image, diag);
    if (status != STATUS_OK)
        return status;
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = image->rgb + 3 * (size_t)image->width * jpeg->output_scanline;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
    return STATUS_OK;
}

static Status read_jpeg(const uint8_t *bytes, size_t size, const char *path, Image *image,
                        Diag *diag) {
    JpegProblem problem;
    struct jpeg_decompress_struct jpeg = {.err = jpeg_std_error(&problem.manager)};
    problem.manager.error_exit = jpeg_failed;
    problem.manager.emit_message = jpeg_message;
    Status status = jpeg_decode(&jpeg, &problem, bytes, size, path, image, diag);
    jpeg_destroy_decompress(&jpeg);
    return status;
}

/* ---- binary PPM (P6) and PGM (P5) with at most 255 levels */
typedef struct Text {
    const uint8_t *at, *end;
} Text;

static bool take_number(Text *text, uint32_t *number) {
    while (text->at < text->end && (strchr(" \t\r\n", *text->at) || *text->at == '#')) {
        if (*text->at == 0)
            return false;
        if (*text->at++ == '#')
            while (text->at < text->end && *text->at != '\n')
                text->at++;
    }
    const uint8_t *start = text->at;
    for (*number = 0; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        if (*number > LARGEST_SIDE)
            return false;
        *number = *number * 10 + (uint32_t)(*text->at - '0');
    }
    return text->at > start;
}

static Status read_pnm(const uint8_t *bytes, size_t size, const char *path, Image *image,
                       Diag *diag) {
    unsigned channels = bytes[1] == '6' ? 3 : 1;
    Text text = {bytes + 2, bytes + size};
    uint32_t width, height, most;
    if (!take_number(&text, &width) || !take_number(&text, &height) || !take_number(&text, &most) ||
        most != 255 || text.at == text.end)
        return damaged(path, "the header is not that of an 8-bit PPM or PGM picture", diag);
    text.at++;
    Status status = make_image(path, width, height, image, diag);
    if (status != STATUS_OK)
        return status;
    size_t count = (size_t)width * height, left = (size_t)(text.end - text.at);
    if (left < count * channels)
        return diag_error(diag, ERR_IMAGE_DAMAGED, in_file(path),
                          "the file is cut off: %zu bytes of pixels are missing",
                          count * channels - left);
    for (size_t i = 0; i < 3 * count; i++)
        image->rgb[i] = text.at[channels == 3 ? i : i / 3];
    return STATUS_OK;
}

Status image_parse(const uint8_t *bytes, size_t size, const char *path, Image *image, Diag *diag) {
    *image = (Image){0};
    Status status;
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        status = read_png(bytes, size, path, image, diag);
    else if (size >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0)
        status = read_jpeg(bytes, size, path, image, diag);
    else if (size >= 3 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6'))
        status = read_pnm(bytes, size, path, image, diag);
    else
        status = diag_error(diag, ERR_IMAGE_KIND, in_file(path),
                            "the file is no PNG, JPEG or binary PPM picture");
    if (status != STATUS_OK)
        image_free(image);
    return status;
}

Status image_read(const char *path, Image *image, Diag *diag) {
    FileMap map;
    *image = (Image){0};
    Status status = file_map(path, &map, diag);
    if (status != STATUS_OK)
        return status;
    status = image_parse(map.bytes, map.size, path, image, diag);
    file_unmap(&map);
    return status;
}
