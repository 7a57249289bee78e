/* verify_internal - what the files of the verifier share. For results/verify*.c alone. */
#ifndef ASSAY_RESULTS_VERIFY_INTERNAL_H
#define ASSAY_RESULTS_VERIFY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <sqlite3.h>

#include "harness/core/text.h"
#include "results/ledger_leaf.h"
#include "results/store_internal.h"
#include "results/verify.h"

/*
 * Mathematical functions of the C library differ in the last bit from one version and processor to
 * the next. A smaller difference counts as equal.
 */
#define SAME_WITHIN 1e-9

#define VERIFY_TABLES_MAX 128
#define VERIFY_INDEX_SIZE 512 /* a power of two, well above the above */
#define VERIFY_KEY_PARTS_MAX 8
#define VERIFY_REFERENCES_MAX 4
#define VERIFY_KEY_TEXT 80       /* bytes of a key that is shown */
#define VERIFY_FINDINGS_MAX 1000 /* per step; more are counted, not reported */

/* Range of the numbers seen in a column; `least` above `most`: none. */
struct verify_range {
    int64_t least, most;
};

/* A column that holds the `id` of a row of another table. */
struct verify_reference {
    int column; /* as the shape counts them */
    int owner;  /* of verify->tables */
    struct verify_range seen;
};

/* A table of evidence as this version defines it. */
struct verify_table {
    char *name; /* heap */
    size_t name_length;
    /*
     * Heap: the shape's columns of the row with the key ?1, ?2 ..; of a table in order, of that row
     * and all after it.
     */
    char *select;
    char *scan; /* heap: the key of every row */
    struct ledger_leaf_shape shape;
    char parts[VERIFY_KEY_PARTS_MAX]; /* types of the key's columns: 'I', 'T' or 'B' */
    int part_count;
    int part_columns[VERIFY_KEY_PARTS_MAX]; /* the same, as the shape counts them */
    bool is_number;                         /* its key is one integer */
    bool in_order;    /* its key begins with one; its rows come mostly in the order of their keys */
    bool reads_ahead; /* in order, and its rows are small */
    bool counted;     /* its key is a number that SQLite counts up */
    int64_t leaves;   /* in the ledger */
    int64_t first, last; /* counted: its first key there, and the largest so far */
    struct verify_reference references[VERIFY_REFERENCES_MAX];
    int reference_count;
    bool refers_otherwise; /* to a key that is no `id`, or more often than above */
};

struct verify_note {
    struct verify_finding finding; /* strings are heap */
};

/* Findings of one worker, reported when its step is over. */
struct verify_findings {
    struct verify_note *items;
    size_t count, capacity;
    int64_t unreported;
};

/* Remaining budget of the statements of one connection. */
struct verify_budget {
    struct verify *verify;
    int64_t left;
    struct verify_budget *next;
};

struct verify_tree;

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
    sqlite3 *model;      /* an empty database of the same version */
    bool damaged;        /* SQLite cannot read it; already reported */
    bool readable;       /* tables and indices are as expected, so they can be queried */
    struct verify_table tables[VERIFY_TABLES_MAX];
    size_t table_count;
    int16_t table_index[VERIFY_INDEX_SIZE]; /* the tables by name; 0: free, else number + 1 */
    int64_t leaves;                         /* rows in the ledger */
    struct verify_tree *tree;               /* from verify_tree_begin on; else NULL */
    struct verify_lack *lack;
    bool trials_were_planned; /* each trial is, by verify_complete */
    atomic_bool stopped;
    const struct verify *main; /* of concurrent steps: stops them too; else NULL */
};

/* What the first 100 bytes of a database of assay say, even if the rest is damaged. */
struct verify_header {
    bool ours;     /* false: it does not begin as one, and nothing else is known */
    int64_t bytes; /* of the whole file */
    int version;   /* of the schema */
};

/* verify_header.c */
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

/* ---- findings ---- */

void verify_report(struct verify *verify, enum verify_level level, enum verify_check check,
                   const char *table, const char *key, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/*
 * Why a statement failed on evidence; NULL: because the user stopped it, or the system refused
 * something, which is kept.
 */
const char *verify_damage(struct verify *verify, sqlite3 *db);
/* A statement failed on evidence: the file is damaged there. */
void verify_report_damage(struct verify *verify, enum verify_check check, const char *table,
                          sqlite3 *db);
void verify_findings_add(struct verify_findings *findings, enum verify_level level,
                         enum verify_check check, const char *table, const char *key,
                         const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Reports them and empties the list. */
void verify_findings_report(struct verify *verify, struct verify_findings *findings);

/* Whether the user has stopped it, or the system refused something. */
bool verify_stopped(const struct verify *verify);
/* Reports a step's progress; false when the user wants to stop. */
bool verify_progress(struct verify *verify, const char *doing, uint64_t done, uint64_t total);

/* ---- work divided among threads ---- */

/* Where a worker reads a table. Two, for rows that are entered from two places at once. */
#define VERIFY_CURSORS 2

/*
 * Rows that are read ahead, as long as they are asked for in order, and those kept for later,
 * because a trial has rows that were inserted in another order than that of their keys
 * ('window_start', then 'window_end').
 */
#define VERIFY_ROWS_BEHIND 3
#define VERIFY_ROWS_AHEAD 28
#define VERIFY_ROWS_MAX (VERIFY_ROWS_BEHIND + VERIFY_ROWS_AHEAD + 1)
#define VERIFY_BYTES_AHEAD 4096
#define VERIFY_READ_AHEAD "assay_read_ahead" /* the SQL function that takes their columns */

struct verify_cursor {
    struct verify_place {
        sqlite3_stmt *select;
        struct ledger_leaf_value *values; /* heap: of the rows that were read, concatenated */
        char *bytes;                      /* heap: their text and bytes */
        size_t used;                      /* of `bytes` */
        int count, at;                    /* rows that were read; the current one */
        int limit;      /* of `count`, before the next row that the statement gives */
        int ahead;      /* rows that the latest step should read ahead */
        uint32_t taken; /* rows, a bit each, that a leaf has named */
        bool ended;     /* the statement gives no more */
        bool on_row;    /* it is on one, of a table in order */
    } places[VERIFY_CURSORS];
    int latest; /* the place that was returned last */
};

/* SQL: trials whose worker was another program than assay (harness/runner/PROTOCOL.md). */
#define VERIFY_FOREIGN_TRIALS                                                                      \
    "SELECT n.trial FROM reading r JOIN reading_member m ON m.reading = r.id JOIN environment n"   \
    " ON n.readings = m.reading_set AND n.at = 'host' WHERE r.name = 'variable.ASSAY_WORKER'"

/* One part of a key, as the ledger has it. */
struct verify_key_part {
    char type; /* 'I', 'T' or 'B' */
    int64_t number;
    const char *text; /* 'T': the ledger's own; 'B': `bytes` */
    size_t length;
    char bytes[64];
};

struct verify_key {
    bool is_read; /* false: such a key names no row */
    struct verify_key_part parts[VERIFY_KEY_PARTS_MAX];
};

/* A row of the ledger. Values belong to the statement that is on it. */
struct verify_entry {
    int64_t leaf;
    const struct verify_table *table; /* NULL: there is none of its name */
    sqlite3_value *key, *digest;
    struct verify_key named; /* the key's parts */
};

/* What the tree takes of a leaf. */
struct verify_leaf {
    struct digest digest; /* zero bytes where the ledger has none of this size */
    int64_t number;       /* the first of the key's parts */
    uint64_t key_hash;    /* of a key that is more than that number */
    int16_t table;        /* of verify->tables; -1: none of them */
    bool has_number;
};

struct verify_worker {
    struct verify *verify;
    struct store *store; /* its own */
    sqlite3 *db;
    struct verify_findings findings;
    int64_t done; /* of whatever the step counts */
    struct ledger_leaf_maker *maker;
    struct verify_cursor cursors[VERIFY_TABLES_MAX];
    struct verify_place *filling; /* whose statement is being stepped */
    struct verify_entry entry;    /* of the ledger: the latest */
    /* By table: the one that the ledger named next, the last time. */
    const struct verify_table *next[VERIFY_TABLES_MAX];
    int64_t end;   /* of the current part */
    bool is_ready; /* for its first leaf */
    struct verify_range seen[VERIFY_TABLES_MAX][VERIFY_REFERENCES_MAX];
    struct verify_leaf *leaves; /* heap: of the current part */
    size_t leaf_count;
};
typedef void verify_work_fn(struct verify_worker *worker, int64_t first, int64_t end);
/*
 * Calls `work` with parts of [0, total), at most `step` long, in as many threads as asked, and
 * after each `in_order` (NULL: nothing), which is never called by two threads at once and takes the
 * parts one after the other. Findings are reported in the order of their parts' workers. Returns
 * the workers' `done` in sum.
 */
enum status verify_share(struct verify *verify, const char *doing, int64_t total, int64_t step,
                         verify_work_fn *work, verify_work_fn *in_order, int64_t *ret_done,
                         struct error *err);

/* ---- from a leaf to its row ---- */

/* Makes what tables' statements call known to the worker's connection; SQLite's result code. */
int verify_cursor_register(struct verify_worker *worker);
/*
 * Reads the key's parts. Numbers have no '/', so those before a text are split off from the front
 * and those behind it from the end. False: such a key names no row.
 */
bool verify_read_key(const struct verify_table *table, sqlite3_value *key,
                     struct verify_key_part *parts);
/*
 * Finds the row that a leaf names: SQLITE_ROW, and its values in `ret`; SQLITE_DONE: there is none;
 * SQLITE_MISMATCH: no row has such a key; or an error. They stay until the worker's next call.
 */
int verify_find_row(struct verify_worker *worker, const struct verify_entry *entry,
                    const struct ledger_leaf_value **ret);
/* The row found there is not needed again. */
void verify_leave_row(struct verify_worker *worker, const struct verify_table *table);
void verify_cursor_finish(struct verify_cursor *cursor);

/* ---- the tree, built from the leaves while their rows are checked ---- */

/* Makes verify->tree. */
enum status verify_tree_begin(struct verify *verify, struct error *err);
/* What the tree takes of the ledger's row. In any thread. */
struct verify_leaf verify_tree_leaf(struct verify *verify, const struct verify_entry *entry);
/* The next leaves. In one thread at a time. */
void verify_tree_take(struct verify *verify, const struct verify_leaf *leaves, size_t count);
/* Leaves that it has taken. */
uint64_t verify_tree_size(const struct verify *verify);
/* Frees it; may be called without it. */
void verify_tree_end(struct verify *verify);

/* By the index of names that verify_schema makes; NULL: there is none of this name. */
const struct verify_table *verify_find_table(const struct verify *verify, const char *name);

/* ---- references, checked together with the rows ---- */

/* Fills in the references of all tables. */
enum status verify_references_describe(struct verify *verify, struct error *err);
/* Before a worker's first row. */
void verify_references_begin(struct verify_worker *worker);
/* What the row refers to, which is in the ledger and is good. In any thread. */
void verify_references_note(struct verify_worker *worker, const struct verify_table *table,
                            const struct ledger_leaf_value *row);
/* Takes over what a worker has noted so far. In one thread at a time. */
void verify_references_take(struct verify *verify, const struct verify_worker *worker);
/* Whether the table has references that neither the rows' own check nor verify_complete has shown.
 */
bool verify_refers_otherwise(const struct verify *verify, const struct verify_table *table);
/* Finds rows that a table refers to and that are missing. */
void verify_references_check(struct verify *verify, const struct verify_table *table);

/* ---- the steps ---- */

enum status verify_schema(struct verify *verify, struct error *err);
enum status verify_structure(struct verify *verify, struct error *err);
enum status verify_rows(struct verify *verify, struct error *err);
enum status verify_tree(struct verify *verify, struct error *err);
enum status verify_signatures(struct verify *verify, struct error *err);
enum status verify_content(struct verify *verify, struct error *err);
enum status verify_complete(struct verify *verify, struct error *err);
/* After all of the above. */
enum status verify_references(struct verify *verify, struct error *err);
enum status verify_cells(struct verify *verify, struct error *err);
enum status verify_series(struct verify *verify, struct error *err);
enum status verify_trials(struct verify *verify, struct error *err);
enum status verify_estimates(struct verify *verify, struct error *err);
enum status verify_comparisons(struct verify *verify, struct error *err);

/* verify_content.c: whether a bundle withheld something of this row. Asks the main connection. */
bool verify_is_withheld(struct verify *verify, const char *table, const char *key);

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
/* A key in printable form; returns `ret`. */
const char *verify_key_text(sqlite3_value *key, char ret[VERIFY_KEY_TEXT]);
/* The single number that `sql` gives, with up to one parameter; `missing` when there is none. */
int64_t verify_ask(struct verify *verify, const char *sql, int64_t parameter, int64_t missing,
                   enum verify_check check);

#endif
