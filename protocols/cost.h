/*
 * cost - what an hour of a device costs, and what a unit of its work costs.
 *
 * Capital is spread over its years by the capital recovery factor; a residual value is discounted
 * first (Blank and Tarquin, Engineering Economy, "Capital recovery"). Amounts are in one currency,
 * which this file does not need to know.
 */
#ifndef ASSAY_PROTOCOLS_COST_H
#define ASSAY_PROTOCOLS_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/type.h"
#include "protocols/metric.h"

#define COST_HOURS_A_YEAR 8760.0

/* X(constant, name, what it is) */
#define PRICE_KIND_MAP(X)                                                                          \
    X(DEVICE, "device", "the device itself")                                                       \
    X(HOST, "host", "the machine that holds it")                                                   \
    X(NETWORK, "network", "switches, cables")                                                      \
    X(CLOUD, "cloud", "a rented device, all included")                                             \
    X(ENERGY, "energy", "a kilowatt hour")                                                         \
    X(COLOCATION, "colocation", "room, cooling, power connection")                                 \
    X(STAFF, "staff", "operation")                                                                 \
    X(LICENCE, "licence", "software")

enum price_kind {
#define PRICE_KIND_ENUM(constant, ...) PRICE_##constant,
    PRICE_KIND_MAP(PRICE_KIND_ENUM)
#undef PRICE_KIND_ENUM
        PRICE_KIND_COUNT
};

enum price_unit { PRICE_EACH, PRICE_HOUR, PRICE_KWH, PRICE_MONTH, PRICE_UNIT_COUNT };

const char *price_kind_name(enum price_kind kind);
/* PRICE_KIND_COUNT, PRICE_UNIT_COUNT: there is none of this name. */
enum price_kind price_kind_find(const char *name);
enum price_unit price_unit_find(const char *name);

/* A value between bounds; NAN: not known. */
struct cost_range {
    double value, lo, hi;
};
extern const struct type cost_range_type;

/* One row of a price sheet. */
struct price {
    enum price_kind kind;
    enum price_unit unit;
    struct cost_range amount; /* a unit; never negative */
    double years;             /* that capital (EACH) is spread over */
    double residual;          /* share of the price that it is worth after them, 0 to 1 */
    double devices;           /* that one of it serves, at least 1 */
};

struct cost_assumptions {
    double discount;    /* a year, e.g. 0.05; 0: none */
    double pue;         /* power of the whole building over that of its machines, at least 1 */
    double utilisation; /* share of all hours in which the device does this work, above 0 to 1 */
};

/* What is priced: so much of what the metric counts. */
struct cost_work {
    const char *name; /* "cost_per_million_good_tokens" */
    enum metric_id metric;
    double quantity;
    const char *per; /* "million good tokens"; NULL: a million of the result's own items */
};
#define COST_WORKS 6
extern const struct cost_work cost_works[COST_WORKS];
/* A second's work, of the metric's value; a time's bounds change places. */
struct cost_range cost_rate(enum metric_id metric, const struct cost_range *value);

/* What a year's payment of 1 at `discount` is worth today, over `years`, as 1 over that sum:
 * r (1 + r)^y / ((1 + r)^y - 1), and 1 / y without a discount. */
double cost_recovery_factor(double discount, double years);

/*
 * What a price makes an hour of one device cost, whether it works or not:
 *   EACH   amount (1 - residual / (1 + r)^y) CRF(r, y) / devices / 8760
 *   MONTH  12 amount / devices / 8760
 *   HOUR   amount / devices
 *   KWH    amount PUE W / 1000 times the share of hours in which it works; `watts` is the device's
 *          mean power at this work, NAN where it is not known: then so is the cost
 */
struct cost_range cost_hourly(const struct price *price, const struct cost_range *watts,
                              const struct cost_assumptions *assumptions);

/*
 * What `quantity` units of work cost at `rate` units a second: hourly / (3600 utilisation rate)
 * quantity. Bounds are those of the dearest hour at the slowest rate and the reverse; unknown
 * bounds of either give none. `ret_measured`: the share of the logarithmic width between them that
 * comes from the rate's, the rest being the prices'; NAN without a width.
 */
struct cost_range cost_of_work(const struct cost_range *hourly, const struct cost_range *rate,
                               double quantity, const struct cost_assumptions *assumptions,
                               double *ret_measured);

#endif
