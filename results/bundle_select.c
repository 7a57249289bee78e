#include "results/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "results/ledger_leaf.h"
#include "results/store_internal.h"

#define CAMPAIGNS "(SELECT id FROM temp.bundle_campaign)"
#define CELLS "(SELECT id FROM cell WHERE campaign IN " CAMPAIGNS ")"
#define TRIALS "(SELECT id FROM trial WHERE campaign IN " CAMPAIGNS ")"
#define DEVICES "(SELECT device FROM trial_device WHERE trial IN " TRIALS ")"
#define SETS                                                                                       \
    "(SELECT readings FROM environment WHERE trial IN " TRIALS                                     \
    " UNION SELECT readings FROM device WHERE id IN " DEVICES                                      \
    " UNION SELECT readings_begin FROM telemetry WHERE trial IN " TRIALS                           \
    " UNION SELECT readings_end FROM telemetry WHERE trial IN " TRIALS                             \
    " UNION SELECT readings FROM claim WHERE cell IN " CELLS ")"
#define STACKS "(SELECT stack FROM trial_stack WHERE trial IN " TRIALS ")"
#define COMPONENTS "(SELECT component FROM stack_member WHERE stack IN " STACKS ")"
#define DECLARED                                                                                   \
    "SELECT protocol FROM campaign WHERE id IN " CAMPAIGNS                                         \
    " UNION SELECT workload FROM cell WHERE campaign IN " CAMPAIGNS                                \
    " UNION SELECT protocol FROM cell WHERE campaign IN " CAMPAIGNS
#define CHECKPOINTS "(SELECT id FROM checkpoint WHERE campaign IN " CAMPAIGNS ")"

/* Every table, and which of its rows belong to the campaigns. */
static const struct {
    const char *table, *condition;
} rules[] = {
    {"content", "digest IN (" DECLARED " UNION SELECT plan FROM campaign WHERE id IN " CAMPAIGNS
                " UNION SELECT content FROM choice WHERE cell IN " CELLS
                " UNION SELECT content FROM artifact WHERE trial IN " TRIALS
                " UNION SELECT channels FROM telemetry WHERE trial IN " TRIALS
                " UNION SELECT dump FROM telemetry WHERE trial IN " TRIALS
                " UNION SELECT output FROM dump WHERE campaign IN " CAMPAIGNS
                " UNION SELECT body FROM doctor WHERE campaign IN " CAMPAIGNS ")"},
    {"declaration", "digest IN (" DECLARED ")"},
    {"campaign", "id IN " CAMPAIGNS},
    {"cell", "campaign IN " CAMPAIGNS},
    {"planned_trial", "campaign IN " CAMPAIGNS},
    {"campaign_event", "campaign IN " CAMPAIGNS},
    {"choice", "cell IN " CELLS},
    {"reading_set", "id IN " SETS},
    {"reading_member", "reading_set IN " SETS},
    {"reading", "id IN (SELECT reading FROM reading_member WHERE reading_set IN " SETS ")"},
    {"device", "id IN " DEVICES},
    {"component", "id IN " COMPONENTS},
    {"component_package", "component IN " COMPONENTS},
    {"stack", "id IN " STACKS},
    {"stack_member", "stack IN " STACKS},
    {"trial", "campaign IN " CAMPAIGNS},
    {"trial_end", "trial IN " TRIALS},
    {"trial_device", "trial IN " TRIALS},
    {"phase", "trial IN " TRIALS},
    {"series", "trial IN " TRIALS},
    {"verification", "trial IN " TRIALS},
    {"environment", "trial IN " TRIALS},
    {"trial_stack", "trial IN " TRIALS},
    {"artifact", "trial IN " TRIALS},
    {"telemetry", "trial IN " TRIALS},
    {"doctor", "campaign IN " CAMPAIGNS},
    {"dump", "campaign IN " CAMPAIGNS},
    {"estimate", "cell IN " CELLS},
    {"comparison", "a IN " CELLS " AND b IN " CELLS},
    {"amendment", "cell IN " CELLS},
    {"import", "campaign IN " CAMPAIGNS},
    {"claim", "cell IN " CELLS},
    {"checkpoint", "campaign IN " CAMPAIGNS},
    {"signature", "checkpoint IN " CHECKPOINTS},
    {"timestamp_token", "checkpoint IN " CHECKPOINTS},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

const char *const *bundle_tables(void)
{
    static const char *names[RULES + 1];

    for (size_t i = 0; i < RULES; i++)
        names[i] = rules[i].table;
    return names;
}

const char *bundle_condition(const char *table)
{
    for (size_t i = 0; i < RULES; i++)
        if (!strcmp(rules[i].table, table))
            return rules[i].condition;
    return NULL;
}

static enum status execute(struct store *store, const char *sql, struct error *err)
{
    int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? STATUS_OK : store_error(store, rc, "gathering a bundle", err);
}

static enum status want(struct store *store, size_t rule, struct error *err)
{
    struct text sql;
    enum status status;

    text_init(&sql);
    text_append_format(&sql, "INSERT INTO temp.bundle_wanted SELECT '%s', ", rules[rule].table);
    status = ledger_leaf_key(store->db, rules[rule].table, "", &sql, err);
    text_append_format(&sql, " FROM main.%s WHERE %s", rules[rule].table, rules[rule].condition);
    if (status == STATUS_OK && !text_ok(&sql))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        status = execute(store, sql.data, err);
    text_finish(&sql);
    return status;
}

enum status bundle_select(struct store *store, const int64_t *campaigns, size_t count,
                          struct error *err)
{
    enum status status = execute(
        store,
        "DROP TABLE IF EXISTS temp.bundle_campaign;"
        "DROP TABLE IF EXISTS temp.bundle_wanted;"
        "DROP TABLE IF EXISTS temp.bundle_place;"
        "CREATE TEMP TABLE bundle_campaign (id INTEGER PRIMARY KEY);"
        "CREATE TEMP TABLE bundle_wanted (table_name TEXT, key, PRIMARY KEY (table_name, key))"
        " WITHOUT ROWID;"
        "CREATE TEMP TABLE bundle_place (table_name TEXT, key, leaf INTEGER,"
        " PRIMARY KEY (table_name, key)) WITHOUT ROWID",
        err);

    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        char sql[96];

        snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO temp.bundle_campaign VALUES (%lld)",
                 (long long)campaigns[i]);
        status = execute(store, sql, err);
    }
    for (size_t i = 0; i < RULES && status == STATUS_OK; i++)
        status = want(store, i, err);
    if (status == STATUS_OK)
        status = execute(store,
                         "INSERT INTO temp.bundle_place SELECT l.table_name, l.key, l.leaf"
                         " FROM main.ledger l CROSS JOIN temp.bundle_wanted w"
                         " WHERE w.table_name = l.table_name AND w.key = l.key",
                         err);
    return status;
}
