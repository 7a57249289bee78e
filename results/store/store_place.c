/* Where a database lies, and who keeps it locked. */
#include "results/store/store_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

static const struct {
    uint32_t type;
    const char *name;
    bool of_a_network;
} systems[] = {
    {0x6969, "NFS", true},       {0x517b, "SMB", true},        {0xff534d42, "CIFS", true},
    {0xfe534d42, "SMB 2", true}, {0x00c36400, "Ceph", true},   {0x0bd00bd0, "Lustre", true},
    {0x47504653, "GPFS", true},  {0x19830326, "BeeGFS", true}, {0xaad7aaea, "PanFS", true},
    {0x5346414f, "AFS", true},   {0x6b414653, "AFS", true},    {0x73757245, "Coda", true},
    {0x01021997, "9P", true},    {0x65735546, "FUSE", false},  {0x794c7630, "overlayfs", false},
};

static size_t system_of(const char *path)
{
    const size_t count = sizeof(systems) / sizeof(systems[0]);
    struct statfs system;
    size_t i = 0;

    if (statfs(path, &system) != 0)
        return count;
    while (i < count && systems[i].type != (uint32_t)system.f_type)
        i++;
    return i;
}

bool store_is_of_a_network(const char *path)
{
    const size_t i = system_of(path);

    return i < sizeof(systems) / sizeof(systems[0]) && systems[i].of_a_network;
}

/* SQLite's bytes for writers: of the file itself from here, of FILE-shm the one at 120. */
#define PENDING_BYTE 0x40000000ULL
#define SHARED_LAST (PENDING_BYTE + 511)
#define WRITE_BYTE 120ULL

/* Whether a line of /proc/locks is of a writer of the file with this inode. */
static bool locks(const char *line, const char *name, unsigned long long first,
                  unsigned long long last, long *ret_pid)
{
    unsigned long long inode, begin, end;
    char kind[16];
    struct stat info;
    long pid;

    if (stat(name, &info) != 0 ||
        sscanf(line, "%*s POSIX %*s %15s %ld %*x:%*x:%llu %llu %llu", kind, &pid, &inode, &begin,
               &end) != 5 ||
        strcmp(kind, "WRITE") != 0 || inode != info.st_ino || begin > last || end < first ||
        pid <= 0 || pid == (long)getpid())
        return false;
    *ret_pid = pid;
    return true;
}

/* The process here that writes to the database; 0: none is seen. Asking for a lock itself needs a
 * descriptor, whose close would take away the locks that this process has. */
static long writer_of(const char *path)
{
    char *text = NULL, *shared = text_format("%s-shm", path);
    long pid = 0;

    if (shared && file_read("/proc/locks", 1 << 20, &text, NULL, NULL) == STATUS_OK)
        for (const char *line = text; line && *line && pid == 0;) {
            if (!locks(line, path, PENDING_BYTE, SHARED_LAST, &pid))
                locks(line, shared, WRITE_BYTE, WRITE_BYTE, &pid);
            line = strchr(line, '\n');
            line += line != NULL;
        }
    free(shared);
    free(text);
    return pid;
}

/* "python3"; "?" where it cannot be seen. */
static char *name_of(long pid)
{
    char path[64], *name = NULL;

    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    return file_read_line(path, &name, NULL) == STATUS_OK ? name : strdup("?");
}

enum status store_busy(const struct store *store, const char *doing, struct error *err)
{
    const double seconds = (double)store->busy_timeout_ns / 1e9;
    const long pid = writer_of(store->path);
    const size_t system = system_of(store->path);
    AUTO_FREE char *name = NULL;

    if (pid == 0 && system < sizeof(systems) / sizeof(systems[0]) && systems[system].of_a_network)
        return error_set(err, STATUS_BUSY,
                         "%s: %s: its lock was not to be had for %.1f s, and no process of this "
                         "machine has it: the file is on %s, where another machine can have it, "
                         "or locks do not work; keep the database on a disk of this machine "
                         "(--db), and copy it when the campaign is over",
                         store->path, doing, seconds, systems[system].name);
    if (pid == 0)
        return error_set(err, STATUS_BUSY,
                         "%s: %s: another process has been writing to this database for %.1f s; "
                         "wait until it is done, or choose another file with --db",
                         store->path, doing, seconds);
    name = name_of(pid);
    error_set(err, STATUS_BUSY,
              "%s: %s: another process has been writing to this database for %.1f s: process %ld "
              "(%s); wait until it is done, or choose another file with --db",
              store->path, doing, seconds, pid, name ? name : "?");
    return STATUS_BUSY;
}

const char *store_without_locks(const struct store *store)
{
    const size_t system = system_of(store->path);

    return system < sizeof(systems) / sizeof(systems[0]) ? systems[system].name
                                                         : "a file system without locks";
}
