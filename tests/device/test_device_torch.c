/* How device_check handles PyTorch's answer, no answer, and a missing interpreter. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/device/torch_rate.h"
#include "tests/support/unit.h"

static char folder[] = "/tmp/device-torch-XXXXXX", script[64];
static char words[160];

/* An "interpreter" that runs `text`, whatever script it is given. */
static double ask(const char *text)
{
    FILE *file = fopen(script, "w");

    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(script, 0700), 0);
    words[0] = '\0';
    return torch_rate(script, "ignored.py", "cuda:3", words, sizeof(words));
}

TEST(an_answer)
{
    assert_true(ask("echo '{\"flops_per_s\": 7.1e14, \"torch\": \"2.9.0\"}'") == 7.1e14);
    assert_string_equal(words, "PyTorch 2.9.0");
    /* The device's number is passed on. */
    assert_true(ask("echo \"{\\\"flops_per_s\\\": $2}\"") == 3.0);
}

TEST(no_answer)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"echo '{\"absent\": \"sees no device 3\"}'", "sees no device 3"},
        {"echo '{\"flops_per_s\": -1}'", "gives no answer"},
        {"echo rubbish", "gives no answer"},
        {"exit 5", "ended with status 5"},
        {"kill -9 $$", "could not be run"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(isnan(ask(rows[i].text)));
        if (strstr(words, rows[i].word) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", words, rows[i].word);
    }
    assert_true(isnan(torch_rate("/nonexistent/python", SCRIPT, "cuda:0", words, sizeof(words))));
    assert_non_null(strstr(words, "/nonexistent/python could not be run"));
}

/* It searches libraries with the user's path, not in the packed folder. */
TEST(library_path)
{
    static const char answer[] = "echo \"{\\\"absent\\\": \\\"path=$LD_LIBRARY_PATH.\\\"}\"";

    assert_int_equal(setenv("LD_LIBRARY_PATH", "/of/the/pack", 1), 0);
    ask(answer);
    assert_non_null(strstr(words, "path=/of/the/pack."));
    assert_int_equal(setenv("DEVICE_CHECK_LIBRARY_PATH", "/of/the/user", 1), 0);
    ask(answer);
    assert_non_null(strstr(words, "path=/of/the/user."));
    assert_int_equal(setenv("DEVICE_CHECK_LIBRARY_PATH", "", 1), 0);
    ask(answer);
    assert_non_null(strstr(words, "path=."));
    assert_string_equal(getenv("LD_LIBRARY_PATH"), "/of/the/pack");
    unsetenv("DEVICE_CHECK_LIBRARY_PATH");
    unsetenv("LD_LIBRARY_PATH");
}

/* The script itself, under this machine's Python: with PyTorch and a device, or the reason. */
TEST(the_script)
{
    double rate;

    if (system("python3 -c '' 2>/dev/null") != 0)
        skip();
    rate = torch_rate("python3", SCRIPT, "cuda:0", words, sizeof(words));
    assert_true(rate > 0.0 || strstr(words, "No module") != NULL ||
                strstr(words, "sees no device 0") != NULL);
}

int main(void)
{
    int failed;

    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(script, sizeof(script), "%s/python", folder);
    failed = unit_run(NULL, NULL);
    unlink(script);
    rmdir(folder);
    return failed;
}
