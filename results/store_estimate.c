#include "results/store_internal.h"

#include <stdlib.h>

#include "harness/core/canonical.h"
#include "harness/core/clock.h"

enum status store_add_estimate(struct store *store, int64_t cell, int64_t version,
                               const json_t *json, struct error *err)
{
    const char *verdict = json_string_value(json_object_get(json, "verdict"));
    struct statement statement;
    char *body = NULL;
    enum status status;

    if (!verdict)
        return error_set(err, STATUS_INVALID, "an estimate has no verdict");
    status = canonical_dump(json, &body, err);
    if (status != STATUS_OK)
        return status;
    status = store_change_begin(store, err);
    if (status == STATUS_OK) {
        status = statement_begin(store,
                                 "INSERT INTO estimate (cell, version, created_utc_ns, verdict,"
                                 " body) VALUES (?1, ?2, ?3, ?4, ?5)",
                                 &statement, err);
        if (status == STATUS_OK) {
            statement_i64(&statement, cell);
            statement_i64(&statement, version);
            statement_i64(&statement, clock_utc_ns());
            statement_text(&statement, verdict);
            statement_text(&statement, body);
            status = statement_run(&statement, NULL, err);
        }
        status = store_change_end(store, status, err);
    }
    free(body);
    return status;
}
