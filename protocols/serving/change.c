#include "protocols/serving/change.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "protocols/serving/exceedance.h"
#include "protocols/stats/distribution.h"

static bool is_known(const struct served_figure *f)
{
    return isfinite(f->value) && isfinite(f->lo) && isfinite(f->hi);
}

static struct served_figure logs(const struct served_figure *f)
{
    return (struct served_figure){log(f->value), log(f->lo), log(f->hi)};
}

static struct served_figure subtract(const struct served_figure *a, const struct served_figure *b)
{
    const double change = b->value - a->value;

    if (!is_known(a) || !is_known(b))
        return (struct served_figure){change, b->lo - a->hi, b->hi - a->lo};
    return (struct served_figure){change, change - hypot(b->value - b->lo, a->hi - a->value),
                                  change + hypot(b->hi - b->value, a->value - a->lo)};
}

/*
 * By the distance of the margin's edge in standard errors, which the upper half of the interval
 * has; `df` of Student's t, INFINITY for a normal one. Without a value only on which side of the
 * edge the upper end lies is known.
 */
static double worse(const struct served_figure *change, double edge, double confidence, double df)
{
    const double p = 0.5 + confidence / 2, half = change->hi - change->value;
    const double off = (change->value - edge) / half;

    if (isnan(change->hi))
        return NAN;
    if (isnan(half))
        return change->hi < edge ? 0.5 * (1 - confidence) : 1;
    if (half <= 0)
        return change->value < edge ? 0 : 1;
    return isinf(df) ? normal_cdf(normal_quantile(p) * off)
                     : student_cdf(student_quantile(p, df) * off, df);
}

struct served_change served_change_make(enum compare_figure figure, const struct served_figure *a,
                                        const struct served_figure *b,
                                        const struct compare_options *options)
{
    const bool relative = figure == COMPARE_CAPACITY;
    const struct served_figure x = relative ? logs(a) : *a, y = relative ? logs(b) : *b;
    const double edge = relative ? log1p(-options->margin) : -options->margin;
    struct served_change made = {.a = *a,
                                 .b = *b,
                                 .change = subtract(&x, &y),
                                 .margin = options->margin,
                                 .confidence = options->confidence,
                                 .p_worse_family = NAN};

    made.p_worse = worse(&made.change, edge, options->confidence, INFINITY);
    if (relative)
        made.change = (struct served_figure){exp(made.change.value), exp(made.change.lo),
                                             exp(made.change.hi)};
    return made;
}

/* The share missed of a less that of b, with b's undecided requests missed, or a's. */
static double difference(const struct served_pair *pair, bool b_missed)
{
    const struct served_share *a = &pair->a, *b = &pair->b;

    return (a->missed + (b_missed ? 0 : a->undecided)) / a->requests -
           (b->missed + (b_missed ? b->undecided : 0)) / b->requests;
}

static struct served_figure over_pairs(const struct served_pair *pairs, size_t count, bool b_missed,
                                       double dispersion, double confidence)
{
    const double n = (double)count, t = student_quantile(0.5 + confidence / 2, n - 1);
    double squares = 0, requests = 0, both, variance, effective, half;
    struct served_figure up = {0}, down = {0}, change;

    for (size_t k = 0; k < count; k++) {
        const double d = difference(&pairs[k], b_missed);

        up.value += fmax(d, 0) / n;
        down.value += fmax(-d, 0) / n;
        squares += d * d;
        requests += (pairs[k].a.requests + pairs[k].b.requests) / 2;
    }
    change.value = up.value - down.value;
    variance = fmax(squares - n * change.value * change.value, 0) / (n * (n - 1));
    both = up.value + down.value;
    effective =
        both > 0
            ? requests / fmax(variance * requests / (both - change.value * change.value), 1)
            : exceedance_effective(requests, fmax(dispersion, 1), EXCEEDANCE_BATCHES, confidence);
    exceedance_interval(up.value, effective, confidence, &up.lo, &up.hi);
    exceedance_interval(down.value, effective, confidence, &down.lo, &down.hi);
    change = subtract(&down, &up);
    half = t * sqrt(variance);
    change.lo = fmax(fmin(change.lo, change.value - half), -1);
    change.hi = fmin(fmax(change.hi, change.value + half), 1);
    return change;
}

struct served_change served_change_paired(const struct served_figure *a,
                                          const struct served_figure *b,
                                          const struct served_pair *pairs, size_t count,
                                          double dispersion, const struct compare_options *options)
{
    const struct served_figure least =
        over_pairs(pairs, count, true, dispersion, options->confidence);
    const struct served_figure most =
        over_pairs(pairs, count, false, dispersion, options->confidence);
    struct served_change made = served_change_make(COMPARE_ATTAINMENT, a, b, options);

    made.change = (struct served_figure){(least.value + most.value) / 2, least.lo, most.hi};
    made.pairs = count;
    made.p_worse = worse(&made.change, -options->margin, options->confidence, (double)(count - 1));
    return made;
}

int served_change_verdict(enum compare_figure figure, const struct served_change *change)
{
    const double edge = figure == COMPARE_CAPACITY ? 1 - change->margin : -change->margin;
    const double p = isnan(change->p_worse_family) ? change->p_worse : change->p_worse_family;

    if (change->change.lo >= edge)
        return 1;
    return p <= 0.5 * (1 - change->confidence) ? -1 : 0;
}

const char *served_change_verdict_name(int verdict)
{
    return verdict > 0 ? "not_worse" : verdict < 0 ? "worse" : "inconclusive";
}

enum status served_change_family(struct served_change *const *list, size_t count, struct error *err)
{
    AUTO_FREE double *p = calloc(count + 1, sizeof(*p));

    if (!p)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        p[i] = list[i] ? list[i]->p_worse : NAN;
    TRY(family_holm(p, count, p, err));
    for (size_t i = 0; i < count; i++)
        if (list[i])
            list[i]->p_worse_family = p[i];
    return STATUS_OK;
}

#define M(name) MEMBER(struct served_figure, REAL, name)
static const struct member figure_members[] = {M(value), M(lo), M(hi)};
#undef M
static const struct type figure_type =
    TYPE(struct served_figure, "a figure", figure_members, .def = "served_figure");

#define M(...) MEMBER(struct served_change, __VA_ARGS__)
static const struct member change_members[] = {
    M(RECORD, a, .of = &figure_type),
    M(RECORD, b, .of = &figure_type),
    M(RECORD, change, .of = &figure_type, .help = "attainment: b - a; capacity: b / a"),
    M(FINITE, margin),
    M(FINITE, confidence),
    M(REAL, p_worse),
    M(REAL, p_worse_family),
    M(COUNT, pairs, .flags = MEMBER_OPTIONAL, .help = "that the change of attainment rests on"),
};
#undef M
const struct type served_change_type = TYPE(struct served_change, "a change", change_members);
