#include "protocols/serving/power.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/serving/analysis.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/saturation.h"

#define TRIALS_DEFAULT 5
#define PRECISION_DEFAULT 0.5
#define MARGIN_DEFAULT 0.03

/* ---- the answer ---- */

struct request_count {
    int64_t requests;
    double total_s;
};
#define M(...) MEMBER(struct request_count, __VA_ARGS__)
static const struct member count_members[] = {
    M(INTEGER, requests, .help = "of a trial, with its warmup"),
    M(REAL, total_s, .help = "of all trials"),
};
#undef M
static const struct type count_type = TYPE(struct request_count, "a count", count_members);

struct need {
    const char *figure;
    double tail, precision;
    struct request_count least, wanted;
};
#define M(...) MEMBER(struct need, __VA_ARGS__)
static const struct member need_members[] = {
    M(TEXT, figure),
    M(FINITE, tail, .help = "share that misses or lies above"),
    M(RECORD, least, .of = &count_type, .help = "from which an interval is given at all"),
    M(REAL, precision, .help = "half-width of the share's interval, relative to it"),
    M(RECORD, wanted, .of = &count_type, .help = "for the precision"),
};
#undef M
static const struct type need_type = TYPE(struct need, "a need", need_members);

#define NEEDS_MAX (SERVING_PERCENTILES + 2) /* of attainment and capacity, too */
struct served_rate {
    double rate, load, relaxation_s;
    struct need needs[NEEDS_MAX];
    size_t count;
};
#define M(...) MEMBER(struct served_rate, __VA_ARGS__)
static const struct member rate_members[] = {
    M(FINITE, rate),
    M(REAL, load),
    M(REAL, relaxation_s, .help = "null: the backlog grows"),
    M(LIST, needs, .of = &need_type, .size = NEEDS_MAX,
      .count = offsetof(struct served_rate, count)),
};
#undef M
static const struct type rate_type = TYPE(struct served_rate, "a rate", rate_members);

struct answer {
    const char *workload;
    double capacity, precision, margin, confidence;
    int64_t trials;
    struct served_rate *rates;
    size_t count;
};
#define M(...) MEMBER(struct answer, __VA_ARGS__)
static const struct member answer_members[] = {
    M(TEXT, workload),
    M(FINITE, capacity),
    M(FINITE, precision),
    M(FINITE, margin),
    M(FINITE, confidence),
    M(INTEGER, trials),
    M(LIST, rates, .of = &rate_type, .count = offsetof(struct answer, count)),
};
#undef M
const struct type serving_power_type = TYPE(struct answer, "the power of a load", answer_members);

/* ---- how it is found ---- */

/* The warmup's requests are scheduled, too. */
static struct request_count count_of(const struct serving_plan *plan, double rate)
{
    return (struct request_count){(int64_t)fmin(ceil(plan->trial_s * rate), 1e15), plan->total_s};
}

static void add_need(struct served_rate *rate, const char *figure, double tail, double precision,
                     const struct serving_declared *declared, const struct serving_subject *subject,
                     size_t trials)
{
    const struct serving_plan least =
        serving_plan(&declared->arrivals, rate->rate, subject, tail, 0, trials);
    const struct serving_plan wanted =
        serving_plan(&declared->arrivals, rate->rate, subject, tail, precision, trials);

    rate->needs[rate->count++] = (struct need){
        figure, tail, precision, count_of(&least, rate->rate), count_of(&wanted, rate->rate)};
}

static struct served_rate rate_of(double rate, const struct serving_declared *declared,
                                  const struct serving_power_options *options)
{
    static const char *const names[SERVING_PERCENTILES] = {"p50", "p90", "p99", "p99.9"};
    const struct serving_subject subject = {.capacity = options->capacity};
    const double missing = 1 - declared->limits.attain;
    const size_t trials = (size_t)options->trials;
    struct served_rate ret = {.rate = rate,
                              .load = rate / options->capacity,
                              .relaxation_s =
                                  serving_relaxation_s(&declared->arrivals, rate, &subject)};

    if (!isfinite(ret.relaxation_s))
        return ret;
    add_need(&ret, "attainment", missing, options->precision, declared, &subject, trials);
    for (size_t i = 0; i < SERVING_PERCENTILES; i++)
        add_need(&ret, names[i], 1 - serving_percentile[i], options->precision, declared, &subject,
                 trials);
    add_need(&ret, "capacity", missing,
             serving_capacity_precision(rate, &subject, missing, options->margin), declared,
             &subject, trials);
    return ret;
}

enum status serving_power(const json_t *workload, const struct serving_power_options *options,
                          json_t **ret, struct error *err)
{
    const json_t *load = json_object_get(workload, "load");
    struct serving_power_options wanted = *options;
    struct serving_declared declared;
    AUTO_FREE struct served_rate *rates = NULL;
    struct answer answer;

    TRY(serving_declared_read(workload, &declared, err));
    if (wanted.capacity == 0)
        wanted.capacity = member_real(load, "capacity");
    wanted.precision = wanted.precision > 0 ? wanted.precision : PRECISION_DEFAULT;
    wanted.margin = wanted.margin > 0 ? wanted.margin : MARGIN_DEFAULT;
    wanted.trials = wanted.trials > 0 ? wanted.trials : TRIALS_DEFAULT;
    if (declared.arrivals.process == ARRIVAL_TRACE)
        return error_set(err, STATUS_INVALID,
                         "recorded arrivals have the length that they have, and no steady state "
                         "that a precision could be planned for");
    if (!(wanted.capacity > 0 && isfinite(wanted.capacity)))
        return error_set(err, STATUS_INVALID,
                         "the capacity is missing: give --capacity, the requests per second that "
                         "the server does when it is never idle, or write load.capacity");
    rates = calloc(member_size(load, "rates") + 1, sizeof(*rates));
    if (!rates)
        return error_no_memory(err);
    answer = (struct answer){member_string(workload, "workload"),
                             wanted.capacity,
                             wanted.precision,
                             wanted.margin,
                             0.95,
                             wanted.trials,
                             rates,
                             0};
    EACH(rate, json_object_get(load, "rates")) {
        const char *share = json_string_value(rate); /* "0.5x" */
        const double value = share ? saturation_share(strtod(share, NULL), wanted.capacity)
                                   : json_number_value(rate);

        rates[answer.count++] = rate_of(value, &declared, &wanted);
    }
    *ret = type_to_json(&serving_power_type, &answer);
    return *ret ? STATUS_OK : error_no_memory(err);
}
