/* Nothing planned is missing without a reason, and nothing is there without its owner. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    int64_t *lacking = NULL, count = 0, capacity = 0;
    int rc = SQLITE_ERROR;

    while (cell && next(cell, &rc)) {
        if (count == capacity) {
            int64_t *grown;

            capacity = capacity ? 2 * capacity : 1024;
            grown = realloc(lacking, (size_t)capacity * sizeof(*lacking));
            if (!grown)
                break;
            lacking = grown;
        }
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

/*
 * Each gives rows (key, sentence) for what is wrong or should be known. `level` of the finding;
 * `table` that it is reported for. `holds`: a cheaper check; true: the rule has no findings unless
 * something else is wrong; false: unknown. NULL: there is no such check.
 */
static const struct rule {
    enum verify_level level;
    const char *table;
    const char *sql;
    bool (*holds)(struct verify *verify);
} rules[] = {
    {VERIFY_WRONG, "cell",
     "SELECT id, 'cell ' || ordinal || ' is in the place of cell ' || place || ': one is"
     " missing' FROM (SELECT id, ordinal, row_number() OVER (PARTITION BY campaign ORDER BY"
     " ordinal) AS place FROM cell) WHERE ordinal <> place"},
    {VERIFY_WRONG, "planned_trial",
     "SELECT p.campaign || '/' || p.sequence, 'is in the place of trial ' || (SELECT count(*) FROM"
     " planned_trial b WHERE b.campaign = p.campaign AND b.sequence <= p.sequence) || ':"
     " one is missing' FROM (SELECT campaign FROM planned_trial GROUP BY campaign HAVING"
     " min(sequence) <> 1 OR max(sequence) <> count(*)) g JOIN planned_trial p ON p.campaign ="
     " g.campaign WHERE p.sequence <> 1 AND NOT EXISTS (SELECT 1 FROM planned_trial b WHERE"
     " b.campaign = p.campaign AND b.sequence = p.sequence - 1)"},
    {VERIFY_WRONG, "planned_trial",
     "SELECT p.campaign || '/' || p.sequence, 'is of a cell of another campaign'"
     " FROM planned_trial p LEFT JOIN cell c ON c.id = p.cell"
     " WHERE c.campaign IS NOT p.campaign"},
    {VERIFY_WRONG, "cell",
     "SELECT c.id, c.trials || ' trials were planned, ' || count(p.sequence) || ' are in the "
     "order'"
     " FROM cell c LEFT JOIN planned_trial p ON p.cell = c.id AND p.campaign = c.campaign"
     " GROUP BY c.id HAVING count(p.sequence) <> c.trials",
     all_trials_are_planned},
    {VERIFY_WRONG, "trial",
     "SELECT t.id, 'attempt ' || t.attempt || ' is in the place of attempt ' || (SELECT count(*) "
     "FROM"
     " trial b WHERE b.campaign = t.campaign AND b.sequence = t.sequence AND b.attempt <= "
     "t.attempt)"
     " FROM trial t WHERE t.attempt <> 1 AND NOT EXISTS (SELECT 1 FROM trial b WHERE"
     " b.campaign = t.campaign AND b.sequence = t.sequence AND b.attempt = t.attempt - 1)"},
    {VERIFY_WRONG, "trial",
     "SELECT t.id, 'is of another cell than the trial that was planned' FROM trial t"
     " LEFT JOIN planned_trial p ON p.campaign = t.campaign AND p.sequence = t.sequence"
     " WHERE p.cell IS NOT t.cell",
     all_trials_were_planned},
    {VERIFY_WRONG, "trial",
     "SELECT t.id, 'was tried again although attempt ' || f.attempt || ' ended ''' || e.status ||"
     " '''' FROM trial t CROSS JOIN trial f ON f.campaign = t.campaign AND f.sequence = t.sequence"
     " AND f.attempt = t.attempt - 1 CROSS JOIN trial_end e ON e.trial = f.id WHERE t.attempt > 1"
     " AND e.orphan = 0 AND e.status <> 'interrupted'"},
    {VERIFY_WRONG, "campaign",
     "SELECT g.id, 'it is finished, but trial ' || p.sequence || ' was never run' FROM campaign g"
     " JOIN planned_trial p ON p.campaign = g.id WHERE NOT EXISTS (SELECT 1 FROM trial t WHERE"
     " t.campaign = g.id AND t.sequence = p.sequence) AND " CAMPAIGN_STATE("g.id") " = 'finished'",
     all_planned_were_run},
    {VERIFY_WRONG, "trial",
     "SELECT t.id, 'has no end, although its campaign is finished' FROM trial t WHERE NOT EXISTS"
     " (SELECT 1 FROM trial_end e WHERE e.trial = t.id) AND " CAMPAIGN_STATE(
         "t.campaign") " = 'finished'",
     all_trials_have_ended},
    {VERIFY_NOTE, "campaign",
     "SELECT g.id, 'campaign ' || substr(g.uid, 1, 8) || ' is not finished (' || "
     "coalesce(" CAMPAIGN_STATE("g.id") ","
                                        " 'never started') || '): ' || (SELECT count(*) FROM "
                                        "planned_trial p WHERE p.campaign = g.id AND NOT"
                                        " EXISTS (SELECT 1 FROM trial t JOIN trial_end x ON "
                                        "x.trial = t.id WHERE t.campaign = g.id AND"
                                        " t.sequence = p.sequence)) || ' of ' || (SELECT count(*) "
                                        "FROM planned_trial p WHERE "
                                        "p.campaign"
                                        " = g.id) || ' planned trials have no end' FROM campaign g "
                                        "WHERE coalesce(" CAMPAIGN_STATE(
                                            "g.id") ", '') <> 'finished'"},
};

static void check_rule(struct verify *verify, const struct rule *rule)
{
    sqlite3_stmt *row;
    int reported = 0;

    if (rule->holds && verify->summary->wrong == 0 && rule->holds(verify))
        return;
    row = verify_prepare(verify, verify->db, rule->sql, VERIFY_COMPLETE, rule->table);
    while (row && reported++ < VERIFY_FINDINGS_MAX &&
           verify_step(verify, row, VERIFY_COMPLETE, rule->table))
        verify_report(verify, rule->level, VERIFY_COMPLETE, rule->table, text_at(row, 0), "%s",
                      text_at(row, 1));
    sqlite3_finalize(row);
}

/* The order in the plan's own text against the rows, which `row` selects. */
static void check_plan(struct verify *verify, sqlite3_stmt *row, int64_t campaign, const char *key,
                       const json_t *plan)
{
    const json_t *order = json_object_get(plan, "order");
    const char *nonce = json_string_value(json_object_get(plan, "nonce"));
    size_t i = 0;

    if (verify->options->nonce && (!nonce || strcmp(nonce, verify->options->nonce) != 0))
        verify_report(verify, VERIFY_WRONG, VERIFY_COMPLETE, "campaign", key,
                      "its plan carries %s%s, not the nonce that was asked for: it is an answer to "
                      "another question",
                      nonce ? "the nonce " : "no nonce", nonce ? nonce : "");
    if (!json_is_array(order))
        return;
    sqlite3_bind_int64(row, 1, campaign);
    for (; verify_step(verify, row, VERIFY_COMPLETE, "planned_trial"); i++)
        if (json_integer_value(json_array_get(order, i)) != sqlite3_column_int64(row, 0))
            break;
    if (i != json_array_size(order))
        verify_report(
            verify, VERIFY_WRONG, VERIFY_COMPLETE, "campaign", key,
            "the plan that was recorded has another trial number %zu than the order that is "
            "stored",
            i + 1);
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
            verify_report(verify, VERIFY_WRONG, VERIFY_COMPLETE, "campaign", key, "%s",
                          err.message);
        else
            check_plan(verify, order, sqlite3_column_int64(row, 0), key, plan);
        json_decref(plan);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(order);
    if (verify->options->nonce && plans == 0)
        verify_report(verify, VERIFY_WRONG, VERIFY_COMPLETE, NULL, NULL,
                      "a nonce is asked for, and there is no campaign that answers it");
}

enum status verify_complete(struct verify *verify, struct error *err)
{
    const size_t count = sizeof(rules) / sizeof(rules[0]);

    (void)err;
    for (size_t i = 0; i < count && verify_progress(verify, "completeness", i, count); i++)
        check_rule(verify, &rules[i]);
    check_plans(verify);
    return STATUS_OK;
}
