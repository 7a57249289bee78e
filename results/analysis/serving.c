#include "results/analysis/serving.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "protocols/serving/analysis.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/saturation.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"
#include "results/analysis/serving_client.h"
#include "results/analysis/serving_log.h"
#include "results/analysis/serving_trace.h"

/* The trials as the analysis takes them, and what they point into. */
struct served {
    struct serving_trial *trials;
    struct schedule *schedules;
    struct serving_log *logs;
    size_t count;
    double capacity; /* sum over the trials, requests/s in full batches */
};

static void finish(struct served *served)
{
    for (size_t i = 0; i < served->count; i++) {
        schedule_finish(&served->schedules[i]);
        serving_log_finish(&served->logs[i]);
    }
    free(served->trials);
    free(served->schedules);
    free(served->logs);
}

static enum status prepare(struct served *served, size_t count, struct error *err)
{
    served->trials = calloc(count, sizeof(*served->trials));
    served->schedules = calloc(count, sizeof(*served->schedules));
    served->logs = calloc(count, sizeof(*served->logs));
    if (!served->trials || !served->schedules || !served->logs)
        return error_no_memory(err);
    served->count = count;
    return STATUS_OK;
}

/* Mean output of a request in steps: as many as it takes to serve it. */
static double steps_of(const struct schedule *schedule, bool by_token)
{
    double sum = 0;

    for (size_t i = 0; i < schedule->count; i++)
        sum += by_token && schedule->requests[i].output_tokens > 1
                   ? (double)schedule->requests[i].output_tokens
                   : 1;
    return sum / (double)schedule->count;
}

static enum status load(struct store *store, const struct served_trial *trials,
                        const struct served_cell *cell, const struct serving_declared *declared,
                        struct served *served, struct error *err)
{
    CLEANUP(trace_finish) struct trace trace = {0};

    TRY(serving_trace_load(store, cell->workload, &trace, err));
    for (size_t i = 0; i < served->count; i++) {
        const int64_t round = (trials[i].sequence - 1) / (cell->cells > 0 ? cell->cells : 1);
        struct serving_log *log = &served->logs[i];
        struct schedule *schedule = &served->schedules[i];

        TRY(serving_schedule_make(cell->workload, cell->protocol, trace.count > 0 ? &trace : NULL,
                                  cell->rate, cell->seed, round, schedule, err));
        TRY(serving_log_load(store, trials[i].trial, log, err));
        if ((log->steps != NULL) != (declared->max_batch > 0))
            return error_set(err, STATUS_CORRUPT, "%s: trial %" PRId64 " %s steps",
                             store_path(store), trials[i].trial,
                             log->steps ? "is of an endpoint and has" : "has no");
        if (log->count != schedule->count)
            return error_set(err, STATUS_CORRUPT,
                             "%s: trial %" PRId64 " has %zu requests, and %zu were scheduled",
                             store_path(store), trials[i].trial, log->count, schedule->count);
        served->trials[i] = (struct serving_trial){
            .schedule = schedule,
            .seed = serving_schedule_seed(cell->seed, round),
            .requests = log->requests,
            .steps = log->steps,
            .step_count = log->step_count,
            .until_ns = schedule->window_ns + cell->protocol->serving_drain_ns,
        };
        if (log->warmup_step_ns > 0)
            served->capacity += (double)declared->max_batch * 1e9 / log->warmup_step_ns /
                                steps_of(schedule, declared->by_token);
    }
    return STATUS_OK;
}

/* Mean and median time of the requests that ended well. */
static enum status set_trial_time(const struct serving_log *log, struct estimate_trial *trial,
                                  struct error *err)
{
    AUTO_FREE int64_t *values = malloc((log->count + 1) * sizeof(*values));
    size_t count = 0;
    double sum = 0;

    if (!values)
        return error_no_memory(err);
    for (size_t i = 0; i < log->count; i++)
        if (log->requests[i].status == REQUEST_OK)
            values[count++] = log->requests[i].done_ns - log->requests[i].scheduled_ns;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i];
    order_sort(values, count);
    if (count > 0) {
        trial->mean_ns =
            (struct estimate_interval){.has_value = true, .value = sum / (double)count};
        trial->median_ns = order_quantile(values, count, 0.5);
    }
    return STATUS_OK;
}

static struct estimate_interval number(double value, double lo, double hi)
{
    return (struct estimate_interval){.has_value = isfinite(value),
                                      .value = value,
                                      .has_interval = isfinite(value) && lo <= hi,
                                      .lo = lo,
                                      .hi = hi};
}

static void set_metrics(const struct serving_result *result, struct estimate *e)
{
    static const struct {
        enum metric_id id;
        enum serving_metric metric;
        size_t q; /* index of serving_percentile */
    } percentiles[] = {
        {METRIC_TTFT_P50, SERVING_TTFT, 0}, {METRIC_TTFT_P99, SERVING_TTFT, 2},
        {METRIC_TPOT_P50, SERVING_TPOT, 0}, {METRIC_TPOT_P99, SERVING_TPOT, 2},
        {METRIC_GAP_P99, SERVING_GAP, 2},   {METRIC_E2E_P50, SERVING_E2E, 0},
        {METRIC_E2E_P99, SERVING_E2E, 2},   {METRIC_LAG_P999, SERVING_LAG, 3},
    };
    const struct serving_totals *totals = &result->totals;
    const double seconds = (double)totals->span_ns / 1e9, rate = (double)totals->requests / seconds;
    /* Their intervals are the share's: how many come, and their outputs, are the schedule's. */
    const double unknown = totals->undecided ? NAN : 0;
    const double tokens = totals->met ? (double)totals->good_tokens / (double)totals->met : unknown;
    const double lo = rate * result->slo.lo, hi = rate * result->slo.hi;
    const struct {
        enum metric_id id;
        struct estimate_interval value;
    } others[] = {
        {METRIC_ATTAINMENT, number(result->slo.attainment, result->slo.lo, result->slo.hi)},
        {METRIC_GOODPUT, number(result->slo.goodput, lo, hi)},
        {METRIC_REQUEST_RATE, number(rate, NAN, NAN)},
        {METRIC_TOKEN_RATE, number(result->output_tokens_per_s, NAN, NAN)},
        {METRIC_GOOD_TOKEN_RATE, number(result->slo.goodput * tokens, lo * tokens, hi * tokens)},
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        estimate_set_metric(e, others[i].id, &others[i].value, NULL, false);
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++) {
        const struct percentile_result *p =
            &result->percentiles[percentiles[i].metric][percentiles[i].q];
        const struct estimate_interval value = number(p->value, p->lo, p->hi);

        if (p->state == PERCENTILE_NONE)
            continue;
        estimate_set_metric(e, percentiles[i].id, &value, NULL, false);
        e->metrics[percentiles[i].id].needed = p->needed_requests;
    }
}

static void add_count(struct finding_list *list, enum finding_code code, const char *subject,
                      uint64_t some, uint64_t all)
{
    if (some > 0)
        finding_add(list, code, 0, subject, (double[]){(double)some, (double)some / (double)all});
}

/* How answers differ from what was asked for, and of what in them there is no figure. */
static void add_answers(const struct serving_totals *totals, struct finding_list *list)
{
    const double ok = (double)totals->ok, in_pieces = (double)totals->in_pieces;

    if (totals->shorter > 0)
        finding_add(list, FINDING_ANSWERS_SHORT, 0, NULL,
                    (double[]){(double)totals->shorter / ok,
                               (double)totals->shorter_tokens / (double)totals->shorter,
                               (double)totals->shorter_asked / (double)totals->shorter});
    if (totals->longer > 0)
        finding_add(list, FINDING_ANSWERS_LONG, 0, NULL,
                    (double[]){(double)totals->longer / ok,
                               (double)totals->longer_tokens / (double)totals->longer,
                               (double)totals->longer_asked / (double)totals->longer});
    if (totals->at_once > 0)
        finding_add(list, FINDING_OUTPUT_AT_ONCE, 0, NULL,
                    (double[]){(double)totals->at_once / ok});
    if (totals->in_pieces > 0)
        finding_add(list, FINDING_OUTPUT_IN_PIECES, 0, NULL,
                    (double[]){in_pieces / ok, totals->in_pieces_least_ns / in_pieces,
                               totals->in_pieces_most_ns / in_pieces});
}

/* Why limits are open, and what would help. `capacity`: the server's; 0: not known. */
static const char *reason_words(enum slo_reason reason, double capacity)
{
    switch (reason) {
    case SLO_REASON_NO_LIMITS:
        return "none are declared";
    case SLO_REASON_LOAD:
        return "the load was not the declared one; a lower rate or an idle machine may tell";
    case SLO_REASON_UNPLANNED:
        return capacity > 0 ? "the rate is not below the capacity, where no window is long enough"
                            : "the server's capacity is not known, and so not what the window is "
                              "worth; write load.capacity";
    case SLO_REASON_SHORT:
        return "the trials are too short";
    case SLO_REASON_SHARE:
        return "the share is too near";
    case SLO_REASON_UNDECIDED:
        return "more requests would not tell";
    case SLO_REASON_TRIALS:
        return "a trace takes three trials or more";
    case SLO_REASON_NONE:
    case SLO_REASON_GROWING:
    case SLO_REASON_FAILURES:
    case SLO_REASON_COUNT:
        break;
    }
    return NULL;
}

static void add_limits(const struct serving_result *result, const struct serving_options *options,
                       struct finding_list *list)
{
    const struct serving_totals *totals = &result->totals;
    const struct serving_limits *limits = &options->limits;
    const struct slo_result *slo = &result->slo;
    const char *why = reason_words(slo->reason, options->subject.capacity);
    const double share[] = {
        slo->attainment, limits->attain, (double)slo->needed_requests,
        totals->span_ns > 0 ? (double)totals->requests / ((double)totals->span_ns / 1e9) : NAN};
    const double undecided[] = {limits->attain, slo->least,
                                (double)totals->undecided / (double)totals->requests};

    if (slo->verdict == SLO_MISSES)
        finding_add(list, FINDING_LIMITS_MISSED, 0,
                    slo->reason == SLO_REASON_FAILURES ? "see why requests failed" : NULL, share);
    else if (slo->verdict == SLO_MEETS)
        finding_add(list, FINDING_LIMITS_MET, 0, NULL, share);
    else if (totals->undecided > 0 && limits->attain > 0)
        finding_add(list, FINDING_LIMITS_UNDECIDED, 0, why, undecided);
    else
        finding_add(list, slo->needed_requests ? FINDING_LIMITS_OPEN : FINDING_LIMITS_UNKNOWN, 0,
                    why, share);
}

static void add_findings(const struct serving_result *result, const struct serving_options *options,
                         struct finding_list *list)
{
    const bool elsewhere = options->prompts_told; /* an endpoint, whose settings are its own */
    const struct serving_totals *totals = &result->totals;

    if (result->load.verdict == LOAD_LATE)
        finding_add(list, FINDING_LOAD_LATE, 0,
                    elsewhere ? "measure from an idle machine, with as many `connections` as "
                                "requests can be under way at a time"
                              : NULL,
                    (double[]){result->load.lag_p999_ns, result->load.late_share});
    if (result->load.verdict == LOAD_NOT_AS_DECLARED)
        finding_add(list, FINDING_LOAD_NOT_AS_DECLARED, 0, NULL, NULL);
    if (result->queue.verdict == QUEUE_GROWING)
        finding_add(list, FINDING_QUEUE_GROWING, 0, NULL, (double[]){result->queue.growth});
    add_limits(result, options, list);
    add_count(list, FINDING_REQUESTS_REFUSED,
              elsewhere ? "the server's own limits of rate, queue or requests at a time" : NULL,
              totals->refused, totals->requests);
    add_count(list, FINDING_REQUESTS_UNFINISHED, NULL, totals->unfinished, totals->requests);
    add_count(list, FINDING_REQUESTS_FAILED, NULL, totals->failed + totals->timed_out,
              totals->requests);
    add_answers(totals, list);
}

/* `endpoint` is its declaration; NULL: the server is assay's own worker. */
static void add_endpoint_findings(const json_t *endpoint, struct finding_list *list)
{
    if (!endpoint)
        return;
    finding_add(list, FINDING_OUTPUTS_NOT_CHECKED, 0, NULL, NULL);
    if (json_is_false(json_object_get(endpoint, "verify_tls")))
        finding_add(list, FINDING_CERTIFICATE_NOT_CHECKED, 0, NULL, NULL);
}

static struct estimate *new_estimate(const struct served_trial *trials, size_t count,
                                     const struct estimate_options *options)
{
    struct estimate *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->trials = calloc(count, sizeof(*e->trials));
    e->version = ESTIMATE_VERSION;
    e->verdict = ESTIMATE_SERVING;
    e->headline = METRIC_ATTAINMENT;
    e->iterations_per_sample = 1;
    e->compare_by = options->compare_by;
    e->confidence = options->confidence;
    e->trial_count = count;
    e->variance.iteration = e->variance.process = e->ess = NAN;
    for (size_t i = 0; e->trials && i < count; i++)
        e->trials[i] = (struct estimate_trial){.sequence = trials[i].sequence,
                                               .number = trials[i].number,
                                               .verdict = ESTIMATE_SERVING,
                                               .median_ns = NAN,
                                               .ess = NAN};
    if (e->trials)
        return e;
    free(e);
    return NULL;
}

static enum status analyse(const struct served *served, const struct served_cell *cell,
                           const struct serving_declared *declared, struct estimate *e,
                           struct error *err)
{
    struct serving_options options = {
        .arrivals = &declared->arrivals,
        .subject = {.capacity = served->capacity > 0 ? served->capacity / (double)served->count
                                                     : declared->capacity},
        .limits = declared->limits,
        .rate = cell->rate,
        .lag_limit_ns = cell->protocol->serving_lag_ns,
        .confidence = cell->protocol->estimate.confidence,
        .prompts_told = json_object_get(cell->workload, "endpoint") != NULL,
    };
    struct serving_result result;

    for (size_t i = 0; i < served->count; i++) {
        e->sample_count += served->logs[i].count;
        TRY(set_trial_time(&served->logs[i], &e->trials[i], err));
    }
    TRY(serving_analyze(served->trials, served->count, &options, &result, err));
    for (size_t i = 0; i < served->count && declared->limits.attain > 0; i++) {
        const struct serving_totals totals = serving_trial_totals(&served->trials[i], &options);

        e->trials[i].requests = (int64_t)totals.requests;
        e->trials[i].missed = (int64_t)(totals.requests - totals.met - totals.undecided);
        e->trials[i].undecided = (int64_t)totals.undecided;
    }
    set_metrics(&result, e);
    add_endpoint_findings(json_object_get(cell->workload, "endpoint"), &e->findings);
    add_findings(&result, &options, &e->findings);
    e->serving = type_to_json(&serving_result_type, &result);
    return e->serving ? STATUS_OK : error_no_memory(err);
}

static void set_saturated(const struct served *served, struct estimate *e)
{
    double sum = 0, squares = 0, mean, half;
    struct estimate_interval rate = {0};
    size_t count = 0;

    for (size_t i = 0; i < served->count; i++) {
        const double one = log(saturation_rate(served->logs[i].requests, served->logs[i].count));

        e->sample_count += served->logs[i].count;
        if (isnan(one))
            continue;
        sum += one;
        squares += one * one;
        count++;
    }
    e->headline = METRIC_ITEM_RATE;
    if (count == 0)
        return;
    mean = sum / (double)count;
    half = count > 1
               ? student_quantile(0.5 + e->confidence / 2, (double)count - 1) *
                     sqrt(fmax(squares / (double)count - mean * mean, 0) / (double)(count - 1))
               : NAN;
    rate = number(exp(mean), exp(mean - half), exp(mean + half));
    estimate_set_metric(e, METRIC_ITEM_RATE, &rate, "request", false);
}

/* What the energy of a trial is shared by: nothing where no limits are declared. */
static void count_good(const struct served *served, const struct serving_limits *limits,
                       struct served_trial *trials, struct served_cell *cell)
{
    for (size_t i = 0; i < served->count; i++)
        cell->makes_tokens |= served->schedules[i].requests[0].output_tokens > 0;
    for (size_t i = 0; i < served->count && limits->attain > 0; i++) {
        const struct serving_trial *trial = &served->trials[i];
        double most;

        for (size_t k = 0; k < served->logs[i].count; k++)
            if (serving_score(&trial->requests[k], limits, trial->until_ns, &most) <= 1 &&
                most <= 1)
                trials[i].good += cell->makes_tokens ? (double)trial->requests[k].output_tokens : 1;
    }
}

enum status serving_estimate(struct store *store, struct served_trial *trials, size_t count,
                             struct served_cell *cell, struct estimate **ret, struct error *err)
{
    CLEANUP(estimate_cleanup)
    struct estimate *e = new_estimate(trials, count, &cell->protocol->estimate);
    CLEANUP(finish) struct served served = {0};
    struct serving_declared declared;

    if (!e)
        return error_no_memory(err);
    TRY(serving_declared_read(cell->workload, &declared, err));
    TRY(prepare(&served, count, err));
    TRY(load(store, trials, cell, &declared, &served, err));
    if (isinf(cell->rate))
        set_saturated(&served, e);
    else
        TRY(analyse(&served, cell, &declared, e, err));
    for (size_t i = 0; i < count; i++)
        TRY(serving_client_add(store, trials[i].trial, trials[i].number, served.logs[i].count,
                               &e->findings, err));
    count_good(&served, &declared.limits, trials, cell);
    *ret = e;
    e = NULL;
    return STATUS_OK;
}
