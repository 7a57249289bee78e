#include "tests/device/programs.h"

#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/process.h"

#define OUTPUT_MAX ((size_t)64 << 20)
#define SECOND INT64_C(1000000000)
#define ARGUMENTS_MAX 64

static char folder[PATH_MAX];
static char declared[PATH_MAX];

bool programs_find(void)
{
    const char *named = getenv("DEVICE_CHECK_DECLARED");
    char self[PATH_MAX] = "", copy[PATH_MAX];

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) {
        fprintf(stderr, "device_check: /proc/self/exe cannot be read: mount /proc\n");
        return false;
    }
    snprintf(copy, sizeof(copy), "%s", self);
    snprintf(folder, sizeof(folder), "%s", dirname(copy));
    snprintf(declared, sizeof(declared), "%.*s/../declared", PATH_MAX - 16, folder);
    if (access(declared, R_OK) != 0 && named != NULL)
        snprintf(declared, sizeof(declared), "%s", named);
    if (access(declared, R_OK) == 0)
        return true;
    fprintf(stderr,
            "device_check: there is no folder %s; take the whole folder that pack.sh made\n",
            declared);
    return false;
}

const char *programs_declared(void)
{
    return declared;
}

bool program_run(const char *name, const char *const *arguments, int minutes, char **ret, int *code)
{
    char path[PATH_MAX + 64];
    char *argv[ARGUMENTS_MAX] = {path};
    const struct process_call call = {.argv = argv,
                                      .error_fd = STDERR_FILENO, /* for the user of this program */
                                      .wake_fd = -1,
                                      .timeout_ns = minutes * 60 * SECOND,
                                      .max_output = OUTPUT_MAX};
    struct process_exit ended;
    struct error err = ERROR_INIT;
    size_t count = 1;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (strchr(name, '/') != NULL || access(path, X_OK) != 0)
        snprintf(path, sizeof(path), "%s", name);
    fprintf(stderr, "==> %s", name);
    for (; *arguments != NULL && count < ARGUMENTS_MAX - 1; arguments++) {
        argv[count++] = (char *)*arguments;
        fprintf(stderr, " %s", *arguments);
    }
    fputc('\n', stderr);
    *code = -1;
    if (process_call(&call, ret, NULL, &ended, &err) != STATUS_OK) {
        fprintf(stderr, "    %s\n%s\n", err.message, *ret != NULL ? *ret : "");
        free(*ret);
        *ret = NULL;
        return false;
    }
    *code = ended.exited ? ended.code : -1;
    return true;
}

json_t *program_run_json(const char *name, const char *const *arguments, int minutes, int *code)
{
    char *output = NULL;
    json_t *document = NULL, *data;

    if (program_run(name, arguments, minutes, &output, code))
        document = json_loads(output, 0, NULL);
    data = json_incref(json_object_get(document, "data"));
    json_decref(document);
    free(output);
    return data;
}
