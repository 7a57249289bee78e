#include "protocols/serving/plan.h"

#include <math.h>

#include "protocols/serving/exceedance.h"
#include "protocols/stats/distribution.h"

#define WIDER 1.4 /* measured half-widths of a share by the planned ones, of most servers */

/* Variance of the number of arrivals in a long time, divided by its mean. */
static double dispersion(const struct arrivals *a, double rate)
{
    double high, difference;

    switch (a->process) {
    case ARRIVAL_DETERMINISTIC:
        return 0;
    case ARRIVAL_POISSON:
        return 1;
    case ARRIVAL_GAMMA:
        return a->cv * a->cv;
    case ARRIVAL_ON_OFF: /* a Markov-modulated Poisson process with two states */
        high = a->on_s / (a->on_s + a->off_s);
        difference = isinf(a->rate_ratio) ? 1 / high
                                          : (a->rate_ratio - 1) / (high * a->rate_ratio + 1 - high);
        return 1 + 2 * rate * difference * difference * high * (1 - high) /
                       (1 / a->on_s + 1 / a->off_s);
    case ARRIVAL_TRACE:
    case ARRIVAL_PROCESS_COUNT:
        break;
    }
    return NAN;
}

double serving_relaxation_s(const struct arrivals *arrivals, double rate,
                            const struct serving_subject *subject)
{
    double load = rate / subject->capacity, root = 1 - sqrt(load);
    double cv = subject->service_cv > 0 ? subject->service_cv : 1;
    double alone = subject->service_s > 0 ? subject->service_s : 1 / subject->capacity;

    if (!(subject->capacity > 0) || !(load > 0 && load < 1))
        return NAN;
    return (dispersion(arrivals, rate) + cv * cv) / 2 / (subject->capacity * root * root) + alone;
}

struct serving_plan serving_plan(const struct arrivals *arrivals, double rate,
                                 const struct serving_subject *subject, double tail,
                                 double precision, size_t trials)
{
    double relaxation = serving_relaxation_s(arrivals, rate, subject), windows = 0, each, t;
    struct serving_plan plan = {0};

    if (!isfinite(relaxation) || !(tail > 0 && tail < 1) || trials == 0)
        return plan;
    if (precision > 0) {
        t = student_quantile(0.975, EXCEEDANCE_BATCHES - 1) / precision;
        windows = t * t * (1 - tail) / tail;
    }
    each = fmax(fmax(windows, SERVING_WINDOW / tail) / (double)trials, SERVING_WINDOW_TRIAL);
    plan.known = true;
    plan.load = rate / subject->capacity;
    plan.relaxation_s = relaxation;
    plan.warmup_s = SERVING_WARMUP * relaxation;
    plan.requests = (uint64_t)fmin(ceil(each * relaxation * rate), 1e15);
    plan.trial_s = plan.warmup_s + each * relaxation;
    plan.total_s = (double)trials * plan.trial_s;
    return plan;
}

double serving_capacity_precision(double rate, const struct serving_subject *subject, double tail,
                                  double margin)
{
    const double load = rate / subject->capacity;
    double slope = log(1 / tail) * load / (1 - load);

    if (!(subject->capacity > 0) || !(load > 0 && load < 1) || !(tail > 0 && tail < 1))
        return 0;
    if (subject->service_cv > 1)
        slope /= (1 + subject->service_cv * subject->service_cv) / 2;
    return margin * slope / WIDER;
}
