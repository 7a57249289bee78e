/* Nothing planned is missing without a reason, and nothing is there without its owner. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/canonical.h"
#include "results/evidence/verify_internal.h"

/* The next row; false at the end and after a failure, which `ret_rc` distinguishes. */
static bool next(sqlite3_stmt *row, int *ret_rc)
{
    *ret_rc = sqlite3_step(row);
    return *ret_rc == SQLITE_ROW;
}

static sqlite3_stmt *prepare(struct verify *verify, const char *sql)
{
    sqlite3_stmt *row = NULL;

    sqlite3_prepare_v2(verify->db, sql, -1, &row, NULL);
    return row;
}

/* Trials that each cell still lacks, which the planned trials are counted against. Heap; NULL:
 * cells are not numbered 1, 2, 3 ..., or it cannot be determined. */
static int64_t *planned_of_cells(struct verify *verify, int64_t *ret_count)
{
    sqlite3_stmt *cell = prepare(verify, "SELECT id, trials FROM cell ORDER BY id");
    int64_t *lacking = NULL, count = 0;
    int rc = SQLITE_ERROR;

    while (cell && next(cell, &rc)) {
        if (!ARRAY_ROOM(lacking, (size_t)count, 1))
            break;
        lacking[count++] = sqlite3_column_int64(cell, 1);
        if (sqlite3_column_int64(cell, 0) != count)
            break;
    }
    sqlite3_finalize(cell);
    *ret_count = count;
    if (rc == SQLITE_DONE)
        return lacking;
    free(lacking);
    return NULL;
}

static bool all_trials_are_planned(struct verify *verify)
{
    int64_t count, *lacking = planned_of_cells(verify, &count);
    sqlite3_stmt *planned = prepare(verify, "SELECT cell FROM planned_trial");
    bool holds = lacking && planned;
    int rc = SQLITE_ERROR;

    while (holds && next(planned, &rc)) {
        const int64_t cell = sqlite3_column_int64(planned, 0);

        holds = cell >= 1 && cell <= count && lacking[cell - 1]-- > 0;
    }
    for (int64_t i = 0; i < count && holds; i++)
        holds = lacking[i] == 0;
    sqlite3_finalize(planned);
    free(lacking);
    return holds && rc == SQLITE_DONE;
}

/* As many first attempts as planned trials, each of another one. */
static bool all_planned_were_run(struct verify *verify)
{
    sqlite3_stmt *row = prepare(verify, "SELECT (SELECT count(*) FROM planned_trial) ="
                                        " (SELECT count(*) FROM trial WHERE attempt = 1)");
    const bool holds = row && sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) == 1;

    sqlite3_finalize(row);
    return holds;
}

/* Trials are numbered without a gap, and as many ends as them go from the first to the last. */
static bool all_trials_have_ended(struct verify *verify)
{
    sqlite3_stmt *row = prepare(
        verify, "SELECT count = (SELECT count(*) FROM trial_end) AND least = (SELECT min(trial)"
                " FROM trial_end) AND most = (SELECT max(trial) FROM trial_end) AND count = most -"
                " least + 1 FROM (SELECT (SELECT count(*) FROM trial) AS count, (SELECT min(id)"
                " FROM trial) AS least, (SELECT max(id) FROM trial) AS most)");
    const bool holds = row && sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) == 1;

    sqlite3_finalize(row);
    return holds;
}

/* columns: 0 campaign, 1 sequence, 2 cell */
static bool are_numbers(sqlite3_stmt *row)
{
    return sqlite3_column_type(row, 0) == SQLITE_INTEGER &&
           sqlite3_column_type(row, 1) == SQLITE_INTEGER &&
           sqlite3_column_type(row, 2) == SQLITE_INTEGER;
}

static bool are_equal(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    return sqlite3_column_int64(a, column) == sqlite3_column_int64(b, column);
}

/*
 * Whether each trial is the planned one, and of its cell: walks along both, which holds as long as
 * trials were begun in the order of the plans. Then none refers to a plan that is missing.
 */
static bool all_trials_were_planned(struct verify *verify)
{
    sqlite3_stmt *trial = prepare(verify, "SELECT campaign, sequence, cell FROM trial ORDER BY id");
    sqlite3_stmt *planned = prepare(verify, "SELECT campaign, sequence, cell FROM planned_trial"
                                            " ORDER BY campaign, sequence");
    int rc = SQLITE_ERROR, planned_rc = planned ? sqlite3_step(planned) : SQLITE_ERROR;
    bool holds = true;

    while (holds && trial && next(trial, &rc)) {
        while (planned_rc == SQLITE_ROW &&
               !(are_equal(trial, planned, 0) && are_equal(trial, planned, 1)))
            planned_rc = sqlite3_step(planned);
        holds = planned_rc == SQLITE_ROW && are_equal(trial, planned, 2) && are_numbers(trial) &&
                are_numbers(planned);
    }
    sqlite3_finalize(trial);
    sqlite3_finalize(planned);
    return holds && rc == SQLITE_DONE;
}

/* Cheaper checks of some rules: true where one has no findings unless something else is wrong;
 * false: unknown. */
static bool (*const cheaper[VERIFY_RULE_COUNT])(struct verify *verify) = {
    [VERIFY_RULE_CELL_TRIALS] = all_trials_are_planned,
    [VERIFY_RULE_TRIAL_CELL] = all_trials_were_planned,
    [VERIFY_RULE_TRIAL_NEVER_RUN] = all_planned_were_run,
    [VERIFY_RULE_TRIAL_ENDLESS] = all_trials_have_ended,
};

static void check_rule(struct verify *verify, enum verify_rule_code rule)
{
    if (!cheaper[rule] || verify->summary->wrong > 0 || !cheaper[rule](verify))
        verify_rule_check(verify, rule, NULL);
}

/* The order in the plan's own text against the rows, which `row` selects. */
static void check_plan(struct verify *verify, sqlite3_stmt *row, int64_t campaign, const char *key,
                       const json_t *plan)
{
    const json_t *order = json_object_get(plan, "order");
    const char *nonce = json_string_value(json_object_get(plan, "nonce"));
    size_t i = 0;

    if (verify->options->nonce && (!nonce || strcmp(nonce, verify->options->nonce) != 0))
        VERIFY_REPORT(verify, NONCE_OTHER, key, nonce ? "the nonce " : "no nonce",
                      nonce ? nonce : "");
    if (!json_is_array(order))
        return;
    sqlite3_bind_int64(row, 1, campaign);
    for (; verify_step(verify, row, VERIFY_COMPLETE, "planned_trial"); i++)
        if (json_integer_value(json_array_get(order, i)) != sqlite3_column_int64(row, 0))
            break;
    if (i != json_array_size(order))
        VERIFY_REPORT(verify, PLAN_ORDER, key, i + 1);
    sqlite3_reset(row);
}

static void check_plans(struct verify *verify)
{
    int64_t plans = 0;
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT g.id, c.body FROM campaign g JOIN content c ON"
                                       " c.digest = g.plan ORDER BY g.id",
                                       VERIFY_COMPLETE, "campaign");
    sqlite3_stmt *order = verify_prepare(verify, verify->db,
                                         "SELECT c.ordinal FROM planned_trial p JOIN cell c ON"
                                         " c.id = p.cell WHERE p.campaign = ?1 ORDER BY p.sequence",
                                         VERIFY_COMPLETE, "planned_trial");

    while (row && order && !verify_stopped(verify) &&
           verify_step(verify, row, VERIFY_COMPLETE, "campaign")) {
        struct error err = ERROR_INIT;
        json_t *plan = NULL;
        char key[24];

        plans++;
        snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
        if (sqlite3_column_type(row, 1) == SQLITE_NULL) /* withheld */
            check_plan(verify, order, sqlite3_column_int64(row, 0), key, NULL);
        else if (canonical_parse(text_at(row, 1), (size_t)sqlite3_column_bytes(row, 1), "plan",
                                 &plan, &err) != STATUS_OK)
            VERIFY_REPORT(verify, PLAN_UNREADABLE, key, err.message);
        else
            check_plan(verify, order, sqlite3_column_int64(row, 0), key, plan);
        json_decref(plan);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(order);
    if (verify->options->nonce && plans == 0)
        VERIFY_REPORT(verify, NONCE_UNANSWERED, NULL);
}

enum status verify_complete(struct verify *verify, struct error *err)
{
    static const enum verify_rule_code rules[] = {
#define PLAN_RULE(constant, ...) VERIFY_RULE_##constant,
        VERIFY_PLAN_RULES(PLAN_RULE)
#undef PLAN_RULE
    };
    const size_t count = sizeof(rules) / sizeof(rules[0]);

    (void)err;
    for (size_t i = 0; i < count && verify_progress(verify, "completeness", i, count); i++)
        check_rule(verify, rules[i]);
    check_plans(verify);
    return STATUS_OK;
}
