/*
 * What a file that another program changed can cost: values, statements and work are bounded, and
 * nothing of its schema is trusted.
 *
 * The schema is compared with the expected one when a file is opened, so what is left is damage
 * below it: pages that lead to the same page over and over make a table of any length. Work is
 * counted in SQLite's own operations, never in time, and the bound grows with the file.
 */
#include "results/store/store_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

/*
 * Operations of one statement and of those that run while it gives rows. What commands take was
 * measured on files of 10^4 results and of 10^7 samples: less than one for ten bytes.
 */
#define WORK_STEP 100000
#define WORK_BASE INT64_C(100000000)
#define WORK_PER_BYTE 100

void store_limit_connection(sqlite3 *db)
{
    static const int limits[][2] = {
        {SQLITE_LIMIT_LENGTH, STORE_VALUE_MAX}, {SQLITE_LIMIT_SQL_LENGTH, 1000000},
        {SQLITE_LIMIT_EXPR_DEPTH, 200},         {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 2},        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };

    sqlite3_extended_result_codes(db, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(db, limits[i][0], limits[i][1]);
}

void store_trust_schema(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
}

/* The log next to the file belongs to it. */
static int64_t work_allowed(const char *path)
{
    AUTO_FREE char *log = text_format("%s-wal", path);
    struct stat st;
    int64_t bytes = stat(path, &st) == 0 ? st.st_size : 0;

    if (log && stat(log, &st) == 0)
        bytes += st.st_size;
    return WORK_BASE + WORK_PER_BYTE * bytes;
}

static int on_work(void *context)
{
    struct store *store = context;

    store->work += WORK_STEP;
    if (store->work <= store->work_max)
        return 0;
    store->work_max = work_allowed(store->path); /* it may have grown */
    return store->work > store->work_max;
}

/* A statement begins. Where no other is giving rows, nothing that was done before counts. */
static int on_statement(unsigned event, void *context, void *begun, void *sql)
{
    struct store *store = context;

    (void)event;
    if (sql && strncmp(sql, "--", 2) == 0) /* a trigger's program, which is of the statement */
        return 0;
    for (sqlite3_stmt *other = sqlite3_next_stmt(store->db, NULL); other;
         other = sqlite3_next_stmt(store->db, other))
        if (other != begun && sqlite3_stmt_busy(other))
            return 0;
    store->work = 0;
    return 0;
}

void store_limit_work(struct store *store)
{
    store->work = 0;
    store->work_max = 0;
    sqlite3_progress_handler(store->db, WORK_STEP, on_work, store);
    sqlite3_trace_v2(store->db, SQLITE_TRACE_STMT, on_statement, store);
}
