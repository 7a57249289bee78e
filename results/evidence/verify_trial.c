/* What contradicts a trial: each rule selects the rows that no honest one has. */
#include "results/evidence/verify_internal.h"

#include "protocols/same_stack.h"

/* What assay's own worker does; another program may leave out more. */
#define OWN " NOT IN (" VERIFY_FOREIGN_TRIALS ")"
#define OK_TRIALS "trial t JOIN trial_end e ON e.trial = t.id AND e.status = 'ok'"

/* Each gives rows (key, sentence). `table`: what they are reported for. */
/* clang-format off */
static const struct rule {
    const char *table;
    const char *sql;
    bool is_note; /* a reader should know it; nothing is wrong */
} rules[] = {
    /* Times and order. */
    {"trial_end",
     "SELECT e.trial, 'it ended at ' || e.ended_utc_ns || ' ns, before its start at ' ||"
     " t.started_utc_ns || ' ns' FROM trial_end e JOIN trial t ON t.id = e.trial WHERE"
     " e.ended_utc_ns < t.started_utc_ns"},
    {"trial",
     "SELECT id, 'it started before trial ' || before || ' of its campaign ended: trials run one"
     " after the other' FROM (SELECT t.id, t.started_utc_ns, lag(t.id) OVER w AS before,"
     " lag(e.ended_utc_ns) OVER w AS ended FROM trial t LEFT JOIN trial_end e ON e.trial = t.id"
     " WINDOW w AS (PARTITION BY t.campaign ORDER BY t.id)) WHERE started_utc_ns < ended"},
    {"trial",
     "SELECT t.id, 'it started before its campaign was planned' FROM trial t JOIN campaign g ON"
     " g.id = t.campaign WHERE t.started_utc_ns < g.created_utc_ns"},
    {"phase",
     "SELECT id, 'the phase ' || name || ' of trial ' || trial || ' begins at ' || begin_ns ||"
     " ' ns and ends at ' || end_ns || ' ns' FROM phase WHERE begin_ns < 0 OR end_ns < begin_ns"},
    /* What a trial that ended ok has. */
    {"trial",
     "SELECT t.id, 'it is ok without the files that its worker had mapped at ' || p.column1 FROM "
     OK_TRIALS ", (VALUES ('window_start'), ('window_end')) p WHERE NOT EXISTS (SELECT 1 FROM"
     " trial_stack s WHERE s.trial = t.id AND s.at = p.column1)"},
    {"trial",
     "SELECT t.id, 'it is ok without a device' FROM " OK_TRIALS " WHERE t.id" OWN
     " AND NOT EXISTS (SELECT 1 FROM trial_device d WHERE d.trial = t.id)"},
    {"trial",
     "SELECT t.id, 'it is ok without the series gap_ns' FROM " OK_TRIALS " WHERE t.id" OWN
     " AND NOT EXISTS (SELECT 1 FROM series s WHERE s.trial = t.id AND s.name = 'gap_ns')"},
    {"trial",
     "SELECT t.id, 'no file that its worker had mapped has the digest of the program that its"
     " campaign names' FROM " OK_TRIALS " JOIN campaign g ON g.id = t.campaign WHERE t.id" OWN
     " AND NOT EXISTS (SELECT 1 FROM trial_stack s JOIN stack_member m ON m.stack = s.stack JOIN"
     " component c ON c.id = m.component WHERE s.trial = t.id AND (c.sha256 = g.tool_digest OR"
     " (c.kind = 'executable' AND c.sha256 IS NULL)))"},
    {"trial",
     "SELECT t.id, 'no file of its stack has the digest of the model that its workload names' FROM "
     OK_TRIALS " JOIN cell c ON c.id = t.cell JOIN content w ON w.digest = c.workload WHERE"
     " json_extract(w.body, '$.kind') = 'onnx' AND t.id" OWN " AND NOT EXISTS (SELECT 1 FROM"
     " trial_stack s JOIN stack_member m ON m.stack = s.stack JOIN component f ON f.id ="
     " m.component WHERE s.trial = t.id AND f.kind = 'model' AND (f.sha256 IS NULL OR"
     " lower(hex(f.sha256)) = json_extract(w.body, '$.model.sha256')))"},
    {"trial",
     "SELECT t.id, 'no file of its stack has the digest of the weights in ' ||"
     " json_extract(d.value, '$.location') FROM " OK_TRIALS " JOIN cell c ON c.id = t.cell JOIN"
     " content w ON w.digest = c.workload JOIN json_each(w.body, '$.model.data') d WHERE"
     " json_extract(w.body, '$.kind') = 'onnx' AND t.id" OWN " AND NOT EXISTS (SELECT 1 FROM"
     " trial_stack s JOIN stack_member m ON m.stack = s.stack JOIN component f ON f.id ="
     " m.component WHERE s.trial = t.id AND f.kind = 'model' AND (f.sha256 IS NULL OR"
     " lower(hex(f.sha256)) = json_extract(d.value, '$.sha256')))"},
    {"trial",
     "SELECT t.id, 'it ran on ' || d.backend || ':' || d.device_index || ', and its cell is of '"
     " || c.device_spec FROM trial t JOIN trial_device td ON td.trial = t.id JOIN device d ON d.id"
     " = td.device JOIN cell c ON c.id = t.cell WHERE (d.backend <> c.backend OR d.device_index IS"
     " NOT c.device_index) AND t.id" OWN},
    {"trial",
     "SELECT t.id, 'it has no readings of its surroundings (' || p.column1 || ')' FROM trial t"
     " JOIN trial_end e ON e.trial = t.id, (VALUES ('host'), ('before'), ('after')) p WHERE"
     " e.orphan = 0 AND NOT EXISTS (SELECT 1 FROM environment n WHERE"
     " n.trial = t.id AND n.at = p.column1)"},
    /* How it ended. */
    {"trial_end",
     "SELECT trial, 'it is ' || status || ', and ' || why FROM (SELECT trial, status, CASE WHEN"
     " exit_code IS NOT NULL AND signal IS NOT NULL THEN 'both an exit status and signal ' ||"
     " signal || ' ended its worker' WHEN status <> 'ok' THEN NULL WHEN signal IS NOT NULL THEN"
     " 'signal ' || signal || ' ended its worker' WHEN exit_code IS NULL THEN 'its worker did not"
     " exit' WHEN orphan = 1 THEN 'its harness ended first' WHEN message IS NOT NULL THEN 'has a"
     " reason: ' || message WHEN coalesce(iterations_per_sample, 0) < 1 OR coalesce(window_first,"
     " -1) < 0 OR coalesce(window_first >= samples, 1) THEN 'has no window with samples' END AS"
     " why FROM trial_end) WHERE why IS NOT NULL"},
    /* Checks. */
    {"verification",
     "SELECT id, 'the check of ' || output || ' in trial ' || trial || ' passed with the error '"
     " || coalesce(error, error_text, 'none') || ' of ' || compared || ' elements, tolerance ' ||"
     " tolerance FROM verification WHERE passed = 1 AND (error IS NULL OR error_text IS NOT NULL"
     " OR NOT error <= tolerance OR compared < 1)"},
    {"verification",
     "SELECT id, 'the check of ' || output || ' in trial ' || trial || ' failed with the error '"
     " || error || ', tolerance ' || tolerance FROM verification WHERE passed = 0 AND error <"
     " tolerance AND trial" OWN},
    {"verification",
     "SELECT v.id, 'the check of ' || v.output || ' failed, and trial ' || v.trial || ' is ok'"
     " FROM verification v JOIN trial_end e ON e.trial = v.trial WHERE v.passed = 0 AND e.status ="
     " 'ok'"},
    {"trial",
     "SELECT t.id, 'its checks are said to be assay''s own, of ' || coalesce(e.facts ->>"
     " '$.conduct.outputs_checked', 0) || ' outputs, and it has ' || (e.facts ->>"
     " '$.conduct.spot_checks') || ' spot checks and one before and after the window' FROM "
     OK_TRIALS " WHERE e.facts ->> '$.conduct.checks' = 'assay' AND coalesce(e.facts ->>"
     " '$.conduct.outputs_checked', 0) < 2 + (e.facts ->> '$.conduct.spot_checks')"},
    {"verification",
     "SELECT id, 'it is of no phase with checks: ' || phase FROM verification WHERE phase NOT IN"
     " ('verify_before', 'spot_check', 'verify_after')"},
    {"verification",
     "SELECT v.id, 'trial ' || v.trial || ' was compared with an earlier one, ' || CASE WHEN"
     " first_only THEN 'and none before it with the reference' ELSE 'and its protocol wants each"
     " compared with the reference' END FROM (SELECT v.id, v.trial, t.cell, json_extract(p.body,"
     " '$.verification') IS NOT 'each_trial' AS first_only FROM verification v JOIN trial t ON"
     " t.id = v.trial JOIN cell c ON c.id = t.cell JOIN content p ON p.digest = c.protocol WHERE"
     " v.metric = 'same_bits') v WHERE NOT first_only OR NOT EXISTS (SELECT 1 FROM trial b JOIN"
     " trial_end x ON x.trial = b.id AND x.status = 'ok' JOIN verification r ON r.trial = b.id AND"
     " r.metric <> 'same_bits' AND r.phase <> 'spot_check' WHERE b.cell = v.cell AND b.id <"
     " v.trial)"},
    {"verification",
     "SELECT id, 'trial ' || trial || ' has the same bits as an earlier one, with the error ' ||"
     " coalesce(error, error_text) || ', tolerance ' || tolerance FROM verification WHERE metric ="
     " 'same_bits' AND (error IS NOT 0 OR tolerance <> 0)"},
    /* Campaigns and cells. */
    {"campaign",
     "SELECT campaign, count(*) || ' of its trials were measured by another worker than assay''s"
     " own: device, phases, checks and series are as it says' FROM trial WHERE id IN ("
     VERIFY_FOREIGN_TRIALS " AND " FOREIGN_WORKER_UNCHECKED("n.trial") ") GROUP BY campaign",
     .is_note = true},
    {"campaign",
     "SELECT id, 'it names no program: its tool digest is zero' FROM campaign WHERE tool_digest ="
     " zeroblob(32)"},
    {"cell",
     "SELECT id, 'it is of device ' || device_spec || ', and of ' || backend || ':' ||"
     " device_index FROM cell WHERE device_spec <> backend || ':' || device_index"},
    {"cell",
     "SELECT c.id, 'its campaign has ended, trials of it are ok, and there is no estimate' FROM"
     " cell c WHERE NOT EXISTS (SELECT 1 FROM estimate s WHERE s.cell = c.id) AND EXISTS (SELECT 1"
     " FROM " OK_TRIALS " WHERE t.cell = c.id) AND " CAMPAIGN_STATE("c.campaign")
     " IN ('finished', 'interrupted')"},
};
/* clang-format on */

static void check_rule(struct verify *verify, const struct rule *rule)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db, rule->sql, VERIFY_TRIAL, rule->table);
    int reported = 0;

    while (row && reported++ < VERIFY_FINDINGS_MAX &&
           verify_step(verify, row, VERIFY_TRIAL, rule->table))
        verify_report(verify, rule->is_note ? VERIFY_NOTE : VERIFY_WRONG, VERIFY_TRIAL, rule->table,
                      text_at(row, 0), "%s", text_at(row, 1));
    sqlite3_finalize(row);
}

/* (cell, a trial of it that is ok as same_stack.h has it), where not all have the same records. */
/* clang-format off */
static const char stacks[] =
    "SELECT t.cell, json_object('environment', json_object('host', (SELECT json_group_object("
    "r.name, json(r.body)) FROM environment n JOIN reading_member m ON m.reading_set = n.readings"
    " JOIN reading r ON r.id = m.reading WHERE n.trial = t.id AND n.at = 'host' AND r.name GLOB"
    " 'variable.*')), 'components', (SELECT json_group_array(json_object('path', c.path, 'kind',"
    " c.kind, 'sha256', lower(nullif(hex(c.sha256), '')), 'build_id', c.build_id, 'version',"
    " c.version)) FROM trial_stack s JOIN stack_member m ON m.stack = s.stack JOIN component c ON"
    " c.id = m.component WHERE s.trial = t.id)) FROM " OK_TRIALS " WHERE t.cell IN (SELECT t.cell"
    " FROM " OK_TRIALS " JOIN environment n ON n.trial = t.id AND n.at = 'host' GROUP BY t.cell"
    " HAVING min(n.readings) <> max(n.readings) UNION SELECT t.cell FROM " OK_TRIALS " JOIN"
    " trial_stack s ON s.trial = t.id GROUP BY t.cell, s.at HAVING min(s.stack) <> max(s.stack))"
    " ORDER BY t.cell, t.sequence, t.attempt";
/* clang-format on */

/* Each result is of one stack. */
static enum status check_stacks(struct verify *verify, struct error *err)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db, stacks, VERIFY_TRIAL, "cell");
    enum status status = STATUS_OK;
    json_t *first = NULL;
    int64_t cell = 0;
    char key[24];

    while (row && status == STATUS_OK && verify_step(verify, row, VERIFY_TRIAL, "cell")) {
        json_t *trial = json_loads(text_at(row, 1), 0, NULL);
        struct error found = ERROR_INIT;

        if (!trial) {
            status = error_no_memory(err);
        } else if (!first || sqlite3_column_int64(row, 0) != cell) {
            cell = sqlite3_column_int64(row, 0);
            json_decref(first);
            first = json_incref(trial);
        } else if (same_stack_check(first, trial, &found) == STATUS_INVALID) {
            verify_report(verify, VERIFY_WRONG, VERIFY_TRIAL, "cell", key_of(row, key), "%s",
                          found.message);
        } else if (found.code != STATUS_OK) {
            status = error_set(err, found.code, "%s", found.message);
        }
        json_decref(trial);
    }
    json_decref(first);
    sqlite3_finalize(row);
    return status;
}

enum status verify_trials(struct verify *verify, struct error *err)
{
    const size_t count = sizeof(rules) / sizeof(rules[0]);

    for (size_t i = 0; i < count && verify_progress(verify, "trials", i, count); i++)
        check_rule(verify, &rules[i]);
    return check_stacks(verify, err);
}
