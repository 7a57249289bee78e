/*
 * A broken libcuda: ASSAY_BROKEN selects the fault. All other functions are those of the stand-in,
 * which it is linked to.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/driver.h"
#include "tests/support/gpu_shim/core.h"

#define PROTOTYPE(result, name, symbol, version, parameters) SHIM_EXPORT result symbol parameters;
CUDA_REQUIRED_MAP(PROTOTYPE)
#undef PROTOTYPE
SHIM_EXPORT cuda_get_proc_address_v2 cuGetProcAddress_v2;

static int is(const char *what)
{
    const char *wanted = getenv("ASSAY_BROKEN");

    return wanted != NULL && strcmp(wanted, what) == 0;
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

/* Waits until two processes are here: a file of each in the folder ASSAY_BROKEN_MEET. */
static void meet(void)
{
    const char *folder = getenv("ASSAY_BROKEN_MEET");
    char path[4096];
    FILE *file;
    int here = 0;

    snprintf(path, sizeof(path), "%s/%d", folder != NULL ? folder : "", (int)getpid());
    file = fopen(path, "w");
    if (file != NULL)
        fclose(file);
    while (here < 2) {
        DIR *directory = opendir(folder != NULL ? folder : "");

        here = 0;
        for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
            here += entry->d_name[0] != '.';
        if (directory != NULL)
            closedir(directory);
        usleep(1000);
    }
}

__attribute__((constructor)) static void load(void)
{
    if (is("meet"))
        meet();
    if (is("crash"))
        abort();
    if (is("exit"))
        _exit(0);
    if (is("hang"))
        wait_for_ever();
}

/* Else the stand-in's own functions would be used instead of these. */
unsigned cuGetProcAddress_v2(const char *name, void **ret, int version, unsigned long long flags,
                             unsigned *found)
{
    (void)name, (void)ret, (void)version, (void)flags, (void)found;
    return 500; /* CUDA_ERROR_NOT_FOUND */
}

unsigned cuInit(unsigned flags)
{
    (void)flags;
    if (is("init-hang"))
        wait_for_ever();
    if (is("init-crash"))
        abort();
    if (is("chatty")) {
        printf("the driver was here\n{\"backend\":\"mine\"}\n");
        fflush(stdout);
    }
    return 0;
}

unsigned cuDeviceGetCount(int *ret)
{
    *ret = is("million") ? 1000000 : is("none") ? 0 : is("minus") ? -1 : 2;
    return 0;
}

unsigned cuDeviceGet(int *ret, int index)
{
    *ret = 0;
    return is("second") && index == 1 ? 999 : 0; /* CUDA_ERROR_UNKNOWN */
}

unsigned cuDeviceGetName(char *ret, int size, int device)
{
    (void)device;
    if (is("long-name"))
        memset(ret, 'x', (size_t)size);
    else if (is("bad-name"))
        snprintf(ret, (size_t)size, "\033[31mred\n\xff");
    else if (!is("no-name"))
        snprintf(ret, (size_t)size, "A broken device");
    return 0;
}

unsigned cuDeviceTotalMem_v2(size_t *ret, int device)
{
    (void)device;
    *ret = is("no-memory") ? 0 : is("minus-memory") ? SIZE_MAX : (size_t)1 << 30;
    return 0;
}
