#include "protocols/cost.h"

#include <math.h>
#include <string.h>

#define M(name) MEMBER(struct cost_range, REAL, name)
static const struct member range_members[] = {M(value), M(lo), M(hi)};
#undef M
const struct type cost_range_type =
    TYPE(struct cost_range, "a range", range_members, .def = "range");

static const char *const kinds[] = {
#define PRICE_KIND_NAME(constant, name, ...) [PRICE_##constant] = name,
    PRICE_KIND_MAP(PRICE_KIND_NAME)
#undef PRICE_KIND_NAME
};

static const char *const units[] = {
    [PRICE_EACH] = "each", [PRICE_HOUR] = "hour", [PRICE_KWH] = "kWh", [PRICE_MONTH] = "month"};

const char *price_kind_name(enum price_kind kind)
{
    return kinds[kind];
}

static int find(const char *const *names, int count, const char *name)
{
    int i = 0;

    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

enum price_kind price_kind_find(const char *name)
{
    return (enum price_kind)find(kinds, PRICE_KIND_COUNT, name);
}

enum price_unit price_unit_find(const char *name)
{
    return (enum price_unit)find(units, PRICE_UNIT_COUNT, name);
}

const struct cost_work cost_works[COST_WORKS] = {
    {"cost_per_million_good_tokens", METRIC_GOOD_TOKEN_RATE, 1e6, "million good tokens"},
    {"cost_per_million_good_requests", METRIC_GOODPUT, 1e6, "million good requests"},
    {"cost_per_million_items", METRIC_ITEM_RATE, 1e6, NULL},
    {"cost_per_1000_iterations", METRIC_ITERATION_TIME, 1e3, "1000 iterations"},
    {"cost_per_1e18_operations", METRIC_OP_RATE, 1e18, "1e18 operations"},
    {"cost_per_petabyte", METRIC_BYTE_RATE, 1e15, "PB moved"},
};

struct cost_range cost_rate(enum metric_id metric, const struct cost_range *value)
{
    return metric == METRIC_ITERATION_TIME
               ? (struct cost_range){1e9 / value->value, 1e9 / value->hi, 1e9 / value->lo}
               : *value;
}

double cost_recovery_factor(double discount, double years)
{
    /* expm1 and log1p keep the digits where the discount is small. */
    return discount > 0 ? discount / -expm1(-years * log1p(discount)) : 1 / years;
}

static double hourly(const struct price *price, double amount, double watts,
                     const struct cost_assumptions *assumptions)
{
    const double left = price->residual * exp(-price->years * log1p(assumptions->discount));

    switch (price->unit) {
    case PRICE_EACH:
        return amount * (1 - left) * cost_recovery_factor(assumptions->discount, price->years) /
               price->devices / COST_HOURS_A_YEAR;
    case PRICE_MONTH:
        return 12 * amount / price->devices / COST_HOURS_A_YEAR;
    case PRICE_HOUR:
        return amount / price->devices;
    case PRICE_KWH:
        return amount * assumptions->pue * watts / 1000 * assumptions->utilisation;
    default:
        return NAN;
    }
}

struct cost_range cost_hourly(const struct price *price, const struct cost_range *watts,
                              const struct cost_assumptions *assumptions)
{
    return (struct cost_range){hourly(price, price->amount.value, watts->value, assumptions),
                               hourly(price, price->amount.lo, watts->lo, assumptions),
                               hourly(price, price->amount.hi, watts->hi, assumptions)};
}

struct cost_range cost_of_work(const struct cost_range *hour, const struct cost_range *rate,
                               double quantity, const struct cost_assumptions *assumptions,
                               double *ret_measured)
{
    const double scale = quantity / (3600 * assumptions->utilisation);
    const double measured = log(rate->hi / rate->lo), priced = log(hour->hi / hour->lo);

    *ret_measured = measured + priced > 0 ? measured / (measured + priced) : NAN;
    return (struct cost_range){hour->value / rate->value * scale, hour->lo / rate->hi * scale,
                               hour->hi / rate->lo * scale};
}
