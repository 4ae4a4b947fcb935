/* Checkpoints of one file, and of several with an index. */
#include "shell.h"
#include "testing.h"

#include "model/checkpoint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tilework-checkpoint-XXXXXX";

static char *path_of(const char *name) {
    return mem_printf("%s/%s", folder, name);
}

static void write_text(const char *name, const char *text) {
    char *path = path_of(name);
    assert_int_equal(file_write_atomic(path, text, strlen(text), NULL), STATUS_OK);
    mem_free(path);
}

/* A file with F32 tensors of one value each, called as told. */
static void write_tensors(const char *name, const char *const *names, size_t count) {
    static const uint64_t dims[] = {1};
    static const float value = 1;
    SafeTensor tensors[4];
    for (size_t i = 0; i < count; i++)
        tensors[i] = (SafeTensor){names[i], DTYPE_F32, 1, dims, 1, 4, (const uint8_t *)&value};
    char *path = path_of(name);
    assert_int_equal(safetensors_write(path, tensors, count, NULL, 0, NULL), STATUS_OK);
    mem_free(path);
}

static void write_files(void) {
    write_tensors("a.safetensors", (const char *const[]){"one", "two"}, 2);
    write_tensors("b.safetensors", (const char *const[]){"three"}, 1);
    write_tensors("c.safetensors", (const char *const[]){"three", "four"}, 2);
}

#define INDEX "model.safetensors.index.json"

/* Opens the folder with this index; expects a code, and texts in its message. */
static void expect(const char *index, Status code, const char *text) {
    write_text(INDEX, index);
    Diag diag = {0};
    Checkpoint *checkpoint = NULL;
    char *path = path_of(INDEX);
    Status status = checkpoint_open(path, &checkpoint, &diag);
    bool told = text == NULL;
    for (size_t i = 0; i < diag.count && text; i++)
        told |= strstr(diag.entries[i].text, text) ||
                (diag.entries[i].notes && strstr(diag.entries[i].notes, text)) ||
                (diag.entries[i].place.file && strstr(diag.entries[i].place.file, text));
    if (status != code || !told) {
        diag_print(&diag, stderr);
        fail_msg("%s: found %s, expected %s with \"%s\"", index, status_code(status),
                 status_code(code), text ? text : "");
    }
    if (status == STATUS_OK)
        checkpoint_close(checkpoint);
    mem_free(path);
    diag_free(&diag);
}

#define TWO "\"one\":\"a.safetensors\",\"two\":\"a.safetensors\""

static void test_good(void **state) {
    (void)state;
    write_files();
    write_text(INDEX, "{\"metadata\":{\"total_size\":12,\"more\":[{}]},\"weight_map\":{" TWO
                      ",\"three\":\"b.safetensors\"}}\n");
    Diag diag = {0};
    Checkpoint *checkpoint;
    assert_int_equal(checkpoint_open(folder, &checkpoint, &diag), STATUS_OK);
    assert_int_equal(checkpoint->count, 3);
    assert_int_equal(checkpoint->file_count, 2);
    const SafeTensor *three = checkpoint_find(checkpoint, "three"), *none;
    assert_non_null(strstr(checkpoint_file(checkpoint, three), "/b.safetensors"));
    assert_int_equal(checkpoint_get(checkpoint, "thre", &none, &diag), ERR_MODEL_TENSOR);
    assert_non_null(strstr(diag.entries[0].fix, "three"));
    checkpoint_close(checkpoint);
    diag_free(&diag);
    expect("{\"weight_map\":{}}", STATUS_OK, NULL);
    /* A single file wins over an index. */
    write_tensors("model.safetensors", (const char *const[]){"alone"}, 1);
    assert_int_equal(checkpoint_open(folder, &checkpoint, &diag), STATUS_OK);
    assert_int_equal(checkpoint->count, 1);
    checkpoint_close(checkpoint);
    char *path = path_of("model.safetensors");
    unlink(path);
    mem_free(path);
}

static void test_bad_index(void **state) {
    (void)state;
    write_files();
    expect("", ERR_ST_INDEX, "expected");
    expect("[]", ERR_ST_INDEX, "expected");
    expect("{\"weight_map\":{}} x", ERR_ST_INDEX, "follows");
    expect("{\"metadata\":{}}", ERR_ST_INDEX, "no weight_map");
    expect("{\"weight_map\":[]}", ERR_ST_INDEX, "no object");
    expect("{\"weight_map\":{},\"weight_map\":{}}", ERR_ST_INDEX, "twice");
    expect("{\"weight_map\":{\"one\":{\"file\":\"a.safetensors\",\"offset\":0}}}", ERR_ST_INDEX,
           "something else");
    expect("{\"weight_map\":{\"one\":\"../a.safetensors\"}}", ERR_ST_INDEX, "no plain name");
    expect("{\"weight_map\":{\"one\":\"..\"}}", ERR_ST_INDEX, "no plain name");
    expect("{\"weight_map\":{\"one\":\"\"}}", ERR_ST_INDEX, "no plain name");
    expect("{\"weight_map\":{\"one\":\"a.safetensors\",\"\\u006fne\":\"b.safetensors\"}}",
           ERR_ST_DUPLICATE, "b.safetensors");
    expect("{\"metadata\":[[[[[[[[[[]]]]]]]]]],\"weight_map\":{}}", ERR_ST_INDEX, "expected");
    expect("{\"weight_map\":{\"one\":\"a.safetensors\"", ERR_ST_INDEX, "expected");
}

static void test_bad_files(void **state) {
    (void)state;
    write_files();
    expect("{\"weight_map\":{" TWO ",\"five\":\"b.safetensors\"}}", ERR_MODEL_TENSOR, "five");
    expect("{\"weight_map\":{" TWO ",\"five\":\"d.safetensors\"}}", ERR_FILE_OPEN, "d.safetensors");
    expect("{\"weight_map\":{\"three\":\"b.safetensors\",\"four\":\"c.safetensors\"}}",
           ERR_ST_DUPLICATE, "b.safetensors");
    /* A tensor beyond the index is left out, with a warning. */
    expect("{\"weight_map\":{\"one\":\"a.safetensors\"}}", STATUS_OK, "left out");
    /* A download that was cut off: the file, and how much is missing. */
    char *path = path_of("b.safetensors");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 3), 0);
    expect("{\"weight_map\":{" TWO ",\"three\":\"b.safetensors\"}}", ERR_ST_OFFSETS,
           "3 bytes beyond the end");
    expect("{\"weight_map\":{" TWO ",\"three\":\"b.safetensors\"}}", ERR_ST_OFFSETS,
           "b.safetensors");
    mem_free(path);
}

/* Every failing allocation is an error, and nothing leaks. */
static void test_no_memory(void **state) {
    (void)state;
    write_files();
    write_text(INDEX, "{\"weight_map\":{" TWO ",\"three\":\"b.safetensors\"}}");
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status != STATUS_OK; n++) {
        Checkpoint *checkpoint;
        mem_fail_after(n);
        status = checkpoint_open(folder, &checkpoint, NULL);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        assert_true(n < 1000);
        if (status == STATUS_OK)
            checkpoint_close(checkpoint);
    }
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char *command = mem_printf("rm -rf %s", folder);
    int code = shell_run(command);
    mem_free(command);
    return code;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad_index),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
