#include "tests/device/torch_rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device/programs.h"

#define MINUTES 10

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

/* The library path from before ./run (pack.sh) prepended ours, for PyTorch; NULL: unchanged. */
static bool run_python(const char *python, const char *const *arguments, char **ret, int *code)
{
    const char *theirs = getenv("DEVICE_CHECK_LIBRARY_PATH"), *now = getenv("LD_LIBRARY_PATH");
    char *ours = now != NULL ? strdup(now) : NULL;
    bool ran;

    if (theirs != NULL && theirs[0] != '\0')
        setenv("LD_LIBRARY_PATH", theirs, 1);
    else if (theirs != NULL)
        unsetenv("LD_LIBRARY_PATH");
    ran = program_run(python, arguments, MINUTES, ret, code);
    if (ours != NULL)
        setenv("LD_LIBRARY_PATH", ours, 1);
    free(ours);
    return ran;
}

double torch_rate(const char *python, const char *script, const char *device, char *words,
                  size_t size)
{
    const char *number = strchr(device, ':');
    const char *const arguments[] = {script, number != NULL ? number + 1 : "0", NULL};
    double rate = NAN;
    int code = 0;
    char *output = NULL;
    const bool ran = run_python(python, arguments, &output, &code);
    json_t *answer = ran ? json_loads(output, 0, NULL) : NULL;
    const json_t *value = json_object_get(answer, "flops_per_s");

    if (json_is_number(value) && json_number_value(value) > 0.0) {
        rate = json_number_value(value);
        snprintf(words, size, "PyTorch %s", text_of(answer, "torch"));
    } else if (text_of(answer, "absent")[0] != '\0') {
        snprintf(words, size, "no PyTorch to compare with: %s", text_of(answer, "absent"));
    } else if (code > 0) {
        snprintf(words, size, "no PyTorch to compare with: %s ended with status %d", python, code);
    } else {
        snprintf(words, size, "no PyTorch to compare with: %s %s", python,
                 ran ? "gives no answer" : "could not be run");
    }
    json_decref(answer);
    free(output);
    return rate;
}
