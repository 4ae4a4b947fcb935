/* The SafeTensors reader against files made by hand, each hostile one refused with its rule; the
 * writer; round trips. */
#include "testing.h"

#include "base/progress.h"
#include "base/random.h"
#include "model/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct File {
    uint8_t *bytes;
    size_t size;
} File;

/* A file with this header text, header length and `data` zero bytes behind it. */
static File make_file_length(const char *header, size_t size, uint64_t length, size_t data) {
    File file = {mem_alloc(8 + size + data, 1), 8 + size + data};
    assert_non_null(file.bytes);
    for (int i = 0; i < 8; i++)
        file.bytes[i] = (uint8_t)(length >> (8 * i));
    memcpy(file.bytes + 8, header, size);
    return file;
}

static File make_file(const char *header, size_t data) {
    return make_file_length(header, strlen(header), strlen(header), data);
}

static Status parse_file(File file, SafeTensors **parsed, Diag *diag) {
    Status status = safetensors_parse(file.bytes, file.size, "f", parsed, diag);
    assert_int_equal(status, diag_status(diag));
    return status;
}

/* Expects the file to be refused with this code and a message that holds `text`. */
static void refuse(File file, Status code, const char *text) {
    Diag diag = {0};
    SafeTensors *parsed = NULL;
    Status status = parse_file(file, &parsed, &diag);
    if (status != code || !strstr(diag.entries[0].text, text))
        fail_msg("expected %s \"%s\", found %s \"%s\"", status_code(code), text,
                 status_code(status), diag.count ? diag.entries[0].text : "");
    assert_null(parsed);
    diag_free(&diag);
    mem_free(file.bytes);
}

static void refuse_header(const char *header, size_t data, Status code, const char *text) {
    refuse(make_file(header, data), code, text);
}

#define U8(shape, begin, end)                                                                      \
    "{\"dtype\":\"U8\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

static void test_header_length(void **state) {
    (void)state;
    static const char header[] = "{}      ";
    static const struct {
        uint64_t length;
        const char *text;
    } cases[] = {
        {UINT64_MAX, "header length 18446744073709551615 exceeds the limit"},
        {1ull << 63, "header length 9223372036854775808 exceeds the limit"},
        {100000001, "header length 100000001 exceeds the limit"},
        {100000000, "ends 99999992 bytes beyond the end of the file"},
        {16 - 7, "the header of 9 bytes ends 1 bytes beyond the end of the file"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refuse(make_file_length(header, 8, cases[i].length, 0), ERR_ST_HEADER, cases[i].text);
    for (size_t size = 0; size < 8; size++) {
        File file = make_file(header, 0);
        file.size = size;
        refuse(file, ERR_ST_HEADER, "too few for the length of a header");
    }
    refuse(make_file_length("", 0, 0, 0), ERR_ST_JSON, "expected '{'");
}

static void test_json(void **state) {
    (void)state;
    static const struct {
        const char *header, *text;
    } cases[] = {
        {"\xff", "expected '{'"},
        {"{", "expected '\"'"},
        {"[]", "expected '{'"},
        {"{}x", "expected nothing after the header's object"},
        {"{}{}", "expected nothing after the header's object"},
        {"{\"a\"}", "expected ':'"},
        {"{\"a\":" U8("", "0", "1") ",}", "expected '\"'"},
        {"{\"a\":" U8("", "0", "1") " \"b\"}", "expected ','"},
        {"{\"a\":" U8("", "0", "1"), "expected ','"},
        {"{\"a", "expected '\"' at the end of a string"},
        {"{\"a\xff\":1}", "expected valid UTF-8"},
        {"{\"\xC0\x80\":1}", "expected valid UTF-8"},
        {"{\"a\nb\":1}", "expected no control character"},
        {"{\"a\\0\":1}", "expected an escape sequence"},
        {"{\"\\u0000\":1}", "expected no NUL character"},
        {"{\"\\u00g0\":1}", "expected four hexadecimal digits"},
        {"{\"\\ud800\":1}", "expected a low surrogate"},
        {"{\"\\ud800\\u0041\":1}", "expected a low surrogate"},
        {"{\"\\udc00\":1}", "expected no lone low surrogate"},
        {"{\"a\":{\"x\":[[[1]]]}}", "expected no deeper nesting"},
        {"{\"a\":{\"x\":{\"y\":{\"z\":{}}}}}", "expected no deeper nesting"},
        {"{\"a\":{\"x\":01}}", "expected ','"},
        {"{\"a\":{\"x\":-}}", "expected a digit"},
        {"{\"a\":{\"x\":1.}}", "expected a digit"},
        {"{\"a\":{\"x\":1e}}", "expected a digit"},
        {"{\"a\":{\"x\":nul}}", "expected a value"},
        {"{\"a\":{\"x\":+1}}", "expected a value"},
        {"{\"a\":{\"x\":[1,]}}", "expected a value"},
        {"{\"a\":{\"x\":[1 2]}}", "expected ','"},
        {"{\"a\":{\"x\":{\"y\" 2}}}", "expected ':'"},
        {"{\"a\":{\"x\":{2}}}", "expected '\"'"},
        {"{\"a\":{\"x\":\"\xff\"}}", "expected valid UTF-8"},
        {"{\"a\":{\"x\":", "expected a value"},
        {"{\"a\":{\"dtype\":\"\\x\"}}", "expected an escape sequence"},
        {"{\"__metadata__\":{\"a\":\"b\"", "expected ','"},
        {"{\"__metadata__\":{\"a\":\"\xff\"}}", "expected valid UTF-8"},
        {"{\"a\":{\"shape\":[1", "expected ','"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refuse_header(cases[i].header, 1, ERR_ST_JSON, cases[i].text);
}

static void test_deep_nesting(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    char *header = mem_alloc(2 * DEPTH + 64, 1);
    strcpy(header, "{\"a\":{\"x\":");
    memset(header + strlen(header), '[', DEPTH);
    refuse_header(header, 0, ERR_ST_JSON, "expected no deeper nesting");
    mem_free(header);
}

static void test_entries(void **state) {
    (void)state;
    static const struct {
        const char *header;
        Status code;
        const char *text;
    } cases[] = {
        {"{\"a\":1}", ERR_ST_ENTRY, "the entry must be an object"},
        {"{\"a\":{}}", ERR_ST_ENTRY, "dtype is missing"},
        {"{\"a\":{\"dtype\":\"U8\"}}", ERR_ST_ENTRY, "shape is missing"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", ERR_ST_ENTRY, "data_offsets is missing"},
        {"{\"a\":{\"shape\":[],\"data_offsets\":[0,1]}}", ERR_ST_ENTRY, "dtype is missing"},
        {"{\"a\":{\"dtype\":8}}", ERR_ST_ENTRY, "dtype must be a string"},
        {"{\"a\":{\"dtype\":\"F7\"}}", ERR_ST_DTYPE, "unknown dtype \"F7\""},
        {"{\"a\":{\"dtype\":\"\\u001b[2J\"}}", ERR_ST_DTYPE, "unknown dtype \"?[2J\""},
        {"{\"a\":{\"shape\":4}}", ERR_ST_ENTRY, "shape must be an array"},
        {"{\"a\":" U8("-1", "0", "1") "}", ERR_ST_ENTRY, "a dimension must be a whole number"},
        {"{\"a\":" U8("1.0", "0", "1") "}", ERR_ST_ENTRY, "a dimension must be a whole number"},
        {"{\"a\":" U8("1e3", "0", "1") "}", ERR_ST_ENTRY, "a dimension must be a whole number"},
        {"{\"a\":" U8("\"2\"", "0", "1") "}", ERR_ST_ENTRY, "a dimension must be a whole number"},
        {"{\"a\":" U8("01", "0", "1") "}", ERR_ST_ENTRY, "a dimension must be a whole number"},
        {"{\"a\":" U8("18446744073709551616", "0", "1") "}", ERR_ST_ENTRY,
         "a dimension must be a number below 2^64"},
        {"{\"a\":" U8("281474976710656", "0", "1") "}", ERR_ST_SHAPE, "2^48 or more"},
        {"{\"a\":" U8("2,18446744073709551614", "0", "1") "}", ERR_ST_SHAPE, "2^48 or more"},
        {"{\"a\":" U8("2,9223372036854775807", "0", "1") "}", ERR_ST_SHAPE, "2^48 or more"},
        {"{\"a\":" U8("140737488355328,140737488355328", "0", "1") "}", ERR_ST_SHAPE,
         "the product of the dimensions exceeds 64 bits"},
        {"{\"a\":" U8("281474976710655,65535", "0", "1") "}", ERR_ST_SHAPE,
         "the number of bits exceeds 64 bits"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", ERR_ST_SHAPE,
         "3 elements of F4 are no whole number of bytes"},
        {"{\"a\":{\"data_offsets\":[0]}}", ERR_ST_ENTRY, "data_offsets must be two numbers"},
        {"{\"a\":{\"data_offsets\":[0,1,2]}}", ERR_ST_ENTRY, "data_offsets must be two numbers"},
        {"{\"a\":{\"data_offsets\":[0,-1]}}", ERR_ST_ENTRY, "an offset must be a whole number"},
        {"{\"a\":" U8("1", "1", "0") "}", ERR_ST_OFFSETS, "begin (1) after they end (0)"},
        {"{\"a\":" U8("3", "0", "1") "}", ERR_ST_OFFSETS, "span 1 bytes, but its shape takes 3"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,16]}}", ERR_ST_OFFSETS,
         "span 16 bytes, but its shape takes 32"},
        {"{\"a\":" U8("5", "0", "5") "}", ERR_ST_OFFSETS,
         "its data ends at byte 5, 4 bytes beyond the end of the file"},
        {"{\"a\":" U8("1", "1", "2") "}", ERR_ST_OFFSETS, "leaving a hole"},
        {"{\"a\":" U8("1", "18446744073709551615", "0") "}", ERR_ST_OFFSETS, "after they end"},
        {"{}", ERR_ST_OFFSETS, "1 bytes follow the last tensor"},
        {"{\"a\":" U8("0", "0", "0") "}", ERR_ST_OFFSETS, "1 bytes follow the last tensor"},
        {"{\"a\":" U8("1", "0", "1") ",\"a\":" U8("0", "0", "0") "}", ERR_ST_DUPLICATE,
         "two tensors have the name \"a\""},
        {"{\"a\":" U8("1", "0", "1") ",\"a\":" U8("1", "0", "1") "}", ERR_ST_DUPLICATE,
         "two tensors have the name \"a\""},
        {"{\"a\":" U8("1", "0", "1") ",\"\\u0061\":" U8("0", "1", "1") "}", ERR_ST_DUPLICATE,
         "two tensors have the name \"a\""},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", ERR_ST_DUPLICATE, "dtype is given twice"},
        {"{\"a\":{\"shape\":[1],\"shape\":[1]}}", ERR_ST_DUPLICATE, "shape is given twice"},
        {"{\"__metadata__\":[]}", ERR_ST_METADATA, "__metadata__ is no object"},
        {"{\"__metadata__\":{\"k\":1}}", ERR_ST_METADATA, "metadata value of \"k\" is no string"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", ERR_ST_DUPLICATE,
         "__metadata__ is given twice"},
        {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"},\"a\":" U8("1", "0", "1") "}", ERR_ST_DUPLICATE,
         "metadata has the key \"k\" twice"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refuse_header(cases[i].header, 1, cases[i].code, cases[i].text);
}

static void test_missing_bytes_are_counted(void **state) {
    (void)state;
    refuse_header("{\"a\":" U8("16", "0", "16") "}", 14, ERR_ST_OFFSETS,
                  "its data ends at byte 16, 2 bytes beyond the end of the file");
    refuse_header("{\"a\":" U8("16", "0", "16") "}", 17, ERR_ST_OFFSETS,
                  "1 bytes follow the last tensor");
}

static void test_overlap(void **state) {
    (void)state;
    char header[2000] = "{";
    for (int i = 0; i < 10; i++) {
        char entry[120];
        snprintf(entry, sizeof entry, "%s\"t%d\":" U8("16", "0", "16"), i ? "," : "", i);
        strcat(header, entry);
    }
    strcat(header, "}");
    refuse_header(header, 16, ERR_ST_OFFSETS, "overlapping");
}

static void test_accepted(void **state) {
    (void)state;
    File file = make_file(
        " \n{\"b\": {\"extra\": {\"deep\": [1, -0.5e+3, true, null, \"s\"]}, \"shape\": [2, 1],"
        "\"dtype\": \"U8\", \"data_offsets\": [1, 3]},\t\"__metadata__\": {\"k\": \"v\","
        "\"e\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u20AC\\ud83d\\ude00\"}, "
        "\"empty\": {\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[1,1]},"
        "\"a\":" U8("", "0", "1") ",\"\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[3,4]}}"
                                  "   ",
        4);
    uint8_t *data = file.bytes + file.size - 4;
    memcpy(data, "\x01\x02\x03\x04", 4);
    Diag diag = {0};
    SafeTensors *parsed;
    assert_int_equal(parse_file(file, &parsed, &diag), STATUS_OK);
    assert_int_equal(parsed->count, 4);
    static const char *const order[] = {"a", "empty", "b", ""};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(parsed->tensors[i].name, order[i]);
    const SafeTensor *b = safetensors_find(parsed, "b");
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->dims[0], 2);
    assert_int_equal(b->count, 2);
    assert_ptr_equal(b->data, data + 1);
    assert_int_equal(safetensors_find(parsed, "a")->rank, 0);
    assert_int_equal(safetensors_find(parsed, "a")->count, 1);
    assert_null(safetensors_find(parsed, "empty")->data);
    assert_int_equal(safetensors_find(parsed, "")->bytes, 1);
    assert_null(safetensors_find(parsed, "c"));
    assert_int_equal(parsed->metadata_count, 2);
    assert_string_equal(parsed->metadata[0].value, "\"\\/\b\f\n\r\tä€😀");
    assert_string_equal(parsed->metadata[1].value, "v");
    safetensors_close(parsed);
    mem_free(file.bytes);
    diag_free(&diag);
}

static void test_no_tensors(void **state) {
    (void)state;
    File file = make_file("{}      ", 0);
    Diag diag = {0};
    SafeTensors *parsed;
    assert_int_equal(parse_file(file, &parsed, &diag), STATUS_OK);
    assert_int_equal(parsed->count, 0);
    assert_null(safetensors_find(parsed, "a"));
    safetensors_close(parsed);
    mem_free(file.bytes);
}

static void test_find_reports(void **state) {
    (void)state;
    File file = make_file("{\"weight\":" U8("1", "0", "1") "}", 1);
    Diag diag = {0};
    SafeTensors *parsed;
    const SafeTensor *tensor;
    assert_int_equal(parse_file(file, &parsed, &diag), STATUS_OK);
    assert_int_equal(safetensors_get(parsed, "wieght", &tensor, &diag), ERR_MODEL_TENSOR);
    assert_string_equal(diag.entries[0].fix, "the nearest name is \"weight\"");
    assert_int_equal(safetensors_get(parsed, "bias", &tensor, &diag), ERR_MODEL_TENSOR);
    assert_string_equal(diag.entries[1].fix, "the file holds one tensor, \"weight\"");
    assert_int_equal(safetensors_get(parsed, "weight", &tensor, &diag), STATUS_OK);
    safetensors_close(parsed);
    mem_free(file.bytes);
    diag_free(&diag);
}

/* Time grows about linearly: each of a million entries costs about what each of 50,000 does. The
 * bound is wide, a quadratic step would exceed it a hundredfold. */
static void test_many_entries(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    enum { MANY = 100000 }; /* allocation is slow under the sanitizer */
#else
    enum { MANY = 1000000 };
#endif
    double seconds[2];
    for (int round = 0; round < 2; round++) {
        size_t count = round ? MANY : 50000;
        char *header = NULL;
        size_t size;
        FILE *out = open_memstream(&header, &size);
        fputc('{', out);
        for (size_t i = 0; i < count; i++) /* names in scattered order, all data empty */
            fprintf(out, "%s\"%08zx\":" U8("0", "0", "0"), i ? "," : "",
                    (i * 2654435761u) & 0xFFFFFFFF);
        fputc('}', out);
        fclose(out);
        File file = make_file_length(header, size, size, 0);
        free(header);
        SafeTensors *parsed;
        double start = clock_seconds();
        assert_int_equal(safetensors_parse(file.bytes, file.size, "f", &parsed, NULL), STATUS_OK);
        seconds[round] = clock_seconds() - start;
        assert_int_equal(parsed->count, count);
        safetensors_close(parsed);
        mem_free(file.bytes);
    }
    assert_true(seconds[1] < 40 * 20 * (seconds[0] + 0.001));
}

static void test_write(void **state) {
    (void)state;
    char path[] = "/tmp/tilework-safetensors-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    const uint64_t dims[] = {2, 3};
    const float floats[6] = {1, 2, 3, 4, 5, 6};
    const double doubles[1] = {0.5};
    const uint8_t bytes[6] = {9, 8, 7, 6, 5, 4};
    SafeTensor tensors[] = {
        {.name = "z\"\\\n", .dtype = DTYPE_U8, .rank = 2, .dims = dims, .bytes = 6, .data = bytes},
        {.name = "f2",
         .dtype = DTYPE_F32,
         .rank = 2,
         .dims = dims,
         .bytes = 24,
         .data = (const uint8_t *)floats},
        {.name = "a8",
         .dtype = DTYPE_F8_E4M3FNUZ,
         .rank = 2,
         .dims = dims,
         .bytes = 6,
         .data = bytes},
        {.name = "d", .dtype = DTYPE_F64, .bytes = 8, .data = (const uint8_t *)doubles},
    };
    SafeTensorsText metadata = {"made", "by \"hand\""};
    Diag diag = {0};
    Status status = safetensors_write(path, tensors, COUNT_OF(tensors), &metadata, 1, &diag);
    diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    SafeTensors *read;
    assert_int_equal(safetensors_open(path, &read, &diag), STATUS_OK);
    assert_int_equal(read->map.bytes[0] % 8, 0);
    static const char *const order[] = {"d", "f2", "a8", "z\"\\\n"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(read->tensors[i].name, order[i]);
    const SafeTensor *f2 = safetensors_find(read, "f2");
    assert_memory_equal(f2->data, floats, sizeof floats);
    assert_int_equal(f2->rank, 2);
    assert_int_equal(safetensors_find(read, "a8")->dtype, DTYPE_F8_E4M3FNUZ);
    assert_memory_equal(safetensors_find(read, "z\"\\\n")->data, bytes, 6);
    assert_int_equal(read->metadata_count, 1);
    assert_string_equal(read->metadata[0].value, "by \"hand\"");
    safetensors_close(read);

    /* An empty file is 8 + "{}      ". */
    assert_int_equal(safetensors_write(path, NULL, 0, NULL, 0, &diag), STATUS_OK);
    assert_int_equal(safetensors_open(path, &read, &diag), STATUS_OK);
    assert_int_equal(read->map.size, 16);
    assert_memory_equal(read->map.bytes, "\x08\0\0\0\0\0\0\0{}      ", 16);
    safetensors_close(read);
    unlink(path);
    diag_free(&diag);
}

static void test_write_refuses(void **state) {
    (void)state;
    const uint64_t dims[] = {2}, huge[] = {1ull << 40, 1ull << 40};
    const char path[] = "/tmp/tilework-unwritten.safetensors";
    SafeTensor tensor = {.name = "a", .dtype = DTYPE_U8, .rank = 1, .dims = dims, .bytes = 3};
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), ERR_ST_SHAPE);
    tensor = (SafeTensor){.name = "a", .dtype = DTYPE_U8, .rank = 2, .dims = huge, .bytes = 0};
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), ERR_ST_SHAPE);
    tensor = (SafeTensor){.name = "\xff",
                          .dtype = DTYPE_U8,
                          .rank = 1,
                          .dims = dims,
                          .bytes = 2,
                          .data = (const uint8_t *)"ab"};
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), ERR_ST_JSON);
    tensor.name = "__metadata__";
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), ERR_ST_METADATA);
    SafeTensorsText bad = {"k", "\xff"};
    assert_int_equal(safetensors_write(path, NULL, 0, &bad, 1, NULL), ERR_ST_METADATA);
    tensor.name = "a";
    assert_int_equal(safetensors_write("/nowhere/f", &tensor, 1, NULL, 0, NULL), ERR_FILE_WRITE);
    if (access("/dev/full", W_OK) == 0) /* no regular file */
        assert_int_equal(safetensors_write("/dev/full", &tensor, 1, NULL, 0, NULL), ERR_FILE_WRITE);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_without_memory(void **state) {
    (void)state;
    File file =
        make_file("{\"__metadata__\":{\"k\":\"v\"},\"w\":{\"x\":{\"y\":\"z\"},\"dtype\":\"U8\","
                  "\"shape\":[1],\"data_offsets\":[0,1]}}",
                  1);
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status != STATUS_OK; n++) {
        SafeTensors *parsed = NULL;
        Diag diag = {0};
        mem_fail_after(n);
        status = safetensors_parse(file.bytes, file.size, "f", &parsed, &diag);
        mem_fail_after(0);
        if (status != STATUS_OK)
            assert_int_equal(status, ERR_NO_MEMORY);
        safetensors_close(parsed);
        diag_free(&diag);
    }
    mem_free(file.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_length),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_missing_bytes_are_counted),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_find_reports),
        cmocka_unit_test(test_many_entries),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_refuses),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
