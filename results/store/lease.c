#include "results/store/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "harness/core/member.h"

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

static const json_t *last_of_run(const json_t *events)
{
    for (size_t i = json_array_size(events); i-- > 0;) {
        const json_t *event = json_array_get(events, i);
        const char *name = member_text(event, "event");

        if (strcmp(name, "archived") != 0 && strcmp(name, "restored") != 0)
            return event;
    }
    return NULL;
}

enum status lease_check(const json_t *events, const char *campaign, struct error *err)
{
    const json_t *last = last_of_run(events);
    const char *event = member_string(last, "event"), *holder = member_string(last, "detail");
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
static pthread_mutex_t held_guard = PTHREAD_MUTEX_INITIALIZER;

static int open_file(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);

    return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC); /* enough to ask for locks */
}

static int open_held(const char *path, const struct stat *info)
{
    int fd;

    for (size_t i = 0; i < held_count; i++)
        if (held[i].device == info->st_dev && held[i].inode == info->st_ino)
            return held[i].fd;
    fd = held_count < sizeof(held) / sizeof(held[0]) ? open_file(path) : -1;
    if (fd >= 0) {
        held[held_count].device = info->st_dev;
        held[held_count].inode = info->st_ino;
        held[held_count++].fd = fd;
    }
    return fd;
}

static int open_once(const char *path)
{
    struct stat info;
    int fd;

    if (stat(path, &info) != 0)
        return -1;
    pthread_mutex_lock(&held_guard);
    fd = open_held(path, &info);
    pthread_mutex_unlock(&held_guard);
    return fd;
}

/* Locks of the open file, not of the process: others of SQLite's do not touch them. */
static struct flock region_of(int64_t row, short type)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = LOCKED_FROM + row, .l_len = 1};
}

static int lock(const char *path, int64_t row, short type)
{
    struct flock region = region_of(row, type);
    const int fd = open_once(path);

    return fd < 0 ? 0 : fcntl(fd, F_OFD_SETLK, &region);
}

bool lease_is_held(const char *path, int64_t row, const json_t *events)
{
    struct flock region = region_of(row, F_WRLCK);
    int fd;

    if (lease_check(events, "", NULL) == STATUS_BUSY)
        return true;
    fd = open_once(path);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &region) == 0 && region.l_type != F_UNLCK;
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
