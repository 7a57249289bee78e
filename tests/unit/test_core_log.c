#include "harness/core/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/unit.h"

/* What a call writes to stderr, up to 511 bytes. */
static char written[512];
static int pipe_fds[2], kept;

static void begin(void)
{
    assert_int_equal(pipe(pipe_fds), 0);
    kept = dup(STDERR_FILENO);
    dup2(pipe_fds[1], STDERR_FILENO);
    close(pipe_fds[1]);
}

static const char *end(void)
{
    ssize_t got;

    dup2(kept, STDERR_FILENO);
    close(kept);
    got = read(pipe_fds[0], written, sizeof(written) - 1);
    close(pipe_fds[0]);
    assert_true(got >= 0);
    written[got] = '\0';
    return written;
}

TEST(levels)
{
    begin();
    log_info("one %d", 1);
    assert_string_equal(end(), "assay: one 1\n");
    begin();
    log_warning("two");
    assert_string_equal(end(), "assay: warning: two\n");
    begin();
    log_error("three");
    assert_string_equal(end(), "assay: error: three\n");
}

TEST(escapes)
{
    begin();
    errno = 42;
    log_info("a\x1b[31mb\tc\xff\nsecond line");
    assert_int_equal(errno, 42);
    assert_string_equal(end(), "assay: a\\x1B[31mb\\x09c\\xFF\nsecond line\n");
}
