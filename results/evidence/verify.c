#include "results/evidence/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "results/evidence/verify_internal.h"

#define M(...) MEMBER(struct verify_summary, __VA_ARGS__)
static const struct member summary_members[] = {
    M(INTEGER, schema_version),
    M(CHARS, origin, .size = sizeof(((struct verify_summary *)0)->origin)),
    M(INTEGER, leaves),
    M(DIGEST, root),
    MEMBER_AS(struct verify_summary, INTEGER, "records", rows),
    M(INTEGER, bytes),
    M(INTEGER, checkpoints),
    M(CHARS, signers, .size = sizeof(((struct verify_summary *)0)->signers),
      .help = "name and id of each key whose good signatures count"),
    M(INTEGER, signatures),
    M(INTEGER, trusted_signatures),
    M(INTEGER, signed_leaves),
    M(INTEGER, estimates, .help = "recomputed from the samples"),
    M(INTEGER, comparisons, .help = "recomputed from the samples"),
    M(INTEGER, wrong),
    M(INTEGER, unverified, .help = "findings of what this version cannot check"),
    M(INTEGER, notes),
    M(FINITE, seconds),
};
#undef M
const struct type verify_summary_type = TYPE(struct verify_summary, "a summary", summary_members);

/* Operations that any file may take, and per byte of it. */
#define WORK_BASE 20000000
#define WORK_PER_BYTE 300

#define SIDES 3       /* threads of concurrent steps */
#define WAIT_US 50000 /* between two polls of steps in other threads */

/* ---- the file ---- */

static bool companion_exists(const char *path, const char *ending, struct stat *st)
{
    char *name = text_format("%s%s", path, ending);
    const bool exists = name && stat(name, st) == 0;

    free(name);
    return exists;
}

/*
 * Size of file and log; whether the file may be in use. An empty log without shared memory is what
 * a copy brings along; in a folder that cannot be written to SQLite would not open it.
 */
static enum status look_at_file(struct verify *verify, struct error *err)
{
    struct stat st, log, memory;
    const bool has_log = companion_exists(verify->path, "-wal", &log);

    if (stat(verify->path, &st) != 0)
        return error_set_errno(err, errno, "%s", verify->path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, STATUS_CORRUPT,
                         "%s: is not a regular file; name a database or a bundle of assay",
                         verify->path);
    if (access(verify->path, R_OK) != 0)
        return error_set_errno(err, errno, "%s", verify->path);
    verify->file_size = st.st_size;
    verify->stray_log = has_log && log.st_size > 0 && !verify_is_log(verify->path);
    verify->immutable = !has_log || verify->stray_log || store_odd_companion(verify->path) ||
                        (log.st_size == 0 && !companion_exists(verify->path, "-shm", &memory));
    verify->changed = st.st_mtim;
    verify->summary->bytes = st.st_size + (has_log && !verify->stray_log ? log.st_size : 0);
    verify->work_max = WORK_BASE + WORK_PER_BYTE * verify->summary->bytes;
    return STATUS_OK;
}

/* A file without a log is read without locks: was it unchanged meanwhile? */
static enum status look_again(const struct verify *verify, struct error *err)
{
    struct stat st;

    if (!verify->immutable)
        return STATUS_OK;
    if (stat(verify->path, &st) == 0 && st.st_size == verify->file_size &&
        st.st_mtim.tv_sec == verify->changed.tv_sec &&
        st.st_mtim.tv_nsec == verify->changed.tv_nsec)
        return STATUS_OK;
    return error_set(err, STATUS_BUSY,
                     "%s: was written to while it was checked, so the findings are not "
                     "valid; check it again, or check a copy",
                     verify->path);
}

static int64_t pragma(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *select = NULL;
    int64_t value = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &select, NULL) == SQLITE_OK &&
        sqlite3_step(select) == SQLITE_ROW)
        value = sqlite3_column_int64(select, 0);
    sqlite3_finalize(select);
    return value;
}

/* SQLite cannot read it. Its header shows whether it is a database of assay. */
static enum status refuse(struct verify *verify, const struct verify_header *header, int rc,
                          struct error *err)
{
    if (!header->ours || rc == SQLITE_OK)
        return error_set(err, STATUS_CORRUPT, "%s: is neither a database nor a bundle of assay",
                         verify->path);
    verify->damaged = true;
    verify->summary->schema_version = header->version;
    if (verify->summary->wrong == 0)
        VERIFY_REPORT(verify, FILE_UNREADABLE, NULL, sqlite3_errstr(rc));
    return STATUS_OK;
}

/* What lies next to the database, and in its file outside of its content. */
static void look_beside(struct verify *verify)
{
    const int64_t page_size = pragma(verify->db, "PRAGMA page_size");
    const int64_t end = pragma(verify->db, "PRAGMA page_count") * page_size;
    const int64_t unused = pragma(verify->db, "PRAGMA freelist_count");
    const char *odd = store_odd_companion(verify->path);

    if (odd)
        VERIFY_REPORT(verify, COMPANION_ODD, NULL, verify->path, odd);
    else if (verify->stray_log)
        VERIFY_REPORT(verify, LOG_STRAY, NULL, verify->path);
    if (end > 0 && verify->file_size > end)
        VERIFY_REPORT(verify, BYTES_AFTER_PAGES, NULL, verify->file_size - end);
    if (unused > 0)
        VERIFY_REPORT(verify, PAGES_UNUSED, NULL, unused * page_size, unused);
}

static enum status identify(struct verify *verify, struct error *err)
{
    const struct verify_header header = verify_read_header(verify->path);
    sqlite3 *db = verify->db;
    int64_t application = pragma(db, "PRAGMA application_id");
    const int rc = sqlite3_extended_errcode(db);
    int64_t version;
    int newest;

    store_migrations(&newest);
    if (application < 0 && (rc & 0xff) == SQLITE_CANTOPEN &&
        store_check_pending(verify->path, err) != STATUS_OK)
        return STATUS_DENIED;
    if (application < 0 && (rc & 0xff) != SQLITE_CORRUPT && (rc & 0xff) != SQLITE_NOTADB)
        return store_error(verify->store, rc, "opening", err);
    if (header.ours && verify->immutable && header.bytes > verify->summary->bytes)
        VERIFY_REPORT(verify, FILE_CUT, NULL, verify->summary->bytes, header.bytes);
    if (application != STORE_APPLICATION_ID)
        return refuse(verify, &header, rc, err);
    if (store_has_hot_journal(verify->path))
        VERIFY_REPORT(verify, JOURNAL_HOT, NULL, verify->path);
    look_beside(verify);
    version = pragma(db, "PRAGMA user_version");
    if (version > newest)
        return error_set(err, STATUS_CORRUPT,
                         "%s: has schema version %" PRId64 ", this assay knows versions up to %d; "
                         "use the newer assay that wrote it",
                         verify->path, version, newest);
    if (version < 1)
        return error_set(err, STATUS_CORRUPT, "%s: has the impossible schema version %" PRId64,
                         verify->path, version);
    verify->summary->schema_version = version;
    return STATUS_OK;
}

/* ---- steps in threads of their own, concurrent with the others ---- */

typedef enum status step_fn(struct verify *verify, struct error *err);

/* Steps in their own thread, on their own connection; their findings are reported later. */
struct side {
    step_fn *steps[3]; /* NULL: no more */
    struct verify verify;
    struct verify_options options;
    struct verify_summary summary;
    struct verify_findings findings;
    enum status status;
    struct error err;
    pthread_t thread;
    bool shares_connection; /* where there is one thread */
    bool started;
    atomic_bool done;
};

static void found_beside(void *context, const struct verify_finding *finding)
{
    struct side *side = context;

    verify_findings_keep(&side->findings, finding);
}

static void finish_budgets(struct verify *verify)
{
    while (verify->budgets) {
        struct verify_budget *next = verify->budgets->next;

        free(verify->budgets);
        verify->budgets = next;
    }
}

static void *run_side(void *context)
{
    struct side *side = context;
    struct verify *verify = &side->verify;

    if (side->shares_connection) {
        verify->store = verify->main->store;
        verify_renew(verify, verify->store);
    } else {
        side->status = verify_open(verify, &verify->store, &side->err);
        if (side->status == STATUS_OK)
            sqlite3_exec(verify->store->db, "BEGIN", NULL, NULL, NULL);
    }
    if (side->status == STATUS_OK) {
        verify->db = verify->store->db;
        for (size_t i = 0; side->steps[i] && side->status == STATUS_OK; i++)
            if ((side->steps[i] == verify_structure || verify->readable) && !verify_stopped(verify))
                side->status = side->steps[i](verify, &side->err);
    }
    if (!side->shares_connection)
        store_close(verify->store);
    side->done = true;
    return NULL;
}

static void init_side(struct side *side, const struct verify *verify, step_fn *first,
                      step_fn *second)
{
    memset(side, 0, sizeof(*side));
    side->steps[0] = first;
    side->steps[1] = second;
    side->options = *verify->options;
    side->options.context = side;
    side->options.found = found_beside;
    side->options.progress = NULL; /* reported by one thread */
    side->summary.schema_version = verify->summary->schema_version;
    side->verify.options = &side->options;
    side->verify.summary = &side->summary;
    side->verify.path = verify->path;
    side->verify.immutable = verify->immutable;
    side->verify.work_max = verify->work_max;
    side->verify.readable = verify->readable;
    side->verify.model = verify->model;
    side->verify.main = verify;
    side->verify.lack = verify->lack;
    side->shares_connection = verify->options->threads == 1;
    if (!side->shares_connection)
        side->started = pthread_create(&side->thread, NULL, run_side, side) == 0;
}

/* Waits for its end, while the user may stop it, or does its work now. Reports its findings. */
static enum status finish_side(struct side *side, struct verify *verify, struct error *err)
{
    if (side->started) {
        while (!side->done && verify_progress(verify, "structure", 0, 0))
            usleep(WAIT_US);
        pthread_join(side->thread, NULL);
    } else {
        run_side(side);
        verify_renew(verify, verify->store);
    }
    finish_budgets(&side->verify);
    verify_findings_report(verify, &side->findings);
    if (side->status != STATUS_OK && err)
        *err = side->err;
    return side->status;
}

static enum status check_all(struct verify *verify, struct error *err)
{
    static step_fn *const steps[] = {verify_records, verify_tree, verify_signatures, verify_series,
                                     verify_serving};
    static step_fn *const last_steps[] = {verify_shown, verify_cells, verify_estimates,
                                          verify_comparisons};
    AUTO_FREE struct side *sides = calloc(SIDES, sizeof(*sides));
    enum status status = STATUS_OK;

    if (!sides)
        return error_no_memory(err);
    TRY(identify(verify, err));
    if (!verify->damaged)
        TRY(verify_schema(verify, err));
    if (verify->damaged)
        return STATUS_OK;
    init_side(&sides[0], verify, verify_structure, NULL);
    init_side(&sides[1], verify, verify_tables, verify_complete);
    init_side(&sides[2], verify, verify_trials, NULL);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (status == STATUS_OK && verify->readable && !verify->stopped)
            status = steps[i](verify, err);
    for (int i = 0; i < SIDES; i++) {
        enum status side_status = finish_side(&sides[i], verify, status == STATUS_OK ? err : NULL);

        if (status == STATUS_OK)
            status = side_status;
    }
    for (size_t i = 0; i < sizeof(last_steps) / sizeof(last_steps[0]); i++)
        if (status == STATUS_OK && verify->readable && !verify->stopped)
            status = last_steps[i](verify, err);
    return status;
}

static void finish(struct verify *verify)
{
    store_close(verify->store);
    sqlite3_close(verify->model);
    while (verify->covers) {
        struct verify_cover *next = verify->covers->next;

        free(verify->covers);
        verify->covers = next;
    }
    finish_budgets(verify);
    free(verify);
}

enum status verify_file(const char *path, const struct verify_options *options,
                        struct verify_summary *ret, struct error *err)
{
    struct verify_summary summary = {0};
    struct verify *verify = calloc(1, sizeof(*verify));
    struct verify_lack lack = {0};
    int64_t start = clock_monotonic_ns();
    enum status status;

    if (!verify)
        return error_no_memory(err);
    /* Counting what is allocated takes a lock that all connections share. The call fails,
     * harmlessly, where this process has used SQLite before. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    verify_watch_memory();
    verify_lack_begin(&lack);
    verify->options = options;
    verify->summary = &summary;
    verify->path = path;
    verify->lack = &lack;
    status = look_at_file(verify, err);
    if (status == STATUS_OK)
        status = verify_open(verify, &verify->store, err);
    if (status == STATUS_OK) {
        verify->db = verify->store->db;
        /* All steps read the same state. */
        sqlite3_exec(verify->db, "BEGIN", NULL, NULL, NULL);
        status = check_all(verify, err);
    }
    if (status == STATUS_OK && verify->stopped)
        status = error_set(err, STATUS_INTERRUPTED, "%s: not checked to the end", path);
    if (status == STATUS_OK)
        status = look_again(verify, err);
    status = verify_lack_end(verify, status, err);
    finish(verify);
    summary.seconds = (double)(clock_monotonic_ns() - start) / 1e9;
    *ret = summary;
    return status;
}
