#include "results/store/store_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/shell.h"

/* Reports the cause where SQLite would only say "unable to open database file". */
static enum status check_folder(const char *path, struct error *err)
{
    AUTO_FREE char *folder = strdup(path);
    char *slash;

    if (!folder)
        return error_no_memory(err);
    slash = strrchr(folder, '/');
    if (!slash)
        strcpy(folder, *folder ? "." : "");
    else
        slash[slash == folder ? 1 : 0] = '\0';
    if (access(folder, F_OK) != 0)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: there is no folder %s; make it with mkdir -p %s", path, folder,
                         folder);
    else if (access(folder, W_OK | X_OK) != 0)
        return error_set(err, STATUS_DENIED,
                         "%s: the folder %s is not writable (%s), and a database needs files "
                         "next to it; choose another place with --db",
                         path, folder, strerror(errno));
    return STATUS_OK;
}

/* SQLite opens what is next to the file, and would wait for ever on a pipe of such a name. */
static enum status check_companions(const char *path, struct error *err)
{
    const char *ending = store_odd_companion(path);

    return !ending ? STATUS_OK
                   : error_set(err, STATUS_INVALID,
                               "%s: %s%s is next to it, which is not a regular file but would be "
                               "taken for a part of it; remove it",
                               path, path, ending);
}

static enum status no_database(const char *path, struct error *err)
{
    AUTO_FREE char *word = shell_quoted(path);

    error_set(err, STATUS_NOT_FOUND,
              "%s: there is no such database; `assay run first-look --db %s` makes one", path,
              word ? word : "FILE");
    return STATUS_NOT_FOUND;
}

static enum status check_path(const char *path, enum store_mode mode, struct error *err)
{
    struct stat st;

    if (!*path)
        return error_set(err, STATUS_INVALID,
                         "the database's file name is empty; --db names a file (is a variable of a "
                         "script not set?)");
    if (stat(path, &st) != 0) {
        if (errno != ENOENT)
            return error_set_errno(err, errno, "%s", path);
        return mode == STORE_CREATE ? check_folder(path, err) : no_database(path, err);
    }
    if (S_ISDIR(st.st_mode))
        return error_set(err, STATUS_INVALID,
                         "%s: is a folder; name a file in it, such as "
                         "%s/results.db",
                         path, path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, STATUS_INVALID, "%s: is not a regular file", path);
    if (access(path, R_OK) != 0)
        return error_set(err, STATUS_DENIED, "%s: is not readable (%s)", path, strerror(errno));
    if (mode == STORE_READ)
        return check_companions(path, err);
    if (access(path, W_OK) != 0)
        return error_set(err, STATUS_DENIED,
                         "%s: is not writable (%s); give yourself permission, or choose another "
                         "file with --db",
                         path, strerror(errno));
    TRY(check_folder(path, err));
    return check_companions(path, err);
}

/*
 * A database in WAL mode on a medium that cannot be written to can be read only as "immutable";
 * that is right as long as no one else writes to it, which a log next to it would show.
 */
static enum status connect_immutable(struct store *store, struct error *err)
{
    AUTO_FREE char *name = NULL;
    int rc;

    TRY(store_check_pending(store->path, err));

    if (store_has_hot_journal(store->path))
        return error_set(
            err, STATUS_DENIED,
            "%s: an interrupted change is next to it in %s-journal and has to be "
            "rolled back first; open it where it can be written to (`sqlite3 %s .tables`)",
            store->path, store->path, store_word(store));
    name = store_uri(store->path, "?immutable=1");
    sqlite3_close(store->db);
    store->db = NULL;
    if (!name) {
        return error_no_memory(err);
    } else {
        rc = store_connect(store, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
        TRY(rc == SQLITE_OK ? STATUS_OK : store_error(store, rc, "opening", err));
    }
    return STATUS_OK;
}

static enum status open_connection(struct store *store, struct error *err)
{
    int flags = store->mode == STORE_READ    ? SQLITE_OPEN_READONLY
                : store->mode == STORE_WRITE ? SQLITE_OPEN_READWRITE
                                             : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = store_connect(store, store->path, flags);

    if (store->mode == STORE_READ &&
        ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY))
        return connect_immutable(store, err);
    return rc == SQLITE_OK ? STATUS_OK : store_error(store, rc, "opening", err);
}

/*
 * Switches to a write-ahead log, or on a network's file system to a rollback journal; where memory
 * cannot be shared between processes, SQLite keeps that by itself. It is as durable, only readers
 * then wait for writers. The switch does not call the busy handler in every case, hence the loop.
 */
static enum status use_log(struct store *store, struct error *err)
{
    const char *sql = store_is_of_a_network(store->path) ? "PRAGMA journal_mode=DELETE"
                                                         : "PRAGMA journal_mode=WAL";

    for (int i = 0;; i++) {
        int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

        if (rc == SQLITE_OK)
            return STATUS_OK;
        if ((rc & 0xff) != SQLITE_BUSY || !store_wait(store, i))
            return store_error(store, rc, "opening", err);
    }
}

/*
 * Removes a file that this call created and could not fill. With a journal next to it, another
 * process is filling it.
 */
static void remove_empty(const char *path)
{
    AUTO_FREE char *journal = text_format("%s-journal", path);
    struct stat st;

    if (journal && stat(path, &st) == 0 && st.st_size == 0 && stat(journal, &st) != 0)
        unlink(path);
}

enum status store_open(const char *path, enum store_mode mode, int64_t busy_timeout_ns,
                       struct store **ret, struct error *err)
{
    const struct embed_file *migrations;
    struct store *store;
    struct stat st;
    char *made = NULL;
    int count;
    enum status status = STATUS_OK;

    TRY(check_path(path, mode, err));
    store = calloc(1, sizeof(*store));
    if (!store)
        return error_no_memory(err);
    store->mode = mode;
    store->busy_timeout_ns = busy_timeout_ns;
    /* ":memory:" and "file:..." would mean something else to SQLite. */
    store->path =
        text_format("%s%s", *path == ':' || strncmp(path, "file:", 5) == 0 ? "./" : "", path);
    store->path_word = store->path ? shell_quoted(store->path) : NULL;
    if (!store->path_word) {
        status = error_no_memory(err);
        goto fail;
    }
    store->made = stat(path, &st) != 0;
    status = open_connection(store, err);
    if (status != STATUS_OK)
        goto fail;
    migrations = store_migrations(&count);
    status = store_schema_prepare(store, migrations, count, err);
    store->made &= status != STATUS_OK;
    if (status == STATUS_OK && mode != STORE_READ)
        status = use_log(store, err);
    if (status != STATUS_OK)
        goto fail;
    *ret = store;
    return STATUS_OK;
fail:
    if (store->made && status == STATUS_NO_SPACE)
        made = strdup(store->path);
    store_close(store);
    if (made)
        remove_empty(made);
    free(made);
    return status;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->slot_count; i++)
        sqlite3_finalize(store->slots[i].handle);
    store_drafts_finish(store);
    sqlite3_close(store->db);
    free(store->path);
    free(store->path_word);
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

void store_set_scratch(struct store *store)
{
    free(store->path_word);
    store->path_word = NULL;
}

bool store_trusts_estimates(const struct store *store)
{
    return store->trusts_estimates;
}

int store_carried_from(const struct store *store)
{
    return store->carried_from;
}

struct sqlite3 *store_connection(struct store *store)
{
    return store->db;
}
