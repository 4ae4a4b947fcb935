/* Files: whole reads, mappings, and writes that are seen whole or not at all. */
#include "testing.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tilework-test-XXXXXX";

static const char *in_folder(const char *name) {
    static char paths[4][200];
    static unsigned next;
    char *path = paths[next++ % 4];
    assert_in_range(snprintf(path, sizeof paths[0], "%s/%s", folder, name), 1, 199);
    return path;
}

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

/* Number of files in the folder, removing them. */
static int empty_folder(void) {
    DIR *entries = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (unlinkat(dirfd(entries), entry->d_name, 0) != 0)
            unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
    }
    closedir(entries);
    return count;
}

static int tear_down(void **state) {
    (void)state;
    empty_folder();
    return rmdir(folder);
}

static void assert_content(const char *path, const char *expected) {
    uint8_t *bytes;
    size_t size;
    assert_int_equal(file_read(path, &bytes, &size, NULL), STATUS_OK);
    assert_int_equal(size, strlen(expected));
    assert_string_equal((char *)bytes, expected);
    mem_free(bytes);
}

static void test_write_and_read(void **state) {
    (void)state;
    const char *path = in_folder("a.bin");
    assert_int_equal(file_write_atomic(path, "first", 5, NULL), STATUS_OK);
    assert_content(path, "first");
    assert_int_equal(file_write_atomic(path, "second text", 11, NULL), STATUS_OK);
    assert_content(path, "second text");
    FileMap map;
    assert_int_equal(file_map(path, &map, NULL), STATUS_OK);
    assert_int_equal(map.size, 11);
    assert_memory_equal(map.bytes, "second text", 11);
    file_unmap(&map);
    assert_null(map.bytes);

    assert_int_equal(file_write_atomic(path, NULL, 0, NULL), STATUS_OK);
    assert_content(path, "");
    assert_int_equal(file_map(path, &map, NULL), STATUS_OK);
    assert_null(map.bytes);
    file_unmap(&map);
    assert_int_equal(empty_folder(), 1);
}

static void test_large_file(void **state) {
    (void)state;
    size_t size = 300001;
    uint8_t *bytes = mem_alloc(size, 1), *back;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 37 >> 3);
    const char *path = in_folder("large");
    assert_int_equal(file_write_atomic(path, bytes, size, NULL), STATUS_OK);
    size_t got;
    assert_int_equal(file_read(path, &back, &got, NULL), STATUS_OK);
    assert_int_equal(got, size);
    assert_memory_equal(back, bytes, size);
    mem_free(back);

    /* A pipe tells no size. Less than it holds, so that writing does not wait for a reader. */
    int ends[2];
    char pipe_path[100];
    size = 50000;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, size), size);
    close(ends[1]);
    snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", ends[0]);
    assert_int_equal(file_read(pipe_path, &back, &got, NULL), STATUS_OK);
    close(ends[0]);
    assert_int_equal(got, size);
    assert_memory_equal(back, bytes, size);
    mem_free(back);
    mem_free(bytes);
    empty_folder();
}

static void test_reading_fails(void **state) {
    (void)state;
    uint8_t *bytes;
    size_t size;
    FileMap map;
    Diag diag = {0};
    assert_int_equal(file_read(in_folder("none"), &bytes, &size, &diag), ERR_FILE_OPEN);
    assert_string_equal(diag.entries[0].text, "cannot open: No such file or directory");
    assert_string_equal(diag.entries[0].place.file, in_folder("none"));
    assert_int_equal(file_map(in_folder("none"), &map, &diag), ERR_FILE_OPEN);
    assert_int_equal(file_read(folder, &bytes, &size, &diag), ERR_FILE_READ);
    assert_int_equal(file_map(folder, &map, &diag), ERR_FILE_READ);
    assert_int_equal(file_map("/dev/null", &map, &diag), ERR_FILE_READ);
    /* A pipe without a writer is refused at once, a source without an end in time. */
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(file_map(in_folder("pipe"), &map, &diag), ERR_FILE_READ);
    assert_int_equal(file_read("/dev/zero", &bytes, &size, &diag), ERR_FILE_READ);
    assert_non_null(strstr(diag.entries[diag.count - 1].text, "longer than"));
    const char *large = in_folder("large");
    close(open(large, O_WRONLY | O_CREAT, 0666));
    assert_int_equal(truncate(large, (off_t)1 << 40), 0);
    assert_int_equal(file_read(large, &bytes, &size, &diag), ERR_FILE_READ);
    empty_folder();
    diag_free(&diag);
}

static void test_writing_fails(void **state) {
    (void)state;
    Diag diag = {0};
    assert_int_equal(file_write_atomic(in_folder("no/such"), "x", 1, &diag), ERR_FILE_WRITE);
    assert_int_equal(file_write_atomic(folder, "x", 1, &diag), ERR_FILE_WRITE);
    assert_int_equal(file_write_atomic(in_folder(""), "x", 1, &diag), ERR_FILE_WRITE);
    assert_int_equal(file_write_atomic("/dev/null", "x", 1, &diag), ERR_FILE_WRITE);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    diag_free(&diag);
    assert_int_equal(empty_folder(), 0);
}

/* A disk that is full, played by a limit on file sizes: the old content stays, nothing else does.
 */
static void test_full_disk(void **state) {
    (void)state;
    const char *path = in_folder("full");
    assert_int_equal(file_write_atomic(path, "old", 3, NULL), STATUS_OK);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    static const char zeros[5000];
    Diag diag = {0};
    setrlimit(RLIMIT_FSIZE, &small);
    Status status = file_write_atomic(path, zeros, sizeof zeros, &diag);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, ERR_FILE_WRITE);
    assert_non_null(strstr(diag.entries[0].text, "File too large"));
    diag_free(&diag);
    assert_content(path, "old");
    assert_int_equal(empty_folder(), 1);
}

/* What a killed writer leaves is removed by the next one; what a living one writes is not. */
static void test_stale_files(void **state) {
    (void)state;
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    waitpid(dead, NULL, 0);
    char names[5][100];
    snprintf(names[0], sizeof names[0], ".target.tmp-%d", (int)dead);
    snprintf(names[1], sizeof names[1], ".target.tmp-%d", (int)getppid());
    snprintf(names[2], sizeof names[2], ".other.tmp-%d", (int)dead);
    snprintf(names[3], sizeof names[3], ".target.tmp-%dx", (int)dead);
    snprintf(names[4], sizeof names[4], ".target.tmp-%d", (int)getpid());
    for (size_t i = 0; i < COUNT_OF(names); i++)
        close(open(in_folder(names[i]), O_WRONLY | O_CREAT, 0666));
    assert_int_equal(file_write_atomic(in_folder("target"), "new", 3, NULL), STATUS_OK);
    assert_content(in_folder("target"), "new");
    static const bool stays[] = {false, true, true, true, false};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(access(in_folder(names[i]), F_OK) == 0, stays[i]);
    empty_folder();
}

static void test_replace(void **state) {
    (void)state;
    const char *path = in_folder("r");
    char *temporary;
    assert_int_equal(file_replace_begin(path, &temporary, NULL), STATUS_OK);
    assert_int_equal(access(temporary, F_OK), 0);
    assert_int_equal(file_replace_end(path, temporary, false, NULL), STATUS_OK);
    assert_int_not_equal(access(temporary, F_OK), 0);
    assert_int_not_equal(access(path, F_OK), 0);
    /* Kept, though it is gone. */
    assert_int_equal(file_replace_end(path, temporary, true, NULL), ERR_FILE_WRITE);
    close(open(temporary, O_WRONLY | O_CREAT, 0666));
    assert_int_equal(file_replace_end(path, temporary, true, NULL), STATUS_OK);
    assert_int_equal(access(path, F_OK), 0);
    mem_free(temporary);
    assert_int_equal(empty_folder(), 1);
    /* What is in the way of the temporary file is told when the writing begins. */
    assert_int_equal(file_replace_begin(in_folder("no/such"), &temporary, NULL), ERR_FILE_WRITE);
    assert_int_equal(file_check_target(in_folder("no/such"), NULL), ERR_FILE_WRITE);
    assert_int_equal(file_check_target(in_folder("target"), NULL), STATUS_OK);
    assert_null(temporary);
}

/* ".." behind a link leads out of the folder that the link names. */
static void test_links(void **state) {
    (void)state;
    char path[200];
    assert_int_equal(mkdir(in_folder("a"), 0777), 0);
    assert_int_equal(mkdir(in_folder("a/b"), 0777), 0);
    assert_int_equal(symlink("a/b", in_folder("link")), 0);
    assert_true(file_is_same(in_folder("a/b"), in_folder("link")));
    assert_false(file_is_same(in_folder("a/b"), in_folder("a")));
    assert_false(file_is_same(in_folder("none"), in_folder("none")));
    snprintf(path, sizeof path, "%s/link/../x", folder);
    char *temporary;
    assert_int_equal(file_replace_begin(path, &temporary, NULL), STATUS_OK);
    assert_non_null(strstr(temporary, "/a/.x.tmp-"));
    assert_int_equal(file_replace_end(path, temporary, true, NULL), STATUS_OK);
    mem_free(temporary);
    assert_int_equal(unlink(in_folder("a/x")), 0);
    assert_int_equal(rmdir(in_folder("a/b")), 0);
    assert_int_equal(rmdir(in_folder("a")), 0);
    assert_int_equal(empty_folder(), 1);
}

static void test_relative_path(void **state) {
    (void)state;
    int before = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(folder), 0);
    Status status = file_write_atomic("plain", "p", 1, NULL);
    assert_int_equal(fchdir(before), 0);
    close(before);
    assert_int_equal(status, STATUS_OK);
    assert_content(in_folder("plain"), "p");
    assert_int_equal(empty_folder(), 1);
}

static void test_without_memory(void **state) {
    (void)state;
    const char *path = in_folder("m");
    assert_int_equal(file_write_atomic(path, "old", 3, NULL), STATUS_OK);
    int failures = 0;
    for (uint64_t n = 1; n < 20; n++) {
        uint8_t *bytes = NULL;
        size_t size;
        mem_fail_after(n);
        Status written = file_write_atomic(path, "new", 3, NULL);
        Status read = file_read(path, &bytes, &size, NULL);
        mem_fail_after(0);
        assert_true(written == STATUS_OK || written == ERR_NO_MEMORY);
        assert_true(read == STATUS_OK || read == ERR_NO_MEMORY);
        failures += (written != STATUS_OK) + (read != STATUS_OK);
        if (read == STATUS_OK)
            mem_free(bytes);
    }
    assert_in_range(failures, 2, 20);
    assert_content(path, "new");
    assert_int_equal(empty_folder(), 1);
}

/* Progress keeps silent when stderr is no terminal. */
static void test_progress(void **state) {
    (void)state;
    int saved = dup(STDERR_FILENO);
    const char *path = in_folder("stderr");
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    dup2(file, STDERR_FILENO);
    Progress progress = progress_begin("testing", "steps", 10);
    progress.started -= 100;
    progress.shown -= 100;
    progress_update(&progress, 5);
    progress_end(&progress);
    progress.active = 1;
    progress.started = progress.shown = clock_seconds() - 5;
    progress_update(&progress, 5);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(file);
    assert_content(path, "\rtesting: 5 of 10 steps, 1/s, 5 s left\033[K");
    assert_true(peak_rss_bytes() > 100000);
    empty_folder();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_read), cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_reading_fails),  cmocka_unit_test(test_writing_fails),
        cmocka_unit_test(test_full_disk),      cmocka_unit_test(test_stale_files),
        cmocka_unit_test(test_replace),        cmocka_unit_test(test_links),
        cmocka_unit_test(test_relative_path),  cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
