/* What contradicts a trial, and whether all of a cell ran on one stack. */
#include "results/evidence/verify_internal.h"

#include "protocols/same_stack.h"

/* (cell, a trial of it that is ok as same_stack.h has it), where not all have the same records. */
/* clang-format off */
static const char stacks[] =
    "SELECT t.cell, json_object('environment', json_object('host', (SELECT json_group_object("
    "r.name, json(r.body)) FROM environment n JOIN reading_member m ON m.reading_set = n.readings"
    " JOIN reading r ON r.id = m.reading WHERE n.trial = t.id AND n.at = 'host' AND (r.name GLOB"
    " 'variable.*' OR r.name GLOB 'host.*'))), 'components', (SELECT json_group_array(json_object('path', c.path, 'kind',"
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
            VERIFY_REPORT(verify, TRIAL_STACKS, key_of(row, key), found.message);
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
    static const enum verify_rule_code rules[] = {
#define TRIAL_RULE(constant, ...) VERIFY_RULE_##constant,
        VERIFY_TRIAL_RULES(TRIAL_RULE)
#undef TRIAL_RULE
    };
    const size_t count = sizeof(rules) / sizeof(rules[0]);

    for (size_t i = 0; i < count && verify_progress(verify, "trials", i, count); i++)
        verify_rule_check(verify, rules[i], NULL);
    return check_stacks(verify, err);
}
