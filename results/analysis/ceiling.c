#include "results/analysis/ceiling.h"

#include "harness/core/cleanup.h"
#include "results/store/store_internal.h"

/*
 * Cells `o` that bound cell `c`, with the best rate of a sample; COUNTED is "bytes" or "flops". The
 * members of a plan's spec are what tells the arms of a comparison apart.
 */
#define BOUND(COUNTED, AND)                                                                        \
    "SELECT o.workload_name, o." COUNTED                                                           \
    " * 1e9 * e.iterations_per_sample / (SELECT min(s.minimum) FROM series s WHERE"                \
    " s.trial = t.id AND s.name = 'wall_ns') AS rate FROM cell c JOIN campaign g ON"               \
    " g.id = c.campaign JOIN content p ON p.digest = g.plan JOIN cell o ON"                        \
    " o.campaign = c.campaign AND o.id <> c.id AND o.device_spec = c.device_spec AND"              \
    " o.precision = c.precision AND " SAME_ARM " JOIN content w ON w.digest = o.workload JOIN"     \
    " trial t ON t.cell = o.id AND t.id <= ?2 JOIN trial_end e ON e.trial = t.id AND"              \
    " e.status = 'ok' WHERE c.id = ?1 AND o." COUNTED " > 0 AND " AND                              \
    " ORDER BY rate DESC LIMIT 1"
#define SAME_ARM                                                                                   \
    SAME_IN_PLAN("spec.root")                                                                      \
    " AND " SAME_IN_PLAN("spec.environment") " AND " SAME_IN_PLAN("worker")
#define SAME_IN_PLAN(MEMBER) SPEC("o", MEMBER) " IS " SPEC("c", MEMBER)
#define SPEC(CELL, MEMBER)                                                                         \
    "json_extract(p.body, '$.cells[' || (" CELL ".ordinal - 1) || ']." MEMBER "')"

/* An iteration of 200 us is at least ten launches long on every backend. */
#define BYTES                                                                                      \
    BOUND("bytes", "o.kind = 'memory_bound' AND w.body ->> '$.memory_bound.kernel' IN"             \
                   " ('copy', 'scale', 'add', 'triad', 'dot') AND"                                 \
                   " o.working_set_bytes <= c.working_set_bytes")
#define OPERATIONS                                                                                 \
    BOUND("flops", "o.kind = 'gemm' AND o.implementation = c.implementation AND c.kind IN"         \
                   " ('gemm', 'training_step', 'batched_inference', 'generation') AND"             \
                   " (o.flops >= c.flops OR o.flops >= 2e5 * rate / 1e9)")

static enum status add_bound(struct store *store, const char *sql, int64_t cell, int64_t last_trial,
                             enum metric_id id, struct estimate *estimate, struct error *err)
{
    const struct metric_value *rate = &estimate->metrics[id];
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;
    double ceiling, ratio;

    if (!rate->has_value)
        return STATUS_OK;
    TRY(statement_of(store, sql, cell, &statement, err));
    statement_i64(&statement, last_trial);
    if (!statement_next(&statement, &status, err))
        return status;
    ceiling = sqlite3_column_double(statement.handle, 1);
    ratio = rate->value / ceiling;
    if (ceiling > 0 && ratio > CEILING_FACTOR)
        finding_add(&estimate->findings, FINDING_ABOVE_CEILING, 0,
                    (const char *)sqlite3_column_text(statement.handle, 0), &ratio);
    return STATUS_OK;
}

enum status ceiling_add(struct store *store, int64_t cell, int64_t last_trial,
                        struct estimate *estimate, struct error *err)
{
    TRY(add_bound(store, BYTES, cell, last_trial, METRIC_BYTE_RATE, estimate, err));
    return add_bound(store, OPERATIONS, cell, last_trial, METRIC_OP_RATE, estimate, err);
}
