/* A connection to a database, what lies beside its file, and how messages name it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "results/record/record.h"
#include "results/store/store_internal.h"

/* Waits in steps of at most 5 ms, so that waiting writers take turns. */
int store_wait(void *context, int count)
{
    struct store *store = context;
    struct timespec pause = {0, count < 5 ? 1000000 : 5000000};
    int64_t now = clock_monotonic_ns();

    if (count == 0)
        store->busy_since_ns = now;
    if (now - store->busy_since_ns >= store->busy_timeout_ns)
        return 0;
    nanosleep(&pause, NULL);
    return 1;
}

static bool has_safe_json(sqlite3 *db)
{
    sqlite3_stmt *row = NULL;
    bool is_safe = false;

    if (sqlite3_prepare_v2(db,
                           "SELECT min(flags & ?1) > 0 FROM pragma_function_list WHERE name IN"
                           " ('json_valid', 'json_extract')",
                           -1, &row, NULL) == SQLITE_OK &&
        sqlite3_bind_int(row, 1, SQLITE_INNOCUOUS) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        is_safe = sqlite3_column_int(row, 0) != 0;
    sqlite3_finalize(row);
    return is_safe;
}

int store_connect(struct store *store, const char *name, int flags)
{
    int rc = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK)
        return rc;
    sqlite3_busy_handler(store->db, store_wait, store);
    store_limit_connection(store->db);
    /*
     * Views and checks of ours use JSON functions, which SQLite up to 3.40 counts as unsafe and
     * then refuses to open the file for writing. None can do harm, and none is run before the
     * schema has been compared.
     */
    if (!has_safe_json(store->db))
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL);
    store_limit_work(store);
    rc = record_register(store->db);
    if (rc != SQLITE_OK)
        return rc;
    return sqlite3_exec(store->db,
                        /* of a file that is empty so far; others keep theirs */
                        "PRAGMA page_size=8192;"
                        "PRAGMA cell_size_check=ON; PRAGMA foreign_keys=ON;"
                        "PRAGMA recursive_triggers=ON; PRAGMA synchronous=FULL;"
                        "SELECT count(*) FROM sqlite_schema",
                        NULL, NULL, NULL);
}

const char *store_odd_companion(const char *path)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    const char *found = NULL;
    struct stat st;

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]) && !found; i++) {
        AUTO_FREE char *name = text_format("%s%s", path, endings[i]);

        if (name && stat(name, &st) == 0 && !S_ISREG(st.st_mode))
            found = endings[i];
    }
    return found;
}

bool store_has_hot_journal(const char *path)
{
    char *name = text_format("%s-journal", path), first = 0;
    const int fd = name ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    const bool is_hot = fd >= 0 && read(fd, &first, 1) == 1 && first != 0;

    if (fd >= 0)
        close(fd);
    free(name);
    return is_hot;
}

enum status store_check_pending(const char *path, struct error *err)
{
    AUTO_FREE char *log = text_format("%s-wal", path);
    struct stat st;

    if (!log)
        return error_no_memory(err);
    if (stat(log, &st) == 0 && st.st_size > 0)
        return error_set(err, STATUS_DENIED,
                         "%s: the last changes are still in %s and the folder is not writable; "
                         "copy both files to a writable folder and read them there",
                         path, log);
    return STATUS_OK;
}

char *store_uri(const char *path, const char *query)
{
    struct text name = TEXT_INIT;

    text_append(&name, *path == '/' ? "file://" : "file:");
    for (const char *c = path; *c; c++) {
        if (strchr("?#%", *c))
            text_append_format(&name, "%%%02X", *c);
        else
            text_append_char(&name, *c);
    }
    text_append(&name, query);
    return text_steal(&name);
}

const char *store_word(const struct store *store)
{
    return store->path_word ? store->path_word : "BUNDLE";
}

const char *store_option(const struct store *store)
{
    return store->path_word ? "--db " : "";
}

const char *store_path_word(const struct store *store)
{
    return store->path_word;
}
