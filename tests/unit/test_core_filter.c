#include "harness/core/filter.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define SECOND INT64_C(1000000000)

static enum status call(const char *command, const char *input, char **ret, struct error *err)
{
    static const char *const settings[] = {"ASSAY_TEST_SETTING=one two", NULL};
    const struct filter filter = {.command = command,
                                  .settings = settings,
                                  .input = input,
                                  .length = strlen(input),
                                  .timeout_ns = 100 * SECOND,
                                  .max_output = 100000,
                                  .wake_fd = -1};
    size_t length = 0;
    enum status status = filter_run(&filter, ret, &length, err);

    if (status == STATUS_OK)
        assert_int_equal(strlen(*ret), length);
    return status;
}

static void expect(const char *command, const char *input, const char *expected)
{
    struct error err = ERROR_INIT;
    char *answer = NULL;

    assert_int_equal(call(command, input, &answer, &err), STATUS_OK);
    assert_string_equal(answer, expected);
    free(answer);
}

TEST(answers)
{
    char *large = malloc(90001);

    expect("cat", "x\ny\n", "x\ny\n");
    expect("true", "never read", "");
    expect("cat", "", "");
    setenv("ASSAY_TEST_SETTING", "this process's", 1);
    expect("exec <&-; echo \"$ASSAY_TEST_SETTING\"", "x", "one two\n");
    assert_non_null(large); /* more than a pipe holds */
    memset(large, 'a', 90000);
    large[90000] = '\0';
    expect("cat; sleep 0.1", large, large);
    free(large);
}

TEST(failures)
{
    struct error err = ERROR_INIT;
    char *answer = NULL;

    assert_int_equal(call("echo some; exit 3", "", &answer, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "status 3"));
    assert_string_equal(answer, "some\n"); /* what it wrote is handed over all the same */
    free(answer);
    answer = NULL;
    assert_int_equal(call("kill -SEGV $$", "", &answer, &err), STATUS_CRASHED);
    free(answer);
    answer = NULL;
    assert_int_equal(call("/no/such/command 2>/dev/null", "", &answer, &err), STATUS_UNAVAILABLE);
    free(answer);
    answer = NULL;
    assert_int_equal(call("while :; do echo yes; done", "", &answer, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "100000 bytes"));
    assert_null(answer);
}

TEST(limits)
{
    struct filter filter = {.command = "trap '' TERM; sleep 1000 & wait",
                            .input = "",
                            .timeout_ns = SECOND / 10,
                            .max_output = 10,
                            .wake_fd = -1};
    struct error err = ERROR_INIT;
    char *answer = NULL;
    size_t length;
    int ends[2];

    assert_int_equal(filter_run(&filter, &answer, &length, &err), STATUS_TIMEOUT);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    filter.timeout_ns = 1000 * SECOND;
    filter.wake_fd = ends[0];
    assert_int_equal(filter_run(&filter, &answer, &length, &err), STATUS_INTERRUPTED);
    /* A child that keeps the output open does not keep its caller. */
    filter.wake_fd = -1;
    filter.command = "sleep 1000 & echo done";
    assert_int_equal(filter_run(&filter, &answer, &length, &err), STATUS_OK);
    assert_string_equal(answer, "done\n");
    free(answer);
    close(ends[0]);
    close(ends[1]);
}
