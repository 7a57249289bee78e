#include "results/analysis/serving_log.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "protocols/serving/request_log.h"

#define SERIES 6
#define PROMPTS 4 /* the first of those that only steps with prompts have */

static enum status corrupt(struct store *store, int64_t trial, const char *what, struct error *err)
{
    return error_set(err, STATUS_CORRUPT, "%s: trial %" PRId64 ": %s", store_path(store), trial,
                     what);
}

static enum status load_requests(struct store *store, int64_t trial, struct serving_log *log,
                                 struct error *err)
{
    for (size_t c = 0; c < REQUEST_COLUMNS_ALL; c++) {
        AUTO_FREE int64_t *values = NULL;
        size_t count = 0;
        bool good;
        enum status status =
            store_load_samples(store, trial, request_columns[c], &values, &count, err);

        if (status == STATUS_NOT_FOUND && c >= REQUEST_COLUMNS)
            continue; /* of assay's own server, or of an endpoint before there were these */
        if (status == STATUS_NOT_FOUND)
            return corrupt(store, trial, "its log of requests lacks a column", err);
        TRY(status);
        if (!log->requests) {
            log->requests = calloc(count + 1, sizeof(*log->requests));
            log->count = count;
        }
        good = log->requests && count == log->count;
        for (size_t i = 0; i < count && good; i++)
            good = request_set_column(&log->requests[i], c, values[i]);
        if (!log->requests)
            return error_no_memory(err);
        if (!good)
            return corrupt(store, trial, "its log of requests holds what no log does", err);
    }
    return STATUS_OK;
}

/* Steps before the window have no time in it. */
static enum status load_steps(struct store *store, int64_t trial, struct serving_log *log,
                              struct error *err)
{
    static const char *const names[SERIES] = {"step:begin_ns",       "wall_ns",
                                              "step:batch",          "step:tokens",
                                              "step:prefill_tokens", "step:kv_used"};
    int64_t *values[SERIES] = {0};
    size_t counts[SERIES] = {0}, warmup = 0;
    double warmup_ns = 0;
    enum status status = STATUS_OK;

    for (size_t s = 0; s < SERIES && status == STATUS_OK; s++) {
        status = store_load_samples(store, trial, names[s], &values[s], &counts[s], err);
        if (status == STATUS_NOT_FOUND && s == 0)
            return STATUS_OK; /* of an endpoint, whose steps nobody here sees */
        if (status == STATUS_NOT_FOUND && s >= PROMPTS) {
            status = STATUS_OK;
            break; /* of a kind without prompts */
        }
        if (status == STATUS_NOT_FOUND || (status == STATUS_OK && counts[s] != counts[0]))
            status = corrupt(store, trial, "its log of steps is not whole", err);
    }
    if (status == STATUS_OK) {
        log->steps = calloc(counts[0] + 1, sizeof(*log->steps));
        if (!log->steps)
            status = error_no_memory(err);
    }
    for (size_t i = 0; status == STATUS_OK && i < counts[0]; i++) {
        if (values[0][i] < 0) {
            warmup_ns += (double)values[1][i];
            warmup++;
            continue;
        }
        log->steps[log->step_count++] =
            (struct serving_step){.begin_ns = values[0][i],
                                  .end_ns = values[0][i] + values[1][i],
                                  .batch = (uint32_t)values[2][i],
                                  .prefill_tokens = values[4] ? (uint32_t)values[4][i] : 0,
                                  .decode_tokens = (uint32_t)values[3][i],
                                  .kv_used = values[5] ? (uint32_t)values[5][i] : 0};
    }
    log->warmup_step_ns = warmup > 0 ? warmup_ns / (double)warmup : 0;
    for (size_t s = 0; s < SERIES; s++)
        free(values[s]);
    return status;
}

enum status serving_log_load(struct store *store, int64_t trial, struct serving_log *ret,
                             struct error *err)
{
    struct serving_log log = {0};
    struct error why = ERROR_INIT;
    enum status status = load_requests(store, trial, &log, err);

    if (status == STATUS_OK)
        status = load_steps(store, trial, &log, err);
    if (status == STATUS_OK &&
        request_log_audit(log.requests, log.count, log.steps, log.step_count, &why) != STATUS_OK)
        status = corrupt(store, trial, why.message, err);
    if (status != STATUS_OK) {
        serving_log_finish(&log);
        return status;
    }
    *ret = log;
    return STATUS_OK;
}

void serving_log_finish(struct serving_log *log)
{
    free(log->requests);
    free(log->steps);
    *log = (struct serving_log){0};
}
