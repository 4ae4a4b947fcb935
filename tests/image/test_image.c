/* Pictures: readers, resampling against Pillow's results, hostile files. */
#include "testing.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/random.h"
#include "image/image.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

enum { WIDTH = 13, HEIGHT = 7 };

static void make_pixels(uint8_t *rgb, size_t count, uint64_t seed) {
    Random random = random_seed(seed);
    for (size_t i = 0; i < count; i++)
        rgb[i] = (uint8_t)random_below(&random, 256);
}

static void expect_pixels(const uint8_t *bytes, size_t size, const uint8_t *rgb) {
    Diag diag = {0};
    Image image;
    if (image_parse(bytes, size, "f", &image, &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        fail();
    }
    assert_int_equal(image.width, WIDTH);
    assert_int_equal(image.height, HEIGHT);
    assert_memory_equal(image.rgb, rgb, 3 * WIDTH * HEIGHT);
    image_free(&image);
}

static void refuse(const uint8_t *bytes, size_t size, Status code) {
    Diag diag = {0};
    Image image;
    assert_int_equal(image_parse(bytes, size, "f", &image, &diag), code);
    assert_null(image.rgb);
    assert_int_equal(diag.errors, 1);
    diag_free(&diag);
}

/* A PNG of any kind that libpng's simplified interface writes. */
static png_bytep make_png(uint32_t format, const void *pixels, size_t *size) {
    png_image png = {.version = PNG_IMAGE_VERSION, .width = WIDTH, .height = HEIGHT};
    png.format = format;
    png_alloc_size_t bytes = 0;
    assert_true(png_image_write_to_memory(&png, NULL, &bytes, 0, pixels, 0, NULL));
    png_bytep out = mem_alloc(bytes, 1);
    assert_true(png_image_write_to_memory(&png, out, &bytes, 0, pixels, 0, NULL));
    *size = bytes;
    return out;
}

static void test_png(void **state) {
    (void)state;
    uint8_t rgb[3 * WIDTH * HEIGHT], rgba[4 * WIDTH * HEIGHT], grey[WIDTH * HEIGHT];
    make_pixels(rgb, sizeof rgb, 1);
    size_t size;
    png_bytep png = make_png(PNG_FORMAT_RGB, rgb, &size);
    expect_pixels(png, size, rgb);
    for (size_t cut = 8; cut < size; cut += 5)
        refuse(png, cut, ERR_IMAGE_DAMAGED);
    png[size / 2] ^= 0x10; /* in the compressed data */
    refuse(png, size, ERR_IMAGE_DAMAGED);
    mem_free(png);
    for (size_t i = 0; i < WIDTH * HEIGHT; i++) {
        memcpy(rgba + 4 * i, rgb + 3 * i, 3);
        rgba[4 * i + 3] = (uint8_t)(i * 7);
    }
    png = make_png(PNG_FORMAT_RGBA, rgba, &size);
    expect_pixels(png, size, rgb); /* transparency is dropped, not mixed in */
    mem_free(png);
    make_pixels(grey, sizeof grey, 2);
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = grey[i / 3];
    png = make_png(PNG_FORMAT_GRAY, grey, &size);
    expect_pixels(png, size, rgb);
    mem_free(png);
}

static void test_pnm(void **state) {
    (void)state;
    uint8_t rgb[3 * WIDTH * HEIGHT], file[400];
    make_pixels(rgb, sizeof rgb, 3);
    int header =
        snprintf((char *)file, sizeof file, "P6\n# a comment\n%d %d\n255\n", WIDTH, HEIGHT);
    memcpy(file + header, rgb, sizeof rgb);
    size_t size = (size_t)header + sizeof rgb;
    expect_pixels(file, size, rgb);
    refuse(file, size - 1, ERR_IMAGE_DAMAGED);
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = rgb[i / 3];
    header = snprintf((char *)file, sizeof file, "P5 %d %d 255 ", WIDTH, HEIGHT);
    for (size_t i = 0; i < WIDTH * HEIGHT; i++)
        file[(size_t)header + i] = rgb[3 * i];
    expect_pixels(file, (size_t)header + WIDTH * HEIGHT, rgb);
    static const char *const bad[] = {
        "P6 0 1 255 ", "P6 1 1 65535 aaaaaa", "P6 1 1 255",           "P6 99999 1 255 a",
        "P6 x",        "P6 1 1 254 aaa",      "P6 99999999999 1 255 "};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refuse((const uint8_t *)bad[i], strlen(bad[i]), ERR_IMAGE_DAMAGED);
    refuse((const uint8_t *)"P3 1 1 255 0 0 0", 16, ERR_IMAGE_KIND);
    refuse((const uint8_t *)"", 0, ERR_IMAGE_KIND);
    Diag diag = {0};
    Image image;
    assert_int_equal(image_read("/nowhere/picture.png", &image, &diag), ERR_FILE_OPEN);
    diag_free(&diag);
}

static uint8_t *make_jpeg(const uint8_t *rgb, size_t *size) {
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct jpeg = {.err = jpeg_std_error(&errors)};
    unsigned char *out = NULL;
    unsigned long bytes = 0;
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out, &bytes);
    jpeg.image_width = WIDTH;
    jpeg.image_height = HEIGHT;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < HEIGHT; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(rgb + (size_t)3 * WIDTH * (size_t)y);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    *size = bytes;
    return out;
}

static void test_jpeg(void **state) {
    (void)state;
    uint8_t rgb[3 * WIDTH * HEIGHT];
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(60 + i % (3 * WIDTH) * 2);
    size_t size;
    uint8_t *jpeg = make_jpeg(rgb, &size);
    Diag diag = {0};
    Image image;
    assert_int_equal(image_parse(jpeg, size, "f", &image, &diag), STATUS_OK);
    for (size_t i = 0; i < sizeof rgb; i++)
        assert_true(abs(image.rgb[i] - rgb[i]) < 24);
    image_free(&image);
    refuse(jpeg, size / 2, ERR_IMAGE_DAMAGED);
    refuse(jpeg, 3, ERR_IMAGE_DAMAGED);
    refuse(jpeg, size - 40, ERR_IMAGE_DAMAGED);
    free(jpeg);
}

static void test_resize(void **state) {
    (void)state;
    Image image = {WIDTH, HEIGHT, mem_alloc(3 * WIDTH * HEIGHT, 1)}, same, flat, crop;
    make_pixels(image.rgb, 3 * WIDTH * HEIGHT, 4);
    /* The same size is the same picture, one colour stays one colour. */
    assert_int_equal(image_resize(&image, WIDTH, HEIGHT, IMAGE_BICUBIC, &same, NULL), STATUS_OK);
    assert_memory_equal(same.rgb, image.rgb, 3 * WIDTH * HEIGHT);
    assert_int_equal(image_crop(&image, 3, 2, 4, 5, &crop, NULL), STATUS_OK);
    assert_memory_equal(crop.rgb, image.rgb + 3 * (2 * WIDTH + 3), 12);
    memset(image.rgb, 200, 3 * WIDTH * HEIGHT);
    for (ImageFilter filter = IMAGE_BILINEAR; filter <= IMAGE_BICUBIC; filter++) {
        assert_int_equal(image_resize(&image, 5, 31, filter, &flat, NULL), STATUS_OK);
        for (size_t i = 0; i < (size_t)3 * 5 * 31; i++)
            assert_int_equal(flat.rgb[i], 200);
        image_free(&flat);
    }
    image_free(&image);
    image_free(&same);
    image_free(&crop);
}

/* With TW_PHOTOS, the folder skimage/data of Debian's python3-skimage: pixels as Pillow 9.4 gives.
 */
static void test_photos(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t source, resized;
    } photos[] = {{"astronaut.png", 0xFDCAA55F, 0xBC92ADDC},
                  {"chelsea.png", 0x0F829D59, 0x223959A4},
                  {"coffee.png", 0xACF41373, 0xB3ED165F}};
    static const struct {
        uint32_t box[4], crc;
    } lines[] = {{{2, 11, 296, 33}, 0xB2209EBD},   {{2, 47, 382, 65}, 0xD9DF400B},
                 {{2, 64, 382, 83}, 0x04B55942},   {{2, 80, 382, 102}, 0xD9A796E0},
                 {{2, 98, 382, 119}, 0xC0D2DB0F},  {{2, 114, 180, 138}, 0x517A5B94},
                 {{14, 166, 246, 190}, 0x1641E1D4}};
    const char *folder = getenv("TW_PHOTOS");
    if (!folder)
        skip();
    Image image, resized, crop;
    for (size_t i = 0; i < COUNT_OF(photos); i++) {
        char *path = mem_printf("%s/%s", folder, photos[i].name);
        assert_int_equal(image_read(path, &image, NULL), STATUS_OK);
        assert_int_equal(image_crc32(0, image.rgb, (size_t)3 * image.width * image.height),
                         photos[i].source);
        assert_int_equal(image_resize(&image, 384, 384, IMAGE_BICUBIC, &resized, NULL), STATUS_OK);
        assert_int_equal(image_crc32(0, resized.rgb, (size_t)3 * 384 * 384), photos[i].resized);
        image_free(&image);
        image_free(&resized);
        mem_free(path);
    }
    char *path = mem_printf("%s/page.png", folder);
    assert_int_equal(image_read(path, &image, NULL), STATUS_OK);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const uint32_t *b = lines[i].box;
        uint32_t width = b[2] - b[0], height = b[3] - b[1];
        uint32_t wide = (uint32_t)(48.0 * width / height + 0.5);
        assert_int_equal(image_crop(&image, b[0], b[1], width, height, &crop, NULL), STATUS_OK);
        assert_int_equal(image_resize(&crop, wide, 48, IMAGE_BILINEAR, &resized, NULL), STATUS_OK);
        uint32_t crc = 0;
        for (size_t p = 0; p < (size_t)wide * 48; p++)
            crc = image_crc32(crc, resized.rgb + 3 * p, 1); /* grey */
        assert_int_equal(crc, lines[i].crc);
        image_free(&crop);
        image_free(&resized);
    }
    image_free(&image);
    mem_free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png),    cmocka_unit_test(test_pnm),    cmocka_unit_test(test_jpeg),
        cmocka_unit_test(test_resize), cmocka_unit_test(test_photos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
