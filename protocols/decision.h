/*
 * decision - which of several options meet what is required, and which of those are no worse than
 * another in everything that counts, by intervals; and what would change that.
 *
 * Nothing is weighted. An option dominates another when it is shown to be no worse in every
 * objective and better in one (Pareto), where "shown" means for every value within the intervals,
 * and a difference within the margin, as a share of the larger of the two values, is none. What two
 * options share moves for both at once: a price that both pay, and the figures of one result that
 * both rest on. All else is taken for independent of each other, which never shows too much.
 */
#ifndef ASSAY_PROTOCOLS_DECISION_H
#define ASSAY_PROTOCOLS_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "protocols/cost.h"

#define DECISION_OPTIONS_MAX 16
#define DECISION_FIGURES_MAX 16
#define DECISION_PRICES_MAX 64 /* of one option */

/* ---- the declaration ---- */

/*
 *   decision: chat_server
 *   version: 1
 *   question: Which stack serves our load at the least cost?     # optional
 *   prices: prices.csv            # optional; files are looked for beside this one
 *   peaks: peaks.csv              # optional: declared peaks (results/formats/peak_sheet.h)
 *   assumptions: {as_of: 2026-11-01, discount: 0.05, pue: 1.3, utilisation: 0.6}
 *   margin: 0.01                  # differences that do not count (default 0.01)
 *   vary: [precision]             # what of their work the options differ in on purpose
 *   options:
 *     - {name: stack a, result: 9f2c41aa/1, item: card}
 *     - {name: stack b, result: 9f2c41aa/2, item: card, kind: cloud}
 *   requirements:                 # optional
 *     - {figure: e2e_p99, at_most: 2 s}
 *     - {contract: tender.yaml}
 *   objectives: [cost_per_million_good_tokens, goodput]
 *
 * A figure is a metric (protocols/metric.h), `error` (the largest measured error), `cost_per_hour`,
 * or what work costs (cost_works).
 */
struct declaration;

struct decision {
    struct declaration *declaration; /* heap; for decision_locate_key */
    json_t *json;                    /* what is stored; a contract stands in place of its file */
    struct digest digest;            /* of its canonical form */
    char *prices, *peaks;            /* paths; heap; NULL: none */
};

/* Reads and checks a declaration and its contracts. INVALID: "FILE:LINE: ...". */
enum status decision_load(const char *path, struct decision *ret, struct error *err);
/* Says of an error in what the file holds that `key` names ("prices"): file and line of the key. */
void decision_locate_key(const struct decision *decision, const char *key, struct error *err);
void decision_finish(struct decision *decision); /* takes a zeroed one */

/* What a name of a figure means. */
struct decision_figure {
    enum { FIGURE_METRIC, FIGURE_ERROR, FIGURE_COST } kind;
    enum metric_id metric;        /* also of a cost of work; METRIC_COUNT: none */
    const struct cost_work *work; /* of a cost; NULL: an hour's */
    bool lower_is_better;
};

/* INVALID: there is none of this name, or it is neither better when higher nor when lower. */
enum status decision_figure_find(const char *name, struct decision_figure *ret, struct error *err);

/*
 * Reads the limit of a requirement, in base units. `unit`: the metric's, or the currency of a cost;
 * NULL: not known yet.
 */
enum status decision_limit_read(const char *text, const struct decision_figure *figure,
                                const char *unit, double *ret, struct error *err);

/* ---- the answer ---- */

/* A price that an hour of an option has in it. */
struct decision_price {
    int64_t line;             /* of the sheet: the same in two options is one price */
    struct cost_range amount; /* of the sheet */
    struct cost_range each;   /* an hour's cost for an amount of 1 */
};

struct decision_option {
    size_t result; /* equal in options that rest on the same measurement */
    struct decision_price prices[DECISION_PRICES_MAX];
    size_t price_count;
    /* NAN: not known. Of a cost: hours that one unit of it takes, 1 of an hour's. */
    struct cost_range figures[DECISION_FIGURES_MAX];
    int met; /* enum decision_met of what is required besides (contracts, evidence) */
};

struct decision_requirement {
    size_t figure;
    bool at_most;
    double limit;
};

struct decision_problem {
    struct decision_option options[DECISION_OPTIONS_MAX];
    struct decision_figure figures[DECISION_FIGURES_MAX];
    struct decision_requirement requirements[DECISION_FIGURES_MAX];
    size_t objectives[DECISION_FIGURES_MAX]; /* indices of figures */
    size_t option_count, figure_count, requirement_count, objective_count;
    double margin; /* relative */
};

#define DECISION_MARGIN 0.01 /* where none is declared */

/* Whether limits are kept; in the order in which the worst of several counts. */
enum decision_met { DECISION_MISSED, DECISION_OPEN, DECISION_MET };
const char *decision_met_name(enum decision_met met);

/*
 * INFEASIBLE: misses a requirement. DOMINATED: by an option that meets all of them. NOT_DOMINATED:
 * by each option that may meet them it is shown to be better in something, or equal in everything.
 * NOT_SEPARABLE: neither is shown.
 */
#define DECISION_STANDING_MAP(X)                                                                   \
    X(INFEASIBLE, "infeasible")                                                                    \
    X(DOMINATED, "dominated")                                                                      \
    X(NOT_DOMINATED, "not_dominated")                                                              \
    X(NOT_SEPARABLE, "not_separable")
enum decision_standing {
#define DECISION_STANDING_ENUM(constant, name) DECISION_##constant,
    DECISION_STANDING_MAP(DECISION_STANDING_ENUM)
#undef DECISION_STANDING_ENUM
};
const char *decision_standing_name(enum decision_standing standing);

/*
 * DECIDED: one option is left, which meets all and is not dominated. TRADE_OFF: several, of
 * which none dominates another. OPEN: what was measured does not tell. NONE: no option is
 * left.
 */
#define DECISION_VERDICT_MAP(X)                                                                    \
    X(DECIDED, "decided")                                                                          \
    X(TRADE_OFF, "trade_off")                                                                      \
    X(UNDECIDED, "open")                                                                           \
    X(NONE, "none")
enum decision_verdict {
#define DECISION_VERDICT_ENUM(constant, name) DECISION_VERDICT_##constant,
    DECISION_VERDICT_MAP(DECISION_VERDICT_ENUM)
#undef DECISION_VERDICT_ENUM
};
const char *decision_verdict_name(enum decision_verdict verdict);

extern const struct type decision_met_type, decision_standing_type, decision_verdict_type;

struct decision_answer {
    enum decision_met requirements[DECISION_OPTIONS_MAX][DECISION_FIGURES_MAX];
    enum decision_met met[DECISION_OPTIONS_MAX];
    enum decision_standing standings[DECISION_OPTIONS_MAX];
    bool dominates[DECISION_OPTIONS_MAX][DECISION_OPTIONS_MAX]; /* first the second */
    enum decision_verdict verdict;
};

/* The figure of an option, costs in the sheet's currency. */
struct cost_range decision_range(const struct decision_problem *problem, size_t option,
                                 size_t figure);
void decision_judge(const struct decision_problem *problem, struct decision_answer *ret);

/* ---- what would change it ---- */

struct decision_change {
    enum { CHANGE_PRICE, CHANGE_METRIC, CHANGE_LIMIT, CHANGE_MARGIN } kind;
    int64_t line;          /* of a price, with its bounds */
    size_t option;         /* whose metric, with its interval and what it costs */
    enum metric_id metric; /* METRIC_COUNT: the error */
    size_t requirement;    /* whose limit */
};

#define DECISION_FACTOR_MAX 10

/*
 * The factor nearest to 1, up to DECISION_FACTOR_MAX or down to its inverse, by which the quantity
 * must be multiplied for a standing to change, and what is so then. Found in steps of 2 %: an
 * answer that changes and changes back within one is not seen. False: there is none.
 */
bool decision_flip(const struct decision_problem *problem, const struct decision_change *change,
                   bool up, double *ret_factor, struct decision_answer *ret);

#endif
