#include "harness/runner/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"

/* Start time in ticks since boot: field 22 of /proc/PID/stat; the name before it may hold blanks. */
static unsigned long long start_ticks(long pid)
{
    unsigned long long ticks = 0;
    char path[64], *line = NULL, *rest;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    if (file_read_line(path, &line, NULL) != STATUS_OK)
        return 0;
    rest = strrchr(line, ')');
    if (rest)
        sscanf(rest + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                         "%*s %llu",
               &ticks);
    free(line);
    return ticks;
}

static void describe(long pid, char ret[LEASE_SIZE])
{
    char *boot = NULL;

    if (file_read_line("/proc/sys/kernel/random/boot_id", &boot, NULL) != STATUS_OK)
        boot = NULL;
    snprintf(ret, LEASE_SIZE, "%.64s %ld %llu", boot ? boot : "unknown", pid, start_ticks(pid));
    free(boot);
}

void lease_describe(char ret[LEASE_SIZE])
{
    describe((long)getpid(), ret);
}

enum status lease_check(const json_t *events, const char *campaign, struct error *err)
{
    const json_t *last = json_array_get(events, json_array_size(events) - 1);
    const char *event = json_string_value(json_object_get(last, "event"));
    const char *holder = json_string_value(json_object_get(last, "detail"));
    char now[LEASE_SIZE];
    long pid;

    if (!event || !holder || (strcmp(event, "started") && strcmp(event, "resumed")) ||
        sscanf(holder, "%*s %ld", &pid) != 1 || pid == (long)getpid())
        return STATUS_OK;
    describe(pid, now);
    if (start_ticks(pid) == 0 || strcmp(now, holder))
        return STATUS_OK;
    return error_set(err, STATUS_BUSY,
                     "campaign %s is being run by process %ld: wait for it, or end it first",
                     campaign, pid);
}
