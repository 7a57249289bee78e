#include "harness/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/text.h"
#include "tests/support/unit.h"

static char directory[] = "/tmp/assay-file-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    char *command = text_format("rm -rf '%s'", directory);
    int result = system(command);

    (void)state;
    free(command);
    return result;
}

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

TEST(write_and_read)
{
    struct error err = ERROR_INIT;
    const char *path = path_of("a");
    struct stat st;
    size_t length = 99;
    char *bytes = NULL;

    assert_int_equal(file_write_atomic(path, "one\0two", 7, 0640, &err), STATUS_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(file_read(path, 7, &bytes, &length, &err), STATUS_OK);
    assert_int_equal(length, 7);
    assert_memory_equal(bytes, "one\0two", 8);
    free(bytes);
    assert_int_equal(file_read(path, SIZE_MAX, &bytes, &length, &err), STATUS_OK);
    assert_int_equal(length, 7);
    free(bytes);
    bytes = NULL;
    assert_int_equal(file_read(path, 6, &bytes, &length, &err), STATUS_INVALID);
    assert_null(bytes);
    assert_non_null(strstr(err.message, "larger than the 6 bytes"));
    assert_int_equal(file_write_atomic(path, "", 0, 0600, &err), STATUS_OK);
    assert_int_equal(file_read(path, 0, &bytes, NULL, &err), STATUS_OK);
    assert_string_equal(bytes, "");
    free(bytes);
    assert_int_equal(file_read(path_of("none"), 10, &bytes, &length, &err), STATUS_NOT_FOUND);
    assert_int_equal(file_read(directory, 10, &bytes, &length, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "is a folder"));
}

TEST(drafts_appear_when_whole)
{
    struct error err = ERROR_INIT;
    const char *path = path_of("draft");
    const mode_t mask = umask(027);
    struct file_draft draft;
    struct stat st;
    char *text;

    assert_int_equal(file_draft_begin(&draft, path, &err), STATUS_OK);
    fputs("half", draft.stream);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(file_draft_end(&draft, STATUS_OK, &err), STATUS_OK);
    umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);

    assert_int_equal(file_draft_begin(&draft, path, &err), STATUS_OK);
    fputs("given up", draft.stream);
    assert_int_equal(access(draft.temporary, F_OK), 0);
    assert_int_equal(file_draft_end(&draft, STATUS_IO, &err), STATUS_IO);
    assert_int_equal(file_read(path, 100, &text, NULL, &err), STATUS_OK);
    assert_string_equal(text, "half");
    free(text);

    assert_int_equal(file_draft_begin(&draft, directory, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "is a folder"));
    assert_int_equal(file_draft_begin(&draft, "", &err), STATUS_INVALID);
    assert_int_equal(file_draft_begin(&draft, "/nowhere/x", &err), STATUS_NOT_FOUND);
    assert_int_equal(file_draft_begin(&draft, "/dev/full", &err), STATUS_OK);
    fputs("nothing takes this", draft.stream);
    assert_int_equal(file_draft_end(&draft, STATUS_OK, &err), STATUS_NO_SPACE);
    assert_int_equal(access("/dev/full", F_OK), 0);
}

TEST(keeps_databases_and_keys)
{
    static const char *const beginnings[] = {"SQLite format 3", "PRIVATE+KEY+lab+0123"};
    struct error err = ERROR_INIT;
    const char *path = path_of("precious");
    struct file_draft draft;
    char *text;

    for (int i = 0; i < 2; i++) {
        const char *content = beginnings[i];

        assert_int_equal(file_write_atomic(path, content, strlen(content), 0600, &err), STATUS_OK);
        assert_int_equal(file_draft_begin(&draft, path, &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, "never overwritten"));
        assert_int_equal(file_read(path, 100, &text, NULL, &err), STATUS_OK);
        assert_string_equal(text, content);
        free(text);
    }
}

TEST(atomic_writes_heed_the_umask)
{
    const char *path = path_of("masked");
    const mode_t mask = umask(077);
    struct stat st;

    assert_int_equal(file_write_atomic(path, "x", 1, 0644, NULL), STATUS_OK);
    assert_int_equal(umask(mask), 077);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST(memory)
{
    int fd = file_open_memory("test", 10);

    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_not_equal(ftruncate(fd, 11), 0);
    close(fd);
}

TEST(read_line)
{
    struct error err = ERROR_INIT;
    char *line;

    file_write_atomic(path_of("line"), "first\nsecond\n", 13, 0600, &err);
    assert_int_equal(file_read_line(path_of("line"), &line, &err), STATUS_OK);
    assert_string_equal(line, "first");
    free(line);
    file_write_atomic(path_of("line"), "", 0, 0600, &err);
    assert_int_equal(file_read_line(path_of("line"), &line, &err), STATUS_OK);
    assert_string_equal(line, "");
    free(line);
    assert_int_equal(file_read_line("/proc/self/stat", &line, &err), STATUS_OK); /* size 0 */
    assert_true(strlen(line) > 10);
    free(line);
    assert_int_equal(file_read_line(path_of("none"), &line, &err), STATUS_NOT_FOUND);
}

/* Text from a writer that comes late; and no writer at all. */
TEST(pipes)
{
    struct error err = ERROR_INIT;
    const char *path = path_of("pipe");
    char *bytes = NULL;
    pid_t writer;

    assert_int_equal(mkfifo(path, 0600), 0);
    writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        FILE *file;

        usleep(100000);
        file = fopen(path, "w");
        _exit(file && fputs("text", file) >= 0 && fclose(file) == 0 ? 0 : 1);
    }
    assert_int_equal(file_read(path, 100, &bytes, NULL, &err), STATUS_OK);
    assert_string_equal(bytes, "text");
    free(bytes);
    waitpid(writer, NULL, 0);
    file_pipe_limit_ms = 10;
    assert_int_equal(file_read(path, 100, &bytes, NULL, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "is a pipe that nothing was written to"));
    file_pipe_limit_ms = 30000;
}

TEST(failed_write_keeps_old)
{
    struct rlimit before, small;
    struct error err = ERROR_INIT;
    char *large = calloc(1, 100000), *bytes, *command;

    assert_int_equal(file_write_atomic(path_of("kept"), "old", 3, 0600, &err), STATUS_OK);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){50000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(file_write_atomic(path_of("kept"), large, 100000, 0600, &err), STATUS_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    free(large);
    assert_string_equal(err.message + strlen(err.message) - strlen("File too large"),
                        "File too large");
    assert_non_null(strstr(err.message, "/kept: "));
    assert_int_equal(file_read(path_of("kept"), 100, &bytes, NULL, &err), STATUS_OK);
    assert_string_equal(bytes, "old");
    free(bytes);
    command =
        text_format("test $(ls '%s' | grep -c kept) = 1", directory); /* no temporary file left */
    assert_int_equal(system(command), 0);
    free(command);
    assert_int_equal(file_write_atomic(path_of("no/x"), "a", 1, 0600, &err), STATUS_NOT_FOUND);
    assert_int_equal(file_write_atomic(path_of("no/x"), "a", 1, 0600, NULL), STATUS_NOT_FOUND);
}

TEST(full_device)
{
    struct error err = ERROR_INIT;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        skip();
    assert_int_equal(file_write_all(fd, "x", 1, &err), STATUS_NO_SPACE);
    assert_int_equal(file_write_all(fd, "", 0, &err), STATUS_OK);
    close(fd);
}

/* Reads a FIFO in another process; its exit status says whether exactly these bytes came. */
static pid_t expect_from(const char *fifo, const char *expected)
{
    const pid_t child = fork();

    if (child == 0) {
        FILE *stream = fopen(fifo, "r");
        char got[64] = "";

        _exit(stream && fread(got, 1, sizeof(got) - 1, stream) == strlen(expected) &&
                      !strcmp(got, expected)
                  ? 0
                  : 1);
    }
    return child;
}

TEST(replaces_regular_files_only)
{
    struct error err = ERROR_INIT;
    struct file_draft draft;
    struct stat st;
    char *fifo = text_format("%s/fifo", directory), *link = text_format("%s/link", directory);
    char *bytes;
    int how;

    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (int i = 0; i < 2; i++) {
        const pid_t reader = expect_from(fifo, "through");

        assert_true(reader > 0);
        if (i == 0) {
            assert_int_equal(file_write_atomic(fifo, "through", 7, 0644, &err), STATUS_OK);
        } else {
            assert_int_equal(file_draft_begin(&draft, fifo, &err), STATUS_OK);
            fputs("through", draft.stream);
            assert_int_equal(file_draft_end(&draft, STATUS_OK, &err), STATUS_OK);
        }
        assert_int_equal(waitpid(reader, &how, 0), reader);
        assert_int_equal(how, 0);
        assert_int_equal(lstat(fifo, &st), 0);
        assert_true(S_ISFIFO(st.st_mode));
    }

    assert_int_equal(file_write_atomic(path_of("linked"), "old", 3, 0600, &err), STATUS_OK);
    assert_int_equal(symlink("linked", link), 0);
    assert_int_equal(file_write_atomic(link, "new", 3, 0600, &err), STATUS_OK);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(file_read(path_of("linked"), 10, &bytes, NULL, &err), STATUS_OK);
    assert_string_equal(bytes, "new");
    free(bytes);

    assert_int_equal(unlink(path_of("linked")), 0);
    assert_int_equal(file_write_atomic(link, "x", 1, 0600, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "symbolic link to a file that does not exist"));
    assert_int_equal(unlink(link), 0);

    assert_int_equal(symlink("/dev/full", link), 0);
    assert_int_equal(file_write_atomic(link, "x", 1, 0600, &err), STATUS_NO_SPACE);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    free(fifo);
    free(link);
}

TEST(directories)
{
    struct error err = ERROR_INIT;
    struct stat st;

    assert_int_equal(file_make_directories(path_of("d/e//f/"), 0755, &err), STATUS_OK);
    assert_int_equal(stat(path_of("d/e/f"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(file_make_directories(path_of("d/e/f"), 0755, &err), STATUS_OK);
    assert_int_equal(file_make_directories("/", 0755, &err), STATUS_OK);
    assert_int_equal(file_make_directories(".", 0755, &err), STATUS_OK);
    assert_int_equal(file_make_directories("", 0755, &err), STATUS_INVALID);
    file_write_atomic(path_of("plain"), "", 0, 0600, &err);
    assert_int_equal(file_make_directories(path_of("plain"), 0755, &err), STATUS_IO);
    assert_int_equal(file_make_directories(path_of("plain/x"), 0755, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "Not a directory"));
}

int main(void)
{
    return unit_run(set_up, tear_down);
}
