#include "tests/support/gpu_shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/gpu_shim/core.h"

#define FUNCTIONS_MAX 256
#define PROCESSES_MAX 10000
#define VENDOR_EXIT 3

enum deed { DEED_FAIL, DEED_CRASH, DEED_EXIT, DEED_HANG };

/* Calls of the process so far; with ASSAY_SHIM_WALK in a file, which outlives the process. */
struct tally {
    int32_t live, count;
    struct {
        char name[60];
        int32_t calls;
    } functions[FUNCTIONS_MAX];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct tally own, *tally = &own;
static char fail_name[96];
static int fail_n, fail_code;
static enum deed fail_deed;

SHIM_EXPORT void assay_shim_fail(const char *function, int n, int code)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < tally->count; i++)
        tally->functions[i].calls = 0;
    snprintf(fail_name, sizeof(fail_name), "%s", function != NULL ? function : "");
    fail_n = n;
    fail_code = code;
    fail_deed = DEED_FAIL;
    pthread_mutex_unlock(&mutex);
}

SHIM_EXPORT int assay_shim_calls(const char *function)
{
    for (int i = 0; i < tally->count; i++)
        if (strcmp(tally->functions[i].name, function) == 0)
            return tally->functions[i].calls;
    return 0;
}

SHIM_EXPORT int assay_shim_live(void)
{
    return tally->live;
}

void shim_live_add(int delta)
{
    pthread_mutex_lock(&mutex);
    tally->live += delta;
    pthread_mutex_unlock(&mutex);
}

__attribute__((no_sanitize("null"))) static void misbehave(enum deed deed)
{
    volatile int *volatile nowhere = NULL;

    if (deed == DEED_CRASH)
        *nowhere = 0; /* not raise(): LLVM's handler returns from that */
    if (deed == DEED_EXIT)
        exit(VENDOR_EXIT);
    while (deed == DEED_HANG)
        pause();
}

bool shim_fails(const char *function, int *ret_code)
{
    bool failing = false;
    int i;

    pthread_mutex_lock(&mutex);
    for (i = 0; i < tally->count; i++)
        if (strcmp(tally->functions[i].name, function) == 0)
            break;
    if (i == tally->count && i < FUNCTIONS_MAX) {
        snprintf(tally->functions[i].name, sizeof(tally->functions[i].name), "%s", function);
        tally->count++;
    }
    if (i < tally->count) {
        tally->functions[i].calls++;
        failing = tally->functions[i].calls == fail_n && strcmp(fail_name, function) == 0;
        *ret_code = fail_code;
    }
    pthread_mutex_unlock(&mutex);
    if (failing)
        misbehave(fail_deed);
    return failing;
}

/* "cuInit@1:2", "cuInit@1:hang" */
static bool read_fault(const char *text)
{
    static const char *const deeds[] = {
        [DEED_CRASH] = "crash", [DEED_EXIT] = "exit", [DEED_HANG] = "hang"};
    char function[96], what[16];
    int n;

    if (sscanf(text, "%95[^@]@%d:%15s", function, &n, what) != 3)
        return false;
    assay_shim_fail(function, n, atoi(what));
    for (int deed = DEED_CRASH; deed <= DEED_HANG; deed++)
        if (strcmp(what, deeds[deed]) == 0)
            fail_deed = (enum deed)deed;
    return true;
}

/* ---- ASSAY_SHIM_WALK: each process of a run has a name, and its own fault ---- */

/* "worker", "telemetry", "probe", "probe-libraries": the role in which assay was started. */
static void read_role(char *ret, size_t size)
{
    char line[512] = "", *words[4] = {NULL};
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = file != NULL ? fread(line, 1, sizeof(line) - 1, file) : 0, at = 0;

    if (file != NULL)
        fclose(file);
    for (int i = 0; i < 4 && at < length; i++) {
        words[i] = line + at;
        at += strlen(line + at) + 1;
    }
    if (words[1] == NULL)
        snprintf(ret, size, "other");
    else if (strcmp(words[1], "probe") == 0 && words[3] != NULL)
        snprintf(ret, size, "probe-%s", words[3]);
    else
        snprintf(ret, size, "%s", words[1]);
}

/* The file of the next process of this role: FOLDER/worker.1, FOLDER/worker.2, ... */
static int create_tally(const char *folder, char *ret_name, size_t size)
{
    char role[64], path[4096];
    int fd = -1;

    read_role(role, sizeof(role));
    for (int k = 1; k < PROCESSES_MAX && fd < 0; k++) {
        snprintf(ret_name, size, "%s.%d", role, k);
        snprintf(path, sizeof(path), "%s/%s", folder, ret_name);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

/* FOLDER/plan has a line "worker.2 cuInit@1:hang" for each process in which something fails. */
static void read_plan(const char *folder, const char *name)
{
    char path[4096], line[256], process[80], fault[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/plan", folder);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%79s %127s", process, fault) == 2 && strcmp(process, name) == 0)
            read_fault(fault);
    if (file != NULL)
        fclose(file);
}

static void join_walk(const char *folder)
{
    char name[96];
    const int fd = create_tally(folder, name, sizeof(name));
    void *shared;

    if (fd < 0 || ftruncate(fd, sizeof(*tally)) < 0)
        abort(); /* a test that cannot count proves nothing */
    shared = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED)
        abort();
    tally = shared;
    read_plan(folder, name);
}

__attribute__((constructor)) static void load(void)
{
    const char *fail = getenv("ASSAY_SHIM_FAIL"), *folder = getenv("ASSAY_SHIM_WALK");

    if (folder != NULL)
        join_walk(folder);
    if (fail != NULL)
        read_fault(fail);
}
