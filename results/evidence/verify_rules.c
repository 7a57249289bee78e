#include "results/evidence/verify_rules.h"

#include "results/evidence/verify_internal.h"

/* What assay's own worker does; another program may leave out more. */
#define OWN " NOT IN (" VERIFY_FOREIGN_TRIALS ")"

const struct verify_rule verify_rules[VERIFY_RULE_COUNT] = {
#define VERIFY_RULE_ROW(constant, code, check, level, table, message, select)                      \
    {code, VERIFY_##check, VERIFY_##level, table, message, select},
    VERIFY_RULE_MAP(VERIFY_RULE_ROW)
#undef VERIFY_RULE_ROW
};
