/* .npy files: what is read, what is refused and why, what is written. */
#include "testing.h"

#include "base/mem.h"
#include "model/npy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of this version with this dict and `data` zero bytes; mem_free. */
static uint8_t *make_file(int version, const char *dict, size_t data, size_t *size) {
    size_t start = version == 1 ? 10 : 12, length = strlen(dict);
    *size = start + length + data;
    uint8_t *bytes = mem_alloc(*size, 1);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[8] = (uint8_t)length;
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + start, dict, length);
    return bytes;
}

static void test_accepted(void **state) {
    (void)state;
    static const struct {
        int version;
        const char *dict;
        size_t data;
        Dtype dtype;
        uint32_t rank;
        uint64_t count;
    } cases[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", 24, DTYPE_F32, 2, 6},
        {2, "{'shape':(3,),'descr':'<f2','fortran_order':False}\n", 6, DTYPE_F16, 1, 3},
        {3, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", 8, DTYPE_F64, 0, 1},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0,), }", 0, DTYPE_F32, 2, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t size;
        uint8_t *bytes = make_file(cases[i].version, cases[i].dict, cases[i].data, &size);
        Npy npy;
        assert_int_equal(npy_parse(bytes, size, "f", &npy, NULL), STATUS_OK);
        assert_int_equal(npy.dtype, cases[i].dtype);
        assert_int_equal(npy.rank, cases[i].rank);
        assert_int_equal(npy.count, cases[i].count);
        assert_ptr_equal(npy.data, bytes + size - cases[i].data);
        for (size_t cut = 0; cut < size; cut++) /* every shorter file is refused */
            assert_int_equal(npy_parse(bytes, cut, "f", &npy, NULL), ERR_NPY);
        mem_free(bytes);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *dict, *text;
    } cases[] = {
        {"('descr')", "the header is no dict"},
        {"{'descr': '>f4'", "descr must be '<f2', '<f4' or '<f8'"},
        {"{'descr': '<i4'", "descr must be"},
        {"{'descr': [('a', '<f4')]", "descr must be"},
        {"{'fortran_order': True", "fortran_order must be False"},
        {"{'fortran_order': 0", "fortran_order must be False"},
        {"{'shape': 3", "shape must be a tuple"},
        {"{'shape': (3)", "shape must be a tuple"},
        {"{'shape': (3, 4]", "shape must be a tuple"},
        {"{'shape': (-3,)", "a dimension must be a whole number"},
        {"{'shape': (3L,)", "shape must be a tuple"},
        {"{'shape': (18446744073709551616,)", "a dimension must be a whole number below 2^64"},
        {"{'shape': (1, 1, 1, 1, 1, 1, 1)", "more axes than the six"},
        {"{'name': 'x'}", "other keys"},
        {"{'descr' '<f4'}", "other keys"},
        {"{'descr': '<f4', 'descr': '<f4'}", "a key twice"},
        {"{'descr': '<f4' 'shape': ()}", "the header is no dict"},
        {"{'descr': '<f4', 'shape': ()}", "the header lacks"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "text follows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
         "the shape takes 12 bytes, but the file holds 4"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "the size of the array exceeds 64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
         "the size of the array exceeds 64 bits"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t size;
        uint8_t *bytes = make_file(1, cases[i].dict, 4, &size);
        Npy npy;
        Diag diag = {0};
        assert_int_equal(npy_parse(bytes, size, "f", &npy, &diag), ERR_NPY);
        if (!strstr(diag.entries[0].text, cases[i].text))
            fail_msg("%s: expected \"%s\", found \"%s\"", cases[i].dict, cases[i].text,
                     diag.entries[0].text);
        diag_free(&diag);
        mem_free(bytes);
    }
    Npy npy;
    assert_int_equal(npy_parse((const uint8_t *)"\x93NUMPX\1\0\0\0", 10, "f", &npy, NULL), ERR_NPY);
    assert_int_equal(npy_parse((const uint8_t *)"\x93NUMPY\4\0\0\0", 10, "f", &npy, NULL), ERR_NPY);
    assert_int_equal(npy_open("tests/model/absent.npy", &npy, NULL), ERR_FILE_OPEN);
}

static void test_write(void **state) {
    (void)state;
    char path[] = "/tmp/tilework-npy-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    static const Shape shapes[] = {{0, {0}}, {1, {5}}, {2, {3, 4}}, {6, {1, 2, 3, 1, 2, 1}}};
    float values[12];
    for (int i = 0; i < 12; i++)
        values[i] = (float)i / 4;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        assert_int_equal(npy_write(path, DTYPE_F32, &shapes[i], values, NULL), STATUS_OK);
        Npy npy;
        assert_int_equal(npy_open(path, &npy, NULL), STATUS_OK);
        assert_int_equal(npy.rank, shapes[i].rank);
        for (uint32_t axis = 0; axis < npy.rank; axis++)
            assert_int_equal(npy.dims[axis], shapes[i].dims[axis]);
        assert_memory_equal(npy.data, values, npy.count * 4);
        assert_int_equal((npy.data - npy.map.bytes) % 64, 0);
        npy_close(&npy);
    }
    Shape huge = {3, {UINT32_MAX, UINT32_MAX, 2}};
    assert_int_equal(npy_write(path, DTYPE_F32, &huge, values, NULL), ERR_NPY);
    assert_int_equal(npy_write("/nowhere/x.npy", DTYPE_F16, &shapes[1], values, NULL),
                     ERR_FILE_WRITE);
    mem_fail_after(1);
    assert_int_equal(npy_write(path, DTYPE_F32, &shapes[1], values, NULL), ERR_NO_MEMORY);
    mem_fail_after(0);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
