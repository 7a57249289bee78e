#include "tests/support/gpu_shim/shim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/core.h"

#define FUNCTIONS_MAX 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *name;
    int calls;
} functions[FUNCTIONS_MAX];
static int function_count;
static char fail_name[96];
static int fail_n, fail_code, live;

SHIM_EXPORT void assay_shim_fail(const char *function, int n, int code)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < function_count; i++)
        functions[i].calls = 0;
    snprintf(fail_name, sizeof(fail_name), "%s", function != NULL ? function : "");
    fail_n = n;
    fail_code = code;
    pthread_mutex_unlock(&mutex);
}

SHIM_EXPORT int assay_shim_calls(const char *function)
{
    for (int i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, function) == 0)
            return functions[i].calls;
    return 0;
}

SHIM_EXPORT int assay_shim_live(void)
{
    return live;
}

void shim_live_add(int delta)
{
    pthread_mutex_lock(&mutex);
    live += delta;
    pthread_mutex_unlock(&mutex);
}

bool shim_fails(const char *function, int *ret_code)
{
    bool failing = false;
    int i;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < function_count; i++)
        if (functions[i].name == function || strcmp(functions[i].name, function) == 0)
            break;
    if (i == function_count && function_count < FUNCTIONS_MAX)
        functions[function_count++].name = function;
    if (i < function_count) {
        functions[i].calls++;
        failing = functions[i].calls == fail_n && strcmp(fail_name, function) == 0;
        *ret_code = fail_code;
    }
    pthread_mutex_unlock(&mutex);
    return failing;
}

__attribute__((constructor)) static void load(void)
{
    const char *fail = getenv("ASSAY_SHIM_FAIL");
    char function[96];
    int n, code;

    if (fail != NULL && sscanf(fail, "%95[^@]@%d:%d", function, &n, &code) == 3)
        assay_shim_fail(function, n, code);
}
