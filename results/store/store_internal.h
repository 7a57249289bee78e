/*
 * store_internal - what the files of the store share: the connection, its statements, its
 * transactions. For results/ alone.
 */
#ifndef ASSAY_RESULTS_STORE_STORE_INTERNAL_H
#define ASSAY_RESULTS_STORE_STORE_INTERNAL_H

#include <stdbool.h>

#include <sqlite3.h>

#include "harness/core/embed.h"
#include "harness/core/type.h"
#include "results/record/record.h"
#include "results/store/series.h"
#include "results/store/store.h"

#define STORE_APPLICATION_ID 0x41535359 /* "ASSY" */

/*
 * Events that do not change a campaign's state: they may follow the head that was signed at its
 * end.
 */
#define EVENTS_LATER "('archived', 'restored')"

/* SQL: the name of cell `c` of campaign `g`, as in store_find_cell. */
#define RESULT_ID "substr(g.uid, 1, 8) || '/' || c.ordinal"

/* SQL: the newest event of the campaign `id` that is of its run, or NULL. */
#define CAMPAIGN_STATE(id)                                                                         \
    "(SELECT v.event FROM campaign_event v WHERE v.campaign = " id                                 \
    " AND v.event NOT IN " EVENTS_LATER " ORDER BY v.id DESC LIMIT 1)"

/* The file as a command takes it; BUNDLE where it is a bundle's, which no --db names. */
const char *store_word(const struct store *store);
/* "--db ", or "" before a bundle. */
const char *store_option(const struct store *store);

/* SQL: whether the newest `assay archive` of the campaign `id` archived it, 0 or 1. */
#define CAMPAIGN_ARCHIVED(id)                                                                      \
    "coalesce((SELECT v.event = 'archived' FROM campaign_event v WHERE v.campaign = " id           \
    " AND v.event IN " EVENTS_LATER " ORDER BY v.id DESC LIMIT 1), 0)"

/*
 * SQL: protocol and cells of the campaign `g` as its plan has them, which repeated runs of the same
 * plan have in common; NULL: withheld.
 */
#define CAMPAIGN_CELLS(g)                                                                          \
    "(SELECT hex(" g ".protocol) || json_extract(n.body, '$.cells') FROM content n WHERE"          \
    " n.digest = " g ".plan AND json_valid(n.body))"

/*
 * SQL: how many campaigns of its log have the cells of a campaign, it among them: of those here,
 * and by what the heads of bundles say of all. SAME_PLAN_WITH begins the statement; `id` and
 * `digest` are of the campaign and of its record.
 */
#define SAME_PLAN_WITH                                                                             \
    "WITH cells (id, log, cells) AS MATERIALIZED (SELECT g.id, r.log,"                             \
    " assay_sha256(" CAMPAIGN_CELLS(                                                               \
        "g") ") FROM campaign g JOIN record r ON r.id = g.record),"                                \
             " same (log, cells, count) AS MATERIALIZED (SELECT log, cells, count(*) FROM cells"   \
             " WHERE cells IS NOT NULL GROUP BY log, cells),"                                      \
             " told (digest, count) AS MATERIALIZED (SELECT j.key, max(j.value) FROM checkpoint c" \
             " JOIN record r ON r.id = c.record, json_each(r.body, '$.same_cells_in_log') j"       \
             " WHERE c.kind = 'bundle' GROUP BY j.key) "
#define SAME_PLAN_HERE(id)                                                                         \
    "coalesce((SELECT s.count FROM cells x JOIN same s ON s.log = x.log AND s.cells = x.cells"     \
    " WHERE x.id = " id "), 1)"
#define SAME_PLAN_TOLD(digest)                                                                     \
    "coalesce((SELECT t.count FROM told t WHERE t.digest = lower(hex(" digest "))), 0)"

#define STORE_STATEMENTS_MAX 192

/* Bytes; a value or row beyond this in a database is hostile, not evidence. */
#define STORE_VALUE_MAX (256 * 1024 * 1024)

struct store_slot {
    const char *sql; /* a string literal: its address is the key */
    sqlite3_stmt *handle;
};

struct store {
    sqlite3 *db;
    char *path;      /* heap */
    char *path_word; /* as a shell takes it; heap */
    enum store_mode mode;
    int64_t busy_timeout_ns;
    int64_t busy_since_ns;  /* of the current wait */
    int64_t work, work_max; /* SQLite's operations since a statement began alone; the most */
    bool made;              /* by this call of store_open: nothing is stored yet */
    bool trusts_estimates;  /* see store_trusts_estimates */
    int carried_from;       /* schema version that it had before this call; 0: today's, or none */
    bool in_batch;
    bool batch_lost; /* SQLite rolled the whole batch back after a failure */
    bool has_secret;
    struct digest secret;       /* of this file's log */
    struct store_draft *drafts; /* store_draft.h: trials that have begun */
    json_t *sets;               /* of the record that is read: sets of readings, by number */
    struct store_slot slots[STORE_STATEMENTS_MAX];
    size_t slot_count;
};

/* ---- store.c ---- */

/* Sets store->db, as every connection of a store is. SQLite's code; OK: the schema has been read.
 */
int store_connect(struct store *store, const char *name, int flags);
/* As SQLite's busy handler: waits for another process; 0: it has been waited long enough. */
int store_wait(void *context, int count);
/* A file's name as SQLite takes it with SQLITE_OPEN_URI: "file:PATH" and `query`, which begins with
 * "?". Heap; NULL: out of memory. */
char *store_uri(const char *path, const char *query);
/*
 * Whether an interrupted change is next to the file, in FILE-journal: SQLite rolls it back, and so
 * changes the file, when it is next opened for writing. (Where there is a WAL, that is in
 * FILE-wal.)
 */
bool store_has_hot_journal(const char *path);

/*
 * The ending of a file next to the database, such as "-wal", that is none: a folder, a pipe, a
 * device. NULL: there is no such thing.
 */
const char *store_odd_companion(const char *path);

/* DENIED, with what to do, when a log with changes is next to a file that cannot be written to. */
enum status store_check_pending(const char *path, struct error *err);

/* ---- store_limits.c ---- */

/* Bounds values and statements of a connection, and runs no view or trigger of the file's. */
void store_limit_connection(sqlite3 *db);
/* Once the schema is known to be ours. */
void store_trust_schema(sqlite3 *db);
/*
 * Bounds the work on store->db by the file's size: SQLITE_INTERRUPT beyond what any honest file of
 * its size takes.
 */
void store_limit_work(struct store *store);

/* ---- store_schema.c ---- */

/* Scripts that migrate a database: the k-th from schema version k to k + 1, counted from 0. */
const struct embed_file *store_migrations(int *ret_count);

/*
 * Checks whose file it is and brings it to version `count`. DENIED, CORRUPT and the rest as in
 * store.h.
 */
enum status store_schema_prepare(struct store *store, const struct embed_file *migrations,
                                 int count, struct error *err);

/* Makes every table refuse UPDATE and DELETE. */
enum status store_install_triggers(sqlite3 *db, struct error *err);

/* ---- store_place.c ---- */

/*
 * A file system that other machines may have open as well. They do not see this one's shared
 * memory, and a write-ahead log used by two of them corrupts the database (sqlite.org/wal.html).
 */
bool store_is_of_a_network(const char *path);

/* Says BUSY, who has the lock where that is seen here, and else what the file system does to it. */
enum status store_busy(const struct store *store, const char *doing, struct error *err);

/* "NFS", or words for what is not known: for a message that locks do not work there. */
const char *store_without_locks(const struct store *store);

/* ---- store_sql.c: errors ---- */

/* Sets the error of SQLite's result code `rc`; `doing` is a phrase such as "storing samples". */
enum status store_error(struct store *store, int rc, const char *doing, struct error *err);

/* ---- statements; one at a time of the same text ---- */

struct statement {
    struct store *store;
    sqlite3_stmt *handle;
    int next; /* parameter that the next bind fills */
    int rc;   /* first failure of a bind; reported by the next step */
};

/* `sql` must be a string literal: prepared statements are kept by its address. */
enum status statement_begin(struct store *store, const char *sql, struct statement *ret,
                            struct error *err);
/* The same of one whose first parameter is `first`. */
enum status statement_of(struct store *store, const char *sql, int64_t first, struct statement *ret,
                         struct error *err);
void statement_i64(struct statement *statement, int64_t value);
void statement_null(struct statement *statement);
/* NULL stays NULL. Bytes that are not UTF-8 are stored escaped (text_append_printable). */
void statement_text(struct statement *statement, const char *value);
void statement_blob(struct statement *statement, const void *bytes, size_t length);
void statement_digest(struct statement *statement, const struct digest *digest); /* NULL: NULL */

/* Steps; `ret_row` says whether there is a row. */
enum status statement_step(struct statement *statement, bool *ret_row, struct error *err);
/* Whether there is a next row; none after a failure, which `ret_status` then says. */
bool statement_next(struct statement *statement, enum status *ret_status, struct error *err);
/* Steps one that gives no rows, and ends it. `ret_id`, when not NULL, is the row inserted. */
enum status statement_run(struct statement *statement, int64_t *ret_id, struct error *err);
void statement_end(struct statement *statement); /* takes one that never began */
/* The digest in a column of the row; NO_MEMORY. */
enum status statement_read_digest(struct statement *statement, int column, struct digest *ret,
                                  struct error *err);

/*
 * All rows, as an array of objects with keys from the column names; ends the statement. A suffix
 * gives the form: "name:json" is parsed, "name:bool", "name:iso" (utc_ns as text); other blobs
 * become hex. NULL is null.
 */
enum status statement_rows_json(struct statement *statement, json_t **ret, struct error *err);
/* Value of the single integer that a SELECT gives; NOT_FOUND (no message) without a row. */
enum status statement_single(struct statement *statement, int64_t *ret, struct error *err);
/* The same at once, of a SELECT whose only parameter, where it has one, is `parameter`. */
enum status store_ask(struct store *store, const char *sql, int64_t parameter, int64_t *ret,
                      struct error *err);

/* ---- transactions ---- */

/* Around every write. Within a batch it is a savepoint of the batch. */
enum status store_change_begin(struct store *store, struct error *err);
/* Commits when `result` is OK, else undoes; returns `result` or why the commit failed. */
enum status store_change_end(struct store *store, enum status result, struct error *err);

/* Around several SELECTs that must agree. Not within a batch or a change, which agree anyway. */
enum status store_snapshot_begin(struct store *store, struct error *err);
void store_snapshot_end(struct store *store);

/* ---- shared by several files ---- */

/*
 * The value of a reading of a set, as SQL; NULL: not reported, or withheld. Printed results also
 * need the device's driver (of a row `d` of device) and the host, by its name in `trial`.
 */
#define CONTEXT_READING(set, name)                                                                 \
    "(SELECT json_extract(r.body, '$.value') FROM reading_member m JOIN reading r"                 \
    " ON r.id = m.reading WHERE m.reading_set = " set " AND r.name = '" name "')"
#define CONTEXT_DRIVER_VERSION CONTEXT_READING("d.readings", "device.driver_version")
#define CONTEXT_HOST(trial)                                                                        \
    CONTEXT_READING("(SELECT readings FROM environment WHERE trial = " trial " AND at = 'host')",  \
                    "host.name")

/* ---- store_record.c: records and blobs; all within a change ---- */

struct store_record {
    int64_t id; /* row in `record` */
    struct digest digest;
};

/*
 * A record while it is made, or a part of one: its members, and the first failure, after which
 * nothing more happens, so that its maker asks once, at the end. A text that is NULL, or a number
 * that is negative in body_known, has no member. INVALID: a number does not fit into 64 bits.
 */
struct record_body {
    struct store *store;
    const char *type; /* of the record, for a part too */
    json_t *json;
    enum status status;
    struct error *err; /* the caller's */
    bool in_change;    /* of its own */
};
/* Begins one, within a change of the caller's; or a part of `whole`, which it fails with. */
struct record_body body_of(struct store *store, const char *type, struct error *err);
struct record_body body_part_of(const struct record_body *whole);
/* Begins a change of its own, until body_close; and a record with one. */
void body_change(struct record_body *body);
struct record_body body_begin(struct store *store, const char *type, struct error *err);
/* What else must go well; not evaluated after a failure. */
#define BODY_TRY(body, call)                                                                       \
    do {                                                                                           \
        if ((body)->status == STATUS_OK)                                                           \
            (body)->status = (call);                                                               \
    } while (0)
void body_text(struct record_body *body, const char *name, const char *value);
void body_json(struct record_body *body, const char *name, json_t *value); /* takes it */
void body_i64(struct record_body *body, const char *name, int64_t value);
void body_u64(struct record_body *body, const char *name, uint64_t value);
void body_known(struct record_body *body, const char *name, int64_t value);
void body_u64_text(struct record_body *body, const char *name, uint64_t value);
void body_digest(struct record_body *body, const char *name, const struct digest *digest);
/* All members of a struct that are not null, as its type writes them. INVALID: a COUNT does not fit
 * into 64 bits. */
void body_struct(struct record_body *body, const struct type *type, const void *record);
void body_bytes(struct record_body *body, const char *name, const void *bytes, size_t length);
void body_blob(struct record_body *body, const char *name, const struct digest *digest);
/* A reference to JSON, which is stored as a blob; `ret`, which may be NULL: its digest. */
void body_content(struct record_body *body, const char *name, const json_t *json,
                  struct digest *ret);
/* A part as a member, or as the next of an array. Takes what is in `part`. */
void body_part(struct record_body *body, const char *name, struct record_body *part);
void body_append(struct record_body *body, const char *array, struct record_body *part);
/* A reference to a record of its own, and to one of readings. Takes what is in `own`. */
void body_record(struct record_body *body, const char *name, struct record_body *own);
void body_readings(struct record_body *body, const char *name, const json_t *readings);
/* Member "log", its name: for content that is shared and has no salt, so that no two logs have the
 * same record. */
void body_log(struct record_body *body);
/* References to rows: members "campaign"; "campaign" and "cell"; "begin"; "device"; "checkpoint".
 * NOT_FOUND. */
void body_campaign(struct record_body *body, int64_t campaign);
void body_cell(struct record_body *body, int64_t cell);
void body_trial(struct record_body *body, int64_t trial);
void body_device(struct record_body *body, int64_t device);
void body_checkpoint(struct record_body *body, int64_t checkpoint);
/*
 * Appends the record to this file's log; of a shared type, gives the one that is there. Takes what
 * is in `body`. `ret`, which may be NULL: the record, or the row that `sql` finds for its id.
 */
void body_enter(struct record_body *body, struct store_record *ret);
void body_enter_row(struct record_body *body, const char *sql, int64_t *ret);
/* Ends its change, and gives the first failure of all; after one, nothing is left in `body`. */
enum status body_close(struct record_body *body);
/* Appends the record, and ends its change. */
enum status body_end(struct record_body *body);

/* A record as it is entered. */
struct record_row {
    int64_t id; /* 0: the next */
    int64_t log, leaf;
    const struct record_type *type;
    struct digest digest;
    const struct digest *salt; /* of all members; NULL: see salts */
    const char *salts;         /* JSON; NULL: none */
    const char *body;
    size_t length;
    bool keep_body; /* false: the row is to be compared alone */
    /* Called with each blob that it refers to; NULL: not asked for. */
    enum status (*blob)(void *context, const struct digest *digest, struct error *err);
    void *context; /* of `blob` */
};
/*
 * Inserts the row, and what follows from it in all tables. CORRUPT: what it refers to is not here.
 */
enum status store_enter_record(struct store *store, const struct record_row *row, int64_t *ret,
                               struct error *err);

/* A blob: by the SHA-256 of its bytes, or of the canonical form of JSON, which is `ret`; once. */
enum status store_insert_content(struct store *store, const void *bytes, size_t length,
                                 struct digest *ret, struct error *err);
enum status store_insert_json(struct store *store, const json_t *json, struct digest *ret,
                              struct error *err);

/* store_draft.c: forgets the trials that have begun. */
void store_drafts_finish(struct store *store);

/* A chunk of samples, as its row is. */
struct store_chunk {
    int64_t first, count;
    struct series_facts facts;
    size_t length;
    uint8_t *bytes; /* encoded (series.h) */
};
/* store_samples.c: its row. */
enum status store_insert_chunk(struct store *store, int64_t trial, const char *name,
                               const struct store_chunk *chunk, struct error *err);
/*
 * store_samples.c: one chunk into `ret` (room for SERIES_CHUNK_MAX); first, count, minimum,
 * maximum, total and data are in the row's columns from `column` on. `ret_digest` as in series.h.
 * CORRUPT: it is not what its row says.
 */
enum status store_read_chunk(sqlite3_stmt *row, int column, int64_t *ret, size_t *ret_count,
                             struct digest *ret_digest, struct error *err);
/* Heap copy of `value` in clean UTF-8, as statement_text stores it. */
char *store_clean_text(const char *value);

/*
 * Of cell `c` of campaign `g`: "a" or "b" where it is an arm of a paired campaign, else NULL; and
 * the settings of that arm as the plan has them (JSON).
 */
#define ARM_SETTINGS                                                                               \
    "(SELECT json_extract(n.body, '$.cells[' || (c.ordinal - 1) || '].spec') FROM content n"       \
    " WHERE n.digest = g.plan AND json_valid(n.body))"
/* Who was to measure the cell; NULL: assay's own worker. */
#define NAMED_WORKER                                                                               \
    "(SELECT json_extract(n.body, '$.cells[' || (c.ordinal - 1) || '].worker') FROM content n"     \
    " WHERE n.digest = g.plan AND json_valid(n.body))"
#define ARM_NAME                                                                                   \
    "CASE WHEN " ARM_SETTINGS " IS NOT NULL AND (SELECT count(*) FROM cell x"                      \
    " WHERE x.campaign = c.campaign) > 1 THEN coalesce(json_extract(" ARM_SETTINGS                 \
    ", '$.name'), char(98 - c.ordinal % 2)) END"

#endif
