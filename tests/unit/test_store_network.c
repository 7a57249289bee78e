/* The store on a file system that other machines share: statfs(2) of this executable is replaced.
 */
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <sqlite3.h>

#include "results/store/store.h"
#include "tests/support/unit.h"

static unsigned long type;
static char path[] = "/tmp/assay-network-XXXXXX";

int __real_statfs(const char *name, struct statfs *ret);
int __wrap_statfs(const char *name, struct statfs *ret);

int __wrap_statfs(const char *name, struct statfs *ret)
{
    const int result = __real_statfs(name, ret);

    if (type)
        ret->f_type = (__typeof__(ret->f_type))type;
    return result;
}

static void assert_journal(unsigned long on, const char *mode)
{
    struct store *store = NULL;
    sqlite3_stmt *row = NULL;
    struct error err = ERROR_INIT;

    type = on;
    assert_int_equal(store_open(path, STORE_CREATE, 0, &store, &err), STATUS_OK);
    assert_int_equal(
        sqlite3_prepare_v2(store_connection(store), "PRAGMA journal_mode", -1, &row, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), mode);
    sqlite3_finalize(row);
    store_close(store);
}

TEST(journal)
{
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    assert_journal(0, "wal"); /* where tests run: a disk of this machine */
    assert_journal(0x6969, "delete");
    assert_journal(0x6969, "delete");
    assert_journal(0xfe534d42, "delete");
    assert_journal(0x0bd00bd0, "delete"); /* Lustre */
    assert_journal(0, "wal");
    unlink(path);
}

/* Nobody on this machine has the lock, and it is not to be had: then the place is at fault. */
TEST(busy)
{
    static const struct {
        unsigned long type;
        const char *words;
    } cases[] = {{0x6969, "the file is on NFS"},
                 {0xff534d42, "the file is on CIFS"},
                 {0x01021997, "the file is on 9P"}};
    char file[] = "/tmp/assay-network-XXXXXX";
    struct error err = ERROR_INIT;
    struct store *store = NULL;
    sqlite3 *other = NULL;
    const int fd = mkstemp(file);

    assert_true(fd >= 0);
    close(fd);
    type = 0x6969;
    assert_int_equal(store_open(file, STORE_CREATE, 0, &store, &err), STATUS_OK);
    /* A second connection of this process holds it, which /proc/locks does not tell from ours. */
    assert_int_equal(sqlite3_open(file, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        type = cases[i].type;
        assert_int_equal(store_batch_begin(store, &err), STATUS_BUSY);
        assert_non_null(strstr(err.message, cases[i].words));
        assert_non_null(strstr(err.message, "a disk of this machine"));
    }
    type = 0;
    assert_int_equal(store_batch_begin(store, &err), STATUS_BUSY);
    assert_non_null(strstr(err.message, "another process has been writing"));
    sqlite3_close(other);
    store_close(store);
    unlink(file);
}
