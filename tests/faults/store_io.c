/*
 * Every write, sync, truncation, deletion and memory-map growth that the store makes fails, one
 * after the other, until a run goes through: once with a full disk, once with a torn write; for one
 * call, and for all that follow as well. A momentarily full disk is tried at every call, the others
 * at some, or at every one with ASSAY_TEST_ALL_CALLS set. The disk is a shim over SQLite's own file
 * layer.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/faults/store_scenario.h"
#include "tests/support/fault_walk.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

enum fault { FAULT_NONE, FAULT_FULL, FAULT_TORN };

static struct {
    enum fault kind;
    bool lasting; /* all calls after the failing one fail too */
    long fail_at; /* 1..: which call fails; 0: none */
    long calls;
    bool happened;
    bool shared_memory; /* of the file system */
} disk;

struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_vfs *real_vfs;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct shim_file *)file)->real;
}

/* Whether this call is the one to fail. */
static bool fails(void)
{
    disk.calls++;
    if (disk.kind == FAULT_NONE || disk.fail_at == 0)
        return false;
    if (disk.calls == disk.fail_at || (disk.lasting && disk.calls > disk.fail_at)) {
        disk.happened = true;
        return true;
    }
    return false;
}

static int shim_close(sqlite3_file *file)
{
    int rc = real_of(file)->pMethods->xClose(real_of(file));

    free(real_of(file));
    return rc;
}

static int shim_read(sqlite3_file *file, void *to, int count, sqlite3_int64 at)
{
    return real_of(file)->pMethods->xRead(real_of(file), to, count, at);
}

static int shim_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 at)
{
    if (fails()) {
        if (disk.kind == FAULT_FULL)
            return SQLITE_FULL;
        real_of(file)->pMethods->xWrite(real_of(file), from, count / 2, at);
        return SQLITE_IOERR_WRITE;
    }
    return real_of(file)->pMethods->xWrite(real_of(file), from, count, at);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (fails())
        return SQLITE_IOERR_TRUNCATE;
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

/* There is no power failure here, so nothing needs to reach the disk. */
static int shim_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return fails() ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int shim_check_lock(sqlite3_file *file, int *ret)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
}

static int shim_control(sqlite3_file *file, int code, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), code, argument);
}

static int shim_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int shim_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shim_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
    if (extend && fails())
        return SQLITE_IOERR_SHMSIZE;
    return real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, ret);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shim_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static const sqlite3_io_methods plain_methods = {
    .iVersion = 1,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_traits,
};

static sqlite3_io_methods shared_methods; /* the same with shared memory */

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    struct shim_file *shim = (struct shim_file *)file;
    int rc;

    (void)vfs;
    shim->base.pMethods = NULL;
    shim->real = calloc(1, (size_t)real_vfs->szOsFile);
    if (!shim->real)
        return SQLITE_NOMEM;
    rc = real_vfs->xOpen(real_vfs, name, shim->real, flags, ret_flags);
    if (rc != SQLITE_OK) {
        free(shim->real);
        return rc;
    }
    shim->base.pMethods = disk.shared_memory ? &shared_methods : &plain_methods;
    return SQLITE_OK;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    if (fails())
        return SQLITE_IOERR_DELETE;
    (void)sync; /* as in shim_sync */
    return real_vfs->xDelete(real_vfs, name, 0);
}

static void install(void)
{
    static sqlite3_vfs vfs;

    shared_methods = plain_methods;
    shared_methods.iVersion = 2;
    shared_methods.xShmMap = shim_shm_map;
    shared_methods.xShmLock = shim_shm_lock;
    shared_methods.xShmBarrier = shim_shm_barrier;
    shared_methods.xShmUnmap = shim_shm_unmap;
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "faulty";
    vfs.szOsFile = sizeof(struct shim_file);
    vfs.xOpen = shim_open;
    vfs.xDelete = shim_delete;
    sqlite3_vfs_register(&vfs, 1);
}

struct walk {
    enum fault kind;
    bool lasting;
};

/* Scenario 1 from no file at all, with a fault. */
static bool inject(void *context, long at, long *ret_calls)
{
    const struct walk *walk = context;
    struct scenario_progress progress = {0};
    struct error err = ERROR_INIT;
    struct fixture *fixture;
    void *state = NULL;
    const char *wrong;
    enum status status;

    assert_int_equal(fixture_make(&state), 0);
    fixture = state;
    disk.kind = walk->kind;
    disk.lasting = walk->lasting;
    disk.fail_at = at;
    disk.calls = 0;
    disk.happened = false;
    status = scenario_run(fixture->path, 1, &progress, &err);
    disk.kind = FAULT_NONE;
    *ret_calls = disk.calls;
    /* A fault may have no effect (SQLite retries a checkpoint later), but not a wrong error. */
    if (status != STATUS_OK && status != STATUS_NO_SPACE && status != STATUS_IO)
        fail_msg("call %ld: %s: %s", at, status_name(status), err.message);
    if (status != STATUS_OK && !strstr(err.message, fixture->path))
        fail_msg("call %ld: the message does not name the file: %s", at, err.message);
    wrong = scenario_check(fixture->path, &progress);
    if (wrong)
        fail_msg("call %ld: %s", at, wrong);
    fixture_remove(&state);
    return disk.happened;
}

/* Faults at about `tries` of the calls, or at every one with ASSAY_TEST_ALL_CALLS set. */
static void walk(enum fault kind, bool lasting, long tries)
{
    fault_walk(inject, &(struct walk){.kind = kind, .lasting = lasting},
               getenv("ASSAY_TEST_ALL_CALLS") ? LONG_MAX : tries);
}

TEST(full_disk_for_a_moment)
{
    walk(FAULT_FULL, false, LONG_MAX);
}

TEST(full_disk_for_good)
{
    walk(FAULT_FULL, true, 110);
}

TEST(torn_write)
{
    walk(FAULT_TORN, false, LONG_MAX);
}

TEST(broken_disk)
{
    walk(FAULT_TORN, true, 110);
}

/* A file system without shared memory: no write-ahead log, and still a store. */
TEST_WITH(no_shared_memory, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct scenario_progress progress = {0};
    struct error err = ERROR_INIT;

    disk.shared_memory = false;
    assert_ok(scenario_run(fixture->path, 1, &progress, &err), err);
    assert_null(scenario_check(fixture->path, &progress));
    assert_ok(store_open(fixture->path, STORE_WRITE, 1000000000, &fixture->store, &err), err);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
    store_close(fixture->store);
    fixture->store = NULL;
    walk(FAULT_FULL, false, 180);
    disk.shared_memory = true;
}

int main(void)
{
    disk.shared_memory = true;
    install();
    return unit_run(NULL, NULL);
}
