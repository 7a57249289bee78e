#include "results/analysis/serving_client.h"

#include <string.h>

#include <jansson.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "results/store/store_internal.h"

#define FACTS                                                                                      \
    "SELECT e.facts -> '$.endpoint.stats' FROM trial_end e WHERE e.trial = ?1 AND json_type("      \
    "e.facts, '$.endpoint.stats') = 'object'"
#define BUSY 0.7 /* of a processor: requests then wait for the client now and then */

/* What is counted in requests, of which none are as a rule. */
static const struct {
    const char *key;
    enum finding_code code;
} counted[] = {
    {"held", FINDING_REQUESTS_HELD},
    {"retried", FINDING_REQUESTS_AGAIN},
    {"without_usage", FINDING_TOKENS_BY_EVENTS},
    {"usage_below_events", FINDING_USAGE_BELOW_EVENTS},
    {"usage_above_events", FINDING_USAGE_ABOVE_EVENTS},
    {"usage_above_asked", FINDING_USAGE_ABOVE_ASKED},
    {"tokens_above_bytes", FINDING_TOKENS_ABOVE_BYTES},
    {"blank_first", FINDING_BLANK_FIRST},
    {"without_end", FINDING_ANSWERS_WITHOUT_END},
    {"prompts_repeated", FINDING_PROMPTS_REPEATED},
};

bool serving_client_has(const char *code)
{
    for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
        if (!strcmp(code, finding_kinds[counted[i].code].code))
            return true;
    return !strcmp(code, finding_kinds[FINDING_REQUESTS_ENDED].code) ||
           !strcmp(code, finding_kinds[FINDING_CLIENT_BUSY].code);
}

static void add_stats(const json_t *stats, int64_t number, uint64_t requests,
                      struct finding_list *findings)
{
    const double share = member_real(stats, "cpu_ns") / member_real(stats, "wall_ns");
    size_t i;

    EACH(reason, json_object_get(stats, "reasons")) {
        const char *words = member_string(reason, "reason");
        const double count = member_real(reason, "count");

        if (words && count > 0)
            finding_add(findings, FINDING_REQUESTS_ENDED, number, words, &count);
    }
    for (i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
        const double some = member_real(stats, counted[i].key);

        if (some > 0)
            finding_add(findings, counted[i].code, number, NULL,
                        (double[]){some, some / (double)requests});
    }
    if (share > BUSY)
        finding_add(findings, FINDING_CLIENT_BUSY, number, NULL, &share);
}

enum status serving_client_add(struct store *store, int64_t trial, int64_t number,
                               uint64_t requests, struct finding_list *findings, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    json_auto_t *stats = NULL;
    enum status status;

    TRY(statement_of(store, FACTS, trial, &statement, err));
    if (!statement_next(&statement, &status, err))
        return status;
    stats = json_loads((const char *)sqlite3_column_text(statement.handle, 0), 0, NULL);
    add_stats(stats, number, requests, findings);
    return STATUS_OK;
}
