#include "harness/runner/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/file.h"

/*
 * Start time in ticks since boot: field 22 of /proc/PID/stat; the name before it may hold blanks.
 * 0: there is no such process, or it has ended and nobody has asked how (state Z; X while it goes):
 * in a container whose first process reaps none, one stays so for good.
 */
static unsigned long long start_ticks(long pid)
{
    unsigned long long ticks = 0;
    char path[64], *line = NULL, *rest, state = 'Z';

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    if (file_read_line(path, &line, NULL) != STATUS_OK)
        return 0;
    rest = strrchr(line, ')');
    if (rest)
        sscanf(rest + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %llu",
               &state, &ticks);
    free(line);
    return strchr("ZX", state) ? 0 : ticks;
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

/* Far beyond the bytes that SQLite locks, and beyond any file's size. */
#define LOCKED_FROM (INT64_C(1) << 62)

/*
 * Never closed: that would take away the locks that SQLite has on the same file for this process.
 * So each file is opened once.
 */
static struct {
    dev_t device;
    ino_t inode;
    int fd;
} held[8];
static size_t held_count;

static int open_once(const char *path)
{
    struct stat info;
    int fd;

    if (stat(path, &info) != 0)
        return -1;
    for (size_t i = 0; i < held_count; i++)
        if (held[i].device == info.st_dev && held[i].inode == info.st_ino)
            return held[i].fd;
    fd = held_count < sizeof(held) / sizeof(held[0]) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        held[held_count].device = info.st_dev;
        held[held_count].inode = info.st_ino;
        held[held_count++].fd = fd;
    }
    return fd;
}

/* Locks of the open file, not of the process: others of SQLite's do not touch them. */
static int lock(const char *path, int64_t row, short type)
{
    struct flock region = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = LOCKED_FROM + row, .l_len = 1};
    const int fd = open_once(path);

    return fd < 0 ? 0 : fcntl(fd, F_OFD_SETLK, &region);
}

enum status lease_take(const char *path, int64_t row, const char *campaign, struct error *err)
{
    if (lock(path, row, F_WRLCK) == 0 || (errno != EAGAIN && errno != EACCES))
        return STATUS_OK;
    return error_set(
        err, STATUS_BUSY,
        "campaign %s is being run by another process, here, in another container or on "
        "another machine: wait for it, or end it first",
        campaign);
}

void lease_release(const char *path, int64_t row)
{
    lock(path, row, F_UNLCK);
}
