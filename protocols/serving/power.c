#include "protocols/serving/power.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/member.h"
#include "protocols/serving/analysis.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/saturation.h"

#define TRIALS_DEFAULT 5
#define PRECISION_DEFAULT 0.5
#define MARGIN_DEFAULT 0.03

/* The warmup's requests are scheduled, too. */
static json_t *cost_of(const struct serving_plan *plan, double rate)
{
    return json_pack("{s:I, s:o}", "requests", (json_int_t)fmin(ceil(plan->trial_s * rate), 1e15),
                     "total_s", real_or_null(plan->total_s));
}

static json_t *need(const char *figure, double tail, double precision, double rate,
                    const struct serving_declared *declared, const struct serving_subject *subject,
                    size_t trials)
{
    const struct serving_plan least =
        serving_plan(&declared->arrivals, rate, subject, tail, 0, trials);
    const struct serving_plan wanted =
        serving_plan(&declared->arrivals, rate, subject, tail, precision, trials);

    return json_pack("{s:s, s:f, s:o, s:o, s:o}", "figure", figure, "tail", tail, "least",
                     cost_of(&least, rate), "precision", real_or_null(precision), "wanted",
                     cost_of(&wanted, rate));
}

static json_t *rate_json(double rate, const struct serving_declared *declared,
                         const struct serving_power_options *options)
{
    static const char *const names[SERVING_PERCENTILES] = {"p50", "p90", "p99", "p99.9"};
    const struct serving_subject subject = {.capacity = options->capacity};
    const double relaxation = serving_relaxation_s(&declared->arrivals, rate, &subject);
    const double missing = 1 - declared->limits.attain;
    const size_t trials = (size_t)options->trials;
    json_t *needs = json_array();

    if (isfinite(relaxation)) {
        json_array_append_new(needs, need("attainment", missing, options->precision, rate, declared,
                                          &subject, trials));
        for (size_t i = 0; i < SERVING_PERCENTILES; i++)
            json_array_append_new(needs,
                                  need(names[i], 1 - serving_percentile[i], options->precision,
                                       rate, declared, &subject, trials));
        json_array_append_new(
            needs, need("capacity", missing,
                        serving_capacity_precision(rate, &subject, missing, options->margin), rate,
                        declared, &subject, trials));
    }
    return json_pack("{s:f, s:o, s:o, s:o}", "rate", rate, "load",
                     real_or_null(rate / options->capacity), "relaxation_s",
                     real_or_null(relaxation), "needs", needs);
}

enum status serving_power(const json_t *workload, const struct serving_power_options *options,
                          json_t **ret, struct error *err)
{
    const json_t *load = json_object_get(workload, "load"), *rate;
    struct serving_power_options wanted = *options;
    struct serving_declared declared;
    json_t *rates;
    size_t i;
    enum status status = serving_declared_read(workload, &declared, err);

    if (status != STATUS_OK)
        return status;
    if (wanted.capacity == 0)
        wanted.capacity = json_number_value(json_object_get(load, "capacity"));
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
    rates = json_array();
    json_array_foreach(json_object_get(load, "rates"), i, rate)
    {
        const char *share = json_string_value(rate); /* "0.5x" */
        const double value = share ? saturation_share(strtod(share, NULL), wanted.capacity)
                                   : json_number_value(rate);

        json_array_append_new(rates, rate_json(value, &declared, &wanted));
    }
    *ret = json_pack("{s:O, s:f, s:f, s:f, s:f, s:I, s:o}", "workload",
                     json_object_get(workload, "workload"), "capacity", wanted.capacity,
                     "precision", wanted.precision, "margin", wanted.margin, "confidence", 0.95,
                     "trials", (json_int_t)wanted.trials, "rates", rates);
    return *ret ? STATUS_OK : error_no_memory(err);
}
