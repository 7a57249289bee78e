#include "results/store/store_internal.h"

#include <stdlib.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "results/store/foreign_worker.h"
#include "results/store/stored.h"

/* At most this many candidates are sorted; beyond it, scanning the index of times is faster. */
#define FEW 1000

/* What the cell's estimate says, or what an import claims: both have "headline" and "metrics". */
#define BODY "coalesce(e.body, k.body)"
#define HEADLINE(member)                                                                           \
    "json_extract(" BODY ", '$.metrics.' || json_extract(" BODY ", '$.headline') || '." member "'" \
    ")"

#define FOREIGN_WORKER FOREIGN_WORKER_OF_CELL("c.id")

#define SAID(member) "json_extract(" BODY ", '$." member "')"
#define TRIALS_ENDED(and)                                                                          \
    "(SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end x ON x.trial = t.id"           \
    " WHERE t.cell = c.id" and                                                                     \
        ")"

/* `findings` goes elsewhere (cli/results_view.c). */
#define COLUMNS STORED_SELECT(STORED_RESULT) ", " SAID("findings") " AS 'findings:json'"
#define COLUMN_CELL 1 /* the second of STORED_RESULT */

/* What is known of each cell `c` of the campaign `g`. */
#define JOINS                                                                                      \
    " LEFT JOIN device d ON d.id = (SELECT device FROM trial_device td WHERE td.trial ="           \
    " (SELECT max(t.id) FROM trial t WHERE t.cell = c.id AND EXISTS"                               \
    " (SELECT 1 FROM trial_device s WHERE s.trial = t.id)))"                                       \
    " LEFT JOIN trial_end f ON f.trial = (SELECT max(t.id) FROM trial t JOIN trial_end x"          \
    " ON x.trial = t.id WHERE t.cell = c.id AND x.status = 'ok')"                                  \
    " LEFT JOIN claim k ON k.cell = c.id LEFT JOIN import i ON i.campaign = c.campaign"            \
    " LEFT JOIN estimate e ON e.id = (SELECT max(id) FROM estimate l WHERE l.cell = c.id)"

#define WHERE                                                                                      \
    " WHERE (?1 = 0 OR g.id = ?1) AND (?2 IS NULL OR c.workload_name = ?2)"                        \
    " AND (?3 IS NULL OR c.precision = ?3) AND (?4 IS NULL OR c.protocol_name = ?4)"               \
    " AND (?5 IS NULL OR e.verdict = ?5 OR (?5 = 'imported' AND k.cell IS NOT NULL))"              \
    " AND (?6 IS NULL OR c.device_spec = ?6 OR instr(lower(coalesce(d.name,"                       \
    " json_extract(k.body, '$.device'))), lower(?6)) > 0)"                                         \
    " AND g.created_utc_ns >= ?9 AND (?10 = 0 OR NOT " CAMPAIGN_ARCHIVED("g.id") ")"

#define FILTERS WHERE " ORDER BY g.created_utc_ns DESC, g.id DESC, c.ordinal LIMIT ?7 OFFSET ?8"

/* The devices that a filter's text names. */
#define NAMED " IN (SELECT id FROM device WHERE instr(lower(name), lower(?1)) > 0)"

/* CROSS JOIN keeps the campaigns outside, whose index gives the order without a sort. */
static const char sql_walk[] =
    COLUMNS " FROM campaign g CROSS JOIN cell c ON c.campaign = g.id" JOINS FILTERS;

const char *const store_sort_keys[] = {"created",  "workload", "device", "precision", "batch",
                                       "protocol", "result",   "grade",  "verdict",   NULL};

/* Results compare within their unit alone. Outside the subquery names are those of the columns. */
#define SORT_KEY                                                                                   \
    "CASE ?11 WHEN 'created' THEN created_utc_ns WHEN 'workload' THEN workload"                    \
    " WHEN 'device' THEN coalesce(device, device_spec) WHEN 'precision' THEN precision"            \
    " WHEN 'batch' THEN batch WHEN 'protocol' THEN protocol WHEN 'result' THEN value"              \
    " WHEN 'grade' THEN grade WHEN 'verdict' THEN verdict END"
static const char sql_sorted[] =
    "SELECT * FROM (" COLUMNS " FROM campaign g CROSS JOIN cell c ON c.campaign = g.id" JOINS WHERE
    ") ORDER BY " SORT_KEY " IS NULL, CASE ?11 WHEN 'result' THEN unit END,"
    " CASE ?12 WHEN 0 THEN " SORT_KEY " END, CASE ?12 WHEN 1 THEN " SORT_KEY " END DESC,"
    " created_utc_ns DESC, cell LIMIT ?7 OFFSET ?8";

/* By the index of the filter ?11, for its few matches. */
static const char sql_few[] =
    "WITH few (id) AS MATERIALIZED ("
    "SELECT id FROM cell WHERE ?11 = 1 AND workload_name = ?2"
    " UNION ALL SELECT id FROM cell WHERE ?11 = 2 AND precision = ?3"
    " UNION ALL SELECT id FROM cell WHERE ?11 = 3 AND protocol_name = ?4"
    " UNION SELECT id FROM cell WHERE ?11 = 4 AND device_spec = ?6"
    " UNION SELECT t.cell FROM trial_device m JOIN trial t ON t.id = m.trial"
    " WHERE ?11 = 4 AND m.device IN"
    " (SELECT id FROM device WHERE instr(lower(name), lower(?6)) > 0)"
    " UNION SELECT cell FROM claim WHERE ?11 = 4"
    " AND instr(lower(json_extract(body, '$.device')), lower(?6)) > 0) " COLUMNS
    " FROM few CROSS JOIN cell c ON c.id = few.id CROSS JOIN campaign g ON g.id = c.campaign" JOINS
        FILTERS;

static const char sql_one[] =
    COLUMNS " FROM cell c CROSS JOIN campaign g ON g.id = c.campaign" JOINS " WHERE c.id = ?1";

/* How many cells match a filter, counted up to ?2; cheap by its index. */
static const char *const sql_count[] = {
    "SELECT count(*) FROM (SELECT 1 FROM cell WHERE workload_name = ?1 LIMIT ?2)",
    "SELECT count(*) FROM (SELECT 1 FROM cell WHERE precision = ?1 LIMIT ?2)",
    "SELECT count(*) FROM (SELECT 1 FROM cell WHERE protocol_name = ?1 LIMIT ?2)",
    "SELECT count(*) FROM (SELECT 1 FROM cell WHERE device_spec = ?1"
    " UNION ALL SELECT 1 FROM trial_device WHERE device" NAMED
    " UNION ALL SELECT 1 FROM claim WHERE instr(lower(json_extract(body, '$.device')), lower(?1))"
    " LIMIT ?2)",
};

/* The number of the filter that leaves the fewest cells, when these are few; else 0. */
static enum status narrowest(struct store *store, const struct store_filter *filter, int64_t *ret,
                             struct error *err)
{
    const char *const values[] = {filter->workload, filter->precision, filter->protocol,
                                  filter->device};
    int64_t best = FEW + 1, which = 0;

    for (int i = 0; i < 4; i++) {
        struct statement statement;
        int64_t count = 0;

        if (!values[i])
            continue;
        TRY(statement_begin(store, sql_count[i], &statement, err));
        statement_text(&statement, values[i]);
        statement_i64(&statement, best);
        TRY(statement_single(&statement, &count, err));
        if (count < best) {
            best = count;
            which = i + 1;
        }
    }
    *ret = which;
    return STATUS_OK;
}

/* The statement whose rows are the results that pass. */
static enum status begin(struct store *store, const struct store_filter *filter,
                         struct statement *ret, struct error *err)
{
    int64_t few = 0;

    if (filter->cell) {
        TRY(statement_begin(store, sql_one, ret, err));
        statement_i64(ret, filter->cell);
        return STATUS_OK;
    }
    TRY(filter->campaign || filter->sort ? STATUS_OK : narrowest(store, filter, &few, err));
    TRY(statement_begin(store, filter->sort ? sql_sorted : few ? sql_few : sql_walk, ret, err));
    statement_i64(ret, filter->campaign);
    statement_text(ret, filter->workload);
    statement_text(ret, filter->precision);
    statement_text(ret, filter->protocol);
    statement_text(ret, filter->verdict);
    statement_text(ret, filter->device);
    statement_i64(ret, filter->limit > 0 ? filter->limit : -1);
    statement_i64(ret, filter->offset);
    statement_i64(ret, filter->since_utc_ns);
    statement_i64(ret, filter->hide_archived);
    if (few)
        statement_i64(ret, few);
    if (filter->sort) {
        statement_text(ret, filter->sort);
        statement_i64(ret, filter->descending);
    }
    return STATUS_OK;
}

enum status store_list_results(struct store *store, const struct store_filter *filter, json_t **ret,
                               struct error *err)
{
    struct statement statement;

    TRY(begin(store, filter, &statement, err));
    return statement_rows_json(&statement, ret, err);
}

enum status store_find_cells(struct store *store, const struct store_filter *filter, int64_t **ret,
                             size_t *ret_count, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    AUTO_FREE int64_t *cells = NULL;
    size_t count = 0;
    enum status status;

    TRY(begin(store, filter, &statement, err));
    while (statement_next(&statement, &status, err)) {
        TRY(ARRAY_GROW(cells, count, 1, err));
        cells[count++] = sqlite3_column_int64(statement.handle, COLUMN_CELL);
    }
    TRY(status);
    *ret = cells;
    *ret_count = count;
    cells = NULL;
    return STATUS_OK;
}

enum status store_list_baselines(struct store *store, json_t **ret, struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store,
                        "SELECT body AS 'body:json' FROM comparison"
                        " WHERE kind = 'baseline' ORDER BY id DESC",
                        &statement, err));
    return statement_rows_json(&statement, ret, err);
}
