#include "results/evidence/verify_rules.h"

#include "results/evidence/verify_internal.h"

/* What assay's own worker does; another program may leave out more. */
#define OWN " NOT IN (" VERIFY_FOREIGN_TRIALS ")"
#define OK_TRIALS "trial t JOIN trial_end e ON e.trial = t.id AND e.status = 'ok'"

#define COLUMNS_MAX 6 /* of a SELECT: the key, and the values of the longest message */

const struct verify_rule verify_rules[VERIFY_RULE_COUNT] = {
#define VERIFY_RULE_ROW(constant, code, check, level, table, message, select)                      \
    {code, VERIFY_##check, VERIFY_##level, table, message, select},
    VERIFY_RULE_MAP(VERIFY_RULE_ROW)
#undef VERIFY_RULE_ROW
};

void verify_rule_check(struct verify *verify, enum verify_rule_code rule, const int64_t *parameters)
{
    const struct verify_rule *row = &verify_rules[rule];
    sqlite3_stmt *broken = verify_prepare(verify, verify->db, row->select, row->check, row->table);
    int reported = 0;

    for (int i = 0; broken && i < sqlite3_bind_parameter_count(broken); i++)
        sqlite3_bind_int64(broken, i + 1, parameters[i]);
    while (broken && reported++ < VERIFY_FINDINGS_MAX &&
           verify_step(verify, broken, row->check, row->table)) {
        const char *values[COLUMNS_MAX] = {"", "", "", "", "", ""};

        for (int i = 0; i < COLUMNS_MAX && i < sqlite3_column_count(broken); i++)
            values[i] = text_at(broken, i);
        verify_report(verify, rule, row->check, row->table, values[0], row->message, values[1],
                      values[2], values[3], values[4], values[5]);
    }
    sqlite3_finalize(broken);
}
