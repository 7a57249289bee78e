/* verify_internal - what the files of the verifier share. For results/verify*.c alone. */
#ifndef ASSAY_RESULTS_EVIDENCE_VERIFY_INTERNAL_H
#define ASSAY_RESULTS_EVIDENCE_VERIFY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include "results/store/store_internal.h"
#include "results/evidence/verify_rules.h"
#include "results/store/foreign_worker.h"

#define VERIFY_KEY_TEXT 80       /* bytes of a key that is shown */
#define VERIFY_FINDINGS_MAX 1000 /* per step; more are counted, not reported */

struct verify_note {
    struct verify_finding finding; /* strings are heap */
    int64_t part;
};

/* Findings of one worker, reported when its step is over. */
struct verify_findings {
    struct verify_note *items;
    size_t count;
    int64_t unreported;
    int64_t part; /* of the work: what is added is of it */
};

/* Remaining budget of the statements of one connection. */
struct verify_budget {
    struct verify *verify;
    int64_t left;
    struct verify_budget *next;
};

/* How far good signatures cover a log. */
struct verify_cover {
    int64_t log, size;
    struct verify_cover *next;
};

/* What the system refused: one for a file, shared by all that check it. */
struct verify_lack {
    pthread_mutex_t lock;
    atomic_bool is_set;
    struct error err;        /* the first, once set */
    unsigned long shortages; /* of memory, before */
};

struct verify {
    const struct verify_options *options;
    struct verify_summary *summary;
    const char *path;
    bool immutable;          /* no process has the file open */
    bool stray_log;          /* its -wal is no log */
    int64_t file_size;       /* without its log */
    struct timespec changed; /* the file's time before it was read */
    int64_t work_max;        /* SQLite operations that one connection may take */
    struct verify_budget *budgets;
    struct store *store; /* on the main connection */
    sqlite3 *db;         /* its connection */
    sqlite3 *model;      /* a database of the same version, which verify_tables fills */
    bool damaged;        /* SQLite cannot read it; already reported */
    bool readable;       /* tables and indices are as expected, so they can be queried */
    struct verify_cover *covers;
    struct digest secret; /* of the file's own log */
    struct verify_lack *lack;
    atomic_bool stopped;
    const struct verify *main; /* of concurrent steps: stops them too; else NULL */
};

/* What the first 100 bytes of a database of assay say, even if the rest is damaged. */
struct verify_header {
    bool ours;     /* false: it does not begin as one, and nothing else is known */
    int64_t bytes; /* of the whole file */
    int version;   /* of the schema */
};

/* verify_open.c */
struct verify_header verify_read_header(const char *path);
/* Whether the file's -wal begins as a write-ahead log of a database with its page size. */
bool verify_is_log(const char *path);

/* verify_shortage.c */
void verify_lack_begin(struct verify_lack *lack);
/* Whether something was refused: from then on nothing that fails is a finding. */
bool verify_lacks(const struct verify *verify);
/* Keeps SQLite's error `rc` of `db`; false: it is not of the system, but of the file. */
bool verify_tell_lack(struct verify *verify, sqlite3 *db, int rc);
/* `status`, or why the file could not be checked, where that is why or where it is OK. */
enum status verify_lack_end(struct verify *verify, enum status status, struct error *err);

/* verify_open.c: a connection that trusts nothing; `store` is made around it. */
enum status verify_open(struct verify *verify, struct store **ret, struct error *err);
/* Lets a connection that is used for another step do as much work again. */
void verify_renew(struct verify *verify, struct store *store);

/* ---- verify_context.c ---- */

/*
 * Reports that a rule is broken by the row `key` (NULL: of no row) of the rule's table; the values
 * of its message follow. VERIFY_REPORT_AT: of another table, in the name of another check.
 */
#define VERIFY_REPORT(verify, rule, key, ...)                                                      \
    VERIFY_REPORT_AT(verify, rule, verify_rules[VERIFY_RULE_##rule].check,                         \
                     verify_rules[VERIFY_RULE_##rule].table, key, ##__VA_ARGS__)
#define VERIFY_REPORT_AT(verify, rule, check, table, key, ...)                                     \
    verify_report(verify, VERIFY_RULE_##rule, check, table, key, verify_message_##rule,            \
                  ##__VA_ARGS__)
void verify_report(struct verify *verify, enum verify_rule_code rule, enum verify_check check,
                   const char *table, const char *key, const char *message, ...)
    __attribute__((format(printf, 6, 7)));
/* The same, into a list of findings. */
#define VERIFY_ADD(findings, rule, key, ...)                                                       \
    verify_findings_add(findings, VERIFY_RULE_##rule, key, verify_message_##rule, ##__VA_ARGS__)
void verify_findings_add(struct verify_findings *findings, enum verify_rule_code rule,
                         const char *key, const char *message, ...)
    __attribute__((format(printf, 4, 5)));
/* Keeps a copy of a finding. */
void verify_findings_keep(struct verify_findings *findings, const struct verify_finding *finding);
/*
 * Why a statement failed on evidence; NULL: because the user stopped it, or the system refused
 * something, which is kept.
 */
const char *verify_damage(struct verify *verify, sqlite3 *db);
/* Rows that are numbered 1, 2, 3 ... are not: one is missing. */
void verify_report_gap(struct verify *verify, enum verify_check check, const char *table,
                       int64_t count, int64_t most);
/* A statement failed on evidence: the file is damaged there. */
void verify_report_damage(struct verify *verify, enum verify_check check, const char *table,
                          sqlite3 *db);
/* Reports them, VERIFY_FINDINGS_MAX at most, and empties the list. */
void verify_findings_report(struct verify *verify, struct verify_findings *findings);

/* Whether the user has stopped it, or the system refused something. */
bool verify_stopped(const struct verify *verify);
/* Reports a step's progress; false when the user wants to stop. */
bool verify_progress(struct verify *verify, const char *doing, uint64_t done, uint64_t total);

/* ---- work divided among threads ---- */

/* SQL: trials whose worker was another program than assay (harness/runner/PROTOCOL.md). Mostly
 * there is no such reading, which is asked first. */
#define VERIFY_FOREIGN_READINGS "SELECT id FROM reading WHERE name = 'variable.ASSAY_WORKER'"
#define VERIFY_FOREIGN_TRIALS                                                                      \
    "SELECT n.trial FROM environment n WHERE n.at = 'host' AND EXISTS (" VERIFY_FOREIGN_READINGS   \
    ") AND n.readings IN (SELECT m.reading_set FROM reading_member m WHERE m.reading IN "          \
    "(" VERIFY_FOREIGN_READINGS "))"

/* Those of them whose checks are that program's word. */
#define VERIFY_UNCHECKED_TRIALS VERIFY_FOREIGN_TRIALS " AND NOT " FOREIGN_WORKER_CHECKED("n.trial")

struct verify_worker {
    struct verify *verify;
    struct store *store; /* its own */
    sqlite3 *db;
    struct verify_findings findings;
    int64_t done; /* of whatever the step counts */
};
typedef void verify_work_fn(struct verify_worker *worker, int64_t first, int64_t end);
/*
 * Calls `work` with parts of [0, total), at most `step` long, in as many threads as asked. Findings
 * are reported in the order of their parts, whatever the number of threads. Returns the workers'
 * `done` in sum.
 */
enum status verify_share(struct verify *verify, const char *doing, int64_t total, int64_t step,
                         verify_work_fn *work, int64_t *ret_done, struct error *err);

/* ---- verify_rules.c ---- */

/*
 * Reports the rows that a rule's SELECT gives. `parameters` are bound as ?1, ?2 ...; NULL: it has
 * none.
 */
void verify_rule_check(struct verify *verify, enum verify_rule_code rule,
                       const int64_t *parameters);

/* ---- the steps ---- */

enum status verify_schema(struct verify *verify, struct error *err);
enum status verify_structure(struct verify *verify, struct error *err);
/* verify_record.c: each record by itself. */
enum status verify_records(struct verify *verify, struct error *err);
/* verify_tree.c: the logs and their heads. */
enum status verify_tree(struct verify *verify, struct error *err);
/* verify_tables.c: tables and blobs against the records. */
enum status verify_tables(struct verify *verify, struct error *err);
enum status verify_signatures(struct verify *verify, struct error *err);
/* verify_quote.c: what TPMs signed of heads. */
void verify_quotes(struct verify *verify);
/* verify_shown.c: what a reader does not see, and should know of. */
enum status verify_shown(struct verify *verify, struct error *err);
enum status verify_complete(struct verify *verify, struct error *err);
enum status verify_cells(struct verify *verify, struct error *err);
/* verify_series.c: samples, and whether trials were measured as their protocols say. */
enum status verify_series(struct verify *verify, struct error *err);
enum status verify_serving(struct verify *verify, struct error *err);
enum status verify_trials(struct verify *verify, struct error *err);
enum status verify_estimates(struct verify *verify, struct error *err);
enum status verify_comparisons(struct verify *verify, struct error *err);

/* FROM: the trials that ended well, as t, and their ends, as e. */
#define OK_TRIALS "trial t JOIN trial_end e ON e.trial = t.id AND e.status = 'ok'"

/* Prepares on a connection; NULL after reporting the damage. */
sqlite3_stmt *verify_prepare(struct verify *verify, sqlite3 *db, const char *sql,
                             enum verify_check check, const char *table);
/* Steps: true for a row. Damage is reported, and ends the rows. */
bool verify_step(struct verify *verify, sqlite3_stmt *select, enum verify_check check,
                 const char *table);
/* A column as text; "" for NULL. */
static inline const char *text_at(sqlite3_stmt *select, int column)
{
    const char *text = (const char *)sqlite3_column_text(select, column);

    return text ? text : "";
}
/* A column as a digest; false, without a change: it is none. */
static inline bool column_digest(sqlite3_stmt *row, int column, struct digest *ret)
{
    const void *bytes = sqlite3_column_blob(row, column);

    if (!bytes || sqlite3_column_bytes(row, column) != DIGEST_SIZE)
        return false;
    memcpy(ret->bytes, bytes, DIGEST_SIZE);
    return true;
}
/* The first column, a row's id, as text in `ret`, which is returned. */
static inline const char *key_of(sqlite3_stmt *row, char ret[24])
{
    snprintf(ret, 24, "%lld", (long long)sqlite3_column_int64(row, 0));
    return ret;
}
/* The single number that `sql` gives, with up to one parameter; `missing` when there is none. */
int64_t verify_ask(struct verify *verify, const char *sql, int64_t parameter, int64_t missing,
                   enum verify_check check);

#endif
