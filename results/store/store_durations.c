#include "results/store/store_internal.h"

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"

static const char *text_of(const json_t *message, const char *key)
{
    return json_string_value(json_object_get(message, key));
}

static enum status bind_like(struct store *store, const json_t *message,
                             struct statement *statement, struct error *err)
{
    const json_t *workload = json_object_get(message, "workload");
    struct digest digests[2];

    TRY(canonical_digest(workload, &digests[0], err));
    TRY(canonical_digest(json_object_get(message, "protocol"), &digests[1], err));
    TRY(statement_begin(
        store,
        "SELECT e.ended_utc_ns - t.started_utc_ns FROM cell c JOIN trial t ON t.cell = c.id"
        " JOIN trial_end e ON e.trial = t.id WHERE c.workload_name = ?1 AND c.workload = ?2"
        " AND c.protocol = ?3 AND c.precision = ?4 AND c.scenario = ?5 AND c.implementation = "
        "?6"
        " AND c.device_spec = ?7 AND c.batch = ?8 AND e.status = 'ok'"
        " AND e.ended_utc_ns > t.started_utc_ns"
        " AND NOT EXISTS (SELECT 1 FROM bundle b WHERE b.campaign = c.campaign)"
        " ORDER BY t.id DESC LIMIT ?9",
        statement, err));
    statement_text(statement, text_of(workload, "workload"));
    statement_digest(statement, &digests[0]);
    statement_digest(statement, &digests[1]);
    statement_text(statement, text_of(message, "precision"));
    statement_text(statement, text_of(message, "scenario"));
    statement_text(statement, text_of(message, "implementation"));
    statement_text(statement, text_of(message, "device"));
    statement_i64(statement, json_integer_value(json_object_get(message, "batch")));
    return STATUS_OK;
}

enum status store_trial_durations(struct store *store, const json_t *message, int64_t *ret,
                                  size_t capacity, size_t *ret_count, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    size_t count = 0;
    enum status status = STATUS_OK;

    TRY(bind_like(store, message, &statement, err));
    statement_i64(&statement, (int64_t)capacity);
    while (count < capacity && statement_next(&statement, &status, err))
        ret[count++] = sqlite3_column_int64(statement.handle, 0);
    TRY(status);
    *ret_count = count;
    return STATUS_OK;
}
