#include "protocols/serving/analysis_parts.h"

#include <math.h>
#include <stdlib.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"

#define PARTS 8         /* observations of growth, at least */
#define CONFIDENCE 0.99 /* of the interval of growth: 0.5 % on either side */
#define KEEPS_UP 0.01   /* growth below which departures keep up */
#define GROWS 0.005     /* growth that is more than the rest of a long relaxation */

/* Ends of the requests' times in the system, ascending; one that is still there never ends. */
static size_t collect_ends(const struct serving_trial *trial, int64_t *ends)
{
    size_t count = 0;

    for (size_t i = 0; i < trial->schedule->count; i++) {
        const struct request *r = &trial->requests[i];

        if (r->status != REQUEST_UNFINISHED)
            ends[count++] = r->done_ns == REQUEST_NEVER ? r->scheduled_ns : r->done_ns;
    }
    order_sort(ends, count);
    return count;
}

static size_t ended_by(const int64_t *ends, size_t count, int64_t at_ns)
{
    size_t lo = 0, hi = count;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (ends[middle] > at_ns)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* Growth of the backlog per arrival in `parts` pieces of the second half; returns the backlog. */
static double add_growth(const struct serving_trial *trial, size_t parts, int64_t *ends,
                         double *growth, double *ret_area)
{
    const struct schedule *s = trial->schedule;
    size_t count = collect_ends(trial, ends), first = s->count / 2;
    double before = 0, area = 0;

    for (size_t k = 0; k <= parts; k++) {
        /* Just before an arrival, which all later ones are compared with. */
        size_t arrived = first + (s->count - first) * k / parts;
        int64_t at_ns = arrived < s->count ? s->requests[arrived].at_ns : s->window_ns;
        double backlog = (double)arrived - (double)ended_by(ends, count, at_ns - 1);

        if (k > 0) {
            size_t arrivals = arrived - (first + (s->count - first) * (k - 1) / parts);

            growth[k - 1] = arrivals > 0 ? (backlog - before) / (double)arrivals : 0;
        }
        before = backlog;
    }
    for (size_t i = 0; i < s->count; i++)
        area += (double)(s->window_ns - s->requests[i].at_ns);
    for (size_t i = 0; i < count && ends[i] < s->window_ns; i++)
        area -= (double)(s->window_ns - ends[i]);
    *ret_area = s->window_ns > 0 ? area / (double)s->window_ns : 0;
    return before;
}

static void judge(const double *growth, size_t count, struct queue_result *ret)
{
    double mean = 0, squares = 0, half;

    for (size_t i = 0; i < count; i++)
        mean += growth[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (growth[i] - mean) * (growth[i] - mean);
    half = student_quantile(0.5 + CONFIDENCE / 2, (double)count - 1) *
           sqrt(squares / (double)(count - 1) / (double)count);
    ret->growth = mean;
    ret->growth_lo = mean - half;
    ret->growth_hi = mean + half;
    if (ret->growth_lo > 0 && mean >= GROWS)
        ret->verdict = QUEUE_GROWING;
    else if (ret->growth_lo <= 0 && ret->growth_hi < KEEPS_UP)
        ret->verdict = QUEUE_STABLE;
    else
        ret->verdict = QUEUE_UNDETERMINED;
}

enum status serving_check_queue(const struct serving_trial *trials, size_t count,
                                const struct serving_options *options, struct queue_result *ret,
                                struct error *err)
{
    const size_t parts = count >= PARTS ? 1 : (PARTS + count - 1) / count;
    double *growth = calloc(parts * count, sizeof(*growth));
    enum status status = STATUS_OK;
    struct queue_result result = {0};
    size_t longest = 0;
    int64_t *ends;

    for (size_t r = 0; r < count; r++)
        longest = trials[r].schedule->count > longest ? trials[r].schedule->count : longest;
    ends = malloc(longest * sizeof(*ends) + 1);
    if (!growth || !ends)
        status = error_no_memory(err);
    for (size_t r = 0; r < count && status == STATUS_OK; r++) {
        double area, mean;
        bool equal = false;

        result.backlog_end +=
            add_growth(&trials[r], parts, ends, growth + r * parts, &area) / (double)count;
        result.backlog += area / (double)count;
        status = serving_audit(&trials[r], &equal, &mean, err);
        result.audit_failed += !equal;
    }
    if (status == STATUS_OK) {
        judge(growth, parts * count, &result);
        /* The arrivals of a trace are not stationary: its backlog says nothing of another hour. */
        if (options->arrivals->process == ARRIVAL_TRACE)
            result.verdict = QUEUE_UNDETERMINED;
        *ret = result;
    }
    free(growth);
    free(ends);
    return status;
}
