#include "protocols/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"

#define CONFIDENCE 0.95
#define POWER 0.8
#define NEEDED_MAX 1000
#define INFINITE_DF 1e7

const char *unit_verdict_name(enum unit_verdict verdict)
{
    static const char *const names[] = {"fine", "slow", "undecided", "one_sitting"};

    return names[verdict];
}

static double mean_of(const struct unit *unit)
{
    double sum = 0;

    for (size_t i = 0; i < unit->count; i++)
        sum += unit->logs[i];
    return sum / (double)unit->count;
}

/* Mean squares between units and within them, with their degrees of freedom. */
struct squares {
    double between, within, df_between, df_within;
    double sittings; /* harmonic mean of a unit's */
};

static struct squares squares_of(const struct unit *units, size_t count)
{
    struct squares squares = {.df_between = (double)count - 1};
    double inverse = 0, mean = 0;

    for (size_t u = 0; u < count; u++) {
        mean += units[u].level / (double)count;
        inverse += 1 / (double)units[u].count;
        squares.df_within += (double)units[u].count - 1;
        for (size_t i = 0; i < units[u].count; i++)
            squares.within += pow(units[u].logs[i] - units[u].level, 2);
    }
    squares.sittings = (double)count / inverse;
    for (size_t u = 0; u < count; u++)
        squares.between += pow(units[u].level - mean, 2) * squares.sittings / squares.df_between;
    squares.within = squares.df_within > 0 ? squares.within / squares.df_within : NAN;
    return squares;
}

/* A variance with df degrees of freedom, by chi squared. */
static struct unit_spread spread_of(double variance, double df)
{
    const double tail = (1 - CONFIDENCE) / 2;

    return (struct unit_spread){sqrt(variance),
                                sqrt(variance / fisher_quantile(1 - tail, df, INFINITE_DF)),
                                sqrt(variance / fisher_quantile(tail, df, INFINITE_DF))};
}

/* Burdick and Graybill, section 3.3.2: their G, H and G12, H12 of either side. */
static struct unit_spread spread_between(const struct squares *squares)
{
    const double tail = (1 - CONFIDENCE) / 2, a = squares->between, b = squares->within;
    const double m = squares->df_between, k = squares->df_within;
    const double f_high = fisher_quantile(1 - tail, m, k), f_low = fisher_quantile(tail, m, k);
    const double g1 = 1 - 1 / fisher_quantile(1 - tail, m, INFINITE_DF);
    const double g2 = 1 - 1 / fisher_quantile(1 - tail, k, INFINITE_DF);
    const double h1 = 1 / fisher_quantile(tail, m, INFINITE_DF) - 1;
    const double h2 = 1 / fisher_quantile(tail, k, INFINITE_DF) - 1;
    const double g12 = (pow(f_high - 1, 2) - pow(g1 * f_high, 2) - h2 * h2) / f_high;
    const double h12 = (pow(1 - f_low, 2) - pow(h1 * f_low, 2) - g2 * g2) / f_low;
    const double below = pow(g1 * a, 2) + pow(h2 * b, 2) + g12 * a * b;
    const double above = pow(h1 * a, 2) + pow(g2 * b, 2) + h12 * a * b;
    const double lo = a - b - sqrt(fmax(below, 0)), hi = a - b + sqrt(fmax(above, 0));

    return (struct unit_spread){sqrt(fmax(a - b, 0) / squares->sittings),
                                sqrt(fmax(lo, 0) / squares->sittings),
                                sqrt(fmax(hi, 0) / squares->sittings)};
}

static double median_of(double *values, size_t count)
{
    order_sort_real(values, count);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double median_level(const struct unit *units, size_t count, double *room)
{
    for (size_t u = 0; u < count; u++)
        room[u] = units[u].level;
    return median_of(room, count);
}

/* Sittings with which a distance is seen with the wanted power at this level; 0: too many. */
static uint64_t needed_for(double distance, double sd, double level)
{
    const double ratio =
        (normal_quantile(1 - level) + normal_quantile(POWER)) * sd / fmax(fabs(distance), 1e-12);
    const double needed = ceil(ratio * ratio) + 1;

    return needed <= NEEDED_MAX ? (uint64_t)needed : 0;
}

/*
 * What the error of the median adds to a unit's: pi / 2 of that of a mean. The units' spread is
 * here that of the median absolute deviation, which slow units do not move, and never less than
 * sittings make it.
 */
static double median_variance(const struct unit *units, size_t count, const struct squares *squares,
                              double median, double *room)
{
    double spread;

    for (size_t u = 0; u < count; u++)
        room[u] = fabs(units[u].level - median);
    spread = MAD_TO_SD * median_of(room, count);
    return M_PI / 2 * fmax(spread * spread, squares->within / squares->sittings) / (double)count;
}

static void test_unit(struct unit *unit, const struct squares *squares, double limit,
                      double median_variance)
{
    const double error = sqrt(squares->within / (double)unit->count + median_variance);
    const double t = (unit->level - limit) / error;
    const double half = student_quantile((1 + CONFIDENCE) / 2, squares->df_within) * error;

    unit->verdict = unit->count > 1 ? UNIT_UNDECIDED : UNIT_ONE_SITTING;
    unit->lo = unit->level - half;
    unit->hi = unit->level + half;
    unit->p_slow = student_cdf(t, squares->df_within);
    unit->p_fine = student_cdf(-t, squares->df_within);
}

/* Benjamini and Hochberg among the units of several sittings: the largest p that is rejected. */
static double rejected_up_to(const double *p, size_t count, double fdr)
{
    for (size_t k = count; k > 0; k--)
        if (p[k - 1] <= fdr * (double)k / (double)count)
            return p[k - 1];
    return -1;
}

static void decide(struct unit *units, size_t count, double fdr, bool slow, double *room)
{
    size_t used = 0;
    double most;

    for (size_t u = 0; u < count; u++)
        if (units[u].verdict != UNIT_ONE_SITTING)
            room[used++] = slow ? units[u].p_slow : units[u].p_fine;
    order_sort_real(room, used);
    most = rejected_up_to(room, used, fdr);
    for (size_t u = 0; u < count; u++)
        if (units[u].verdict == UNIT_UNDECIDED &&
            (slow ? units[u].p_slow : units[u].p_fine) <= most)
            units[u].verdict = slow ? UNIT_SLOW : UNIT_FINE;
}

static enum status check(const struct unit *units, size_t count, double margin, double fdr,
                         struct error *err)
{
    bool fits = count >= UNITS_LEAST && margin > 0 && margin < 1 && fdr > 0 && fdr < 0.5;

    for (size_t u = 0; u < count; u++) {
        fits &= units[u].count > 0;
        for (size_t i = 0; i < units[u].count; i++)
            fits &= isfinite(units[u].logs[i]);
    }
    return fits ? STATUS_OK
                : error_set(err, STATUS_INVALID,
                            "a fleet is %d units or more with finite rates, judged at a margin "
                            "from 0 to 1 and a share of false discoveries from 0 to 0.5",
                            UNITS_LEAST);
}

/* Every unit has one sitting: nothing is known of what sittings share. */
static void leave_undecided(struct unit *units, size_t count, double median)
{
    for (size_t u = 0; u < count; u++) {
        units[u].level -= median;
        units[u].verdict = UNIT_ONE_SITTING;
        units[u].lo = units[u].hi = units[u].p_slow = units[u].p_fine = NAN;
    }
}

enum status units_judge(struct unit *units, size_t count, double margin, double fdr,
                        struct units_levels *ret, struct error *err)
{
    const double limit = log1p(-margin), nan = NAN;
    double off;
    AUTO_FREE double *room = calloc(count + 1, sizeof(*room));
    struct squares squares;

    TRY(check(units, count, margin, fdr, err));
    if (!room)
        return error_no_memory(err);
    for (size_t u = 0; u < count; u++) {
        units[u].level = mean_of(&units[u]);
        units[u].needed = 0;
    }
    squares = squares_of(units, count);
    *ret = (struct units_levels){.median = median_level(units, count, room),
                                 .units = {nan, nan, nan},
                                 .sittings = {nan, nan, nan},
                                 .df = squares.df_within};
    if (!(squares.df_within > 0)) {
        leave_undecided(units, count, ret->median);
        return STATUS_OK;
    }
    ret->sittings = spread_of(squares.within, squares.df_within);
    ret->units = spread_between(&squares);
    off = median_variance(units, count, &squares, ret->median, room);
    for (size_t u = 0; u < count; u++) {
        units[u].level -= ret->median;
        test_unit(&units[u], &squares, limit, off);
    }
    decide(units, count, fdr, true, room);
    decide(units, count, fdr, false, room);
    for (size_t u = 0; u < count; u++)
        if (units[u].verdict == UNIT_UNDECIDED)
            units[u].needed = needed_for(units[u].level - limit, sqrt(squares.within), fdr);
    return STATUS_OK;
}
