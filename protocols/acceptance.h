/*
 * acceptance - whether what was measured bears out what was declared, with the risks of both
 * parties declared beforehand.
 *
 * Two quality levels, as in ISO 2859-4:2020 and ISO 3951-4:2011: the declared one, which a supplier
 * claims and which must not be contradicted where it is true (risk alpha, the supplier's), and the
 * limiting one, which must not be accepted (risk beta, the buyer's). Between trials, values are
 * taken for lognormal, so that both tests are Student's on logarithms; their power is that of the
 * noncentral t (Johnson and Welch, Biometrika 31, 1940). Units that conform or not are counted:
 * exact binomial tests, which with no failure are the success-run plans (29 units show 90 %, 59
 * show 95 % with a confidence of 95 %).
 *
 * All items of a contract must be accepted. That is an intersection-union test, whose risk to the
 * buyer is at most that of one item (Berger, Technometrics 24, 1982): nothing is corrected.
 */
#ifndef ASSAY_PROTOCOLS_ACCEPTANCE_H
#define ASSAY_PROTOCOLS_ACCEPTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/type.h"
#include "protocols/stats/succession.h"

/* More trials or units are not planned. */
#define ACCEPTANCE_MAX 100000

enum acceptance_verdict { ACCEPTANCE_ACCEPTED, ACCEPTANCE_REJECTED, ACCEPTANCE_INCONCLUSIVE };

/* "accepted", "rejected", "inconclusive". */
const char *acceptance_verdict_name(enum acceptance_verdict verdict);
extern const struct type acceptance_verdict_type;

/* What is claimed of a positive figure. `declared` is better than `limiting`. */
struct acceptance_rule {
    double declared, limiting;
    double alpha, beta; /* above 0, below 0.5 */
    bool at_most;       /* lower is better */
};

/* A figure with its two-sided interval by t between `trials` >= 2 trials, on a log scale. */
struct acceptance_measured {
    double value, lo, hi;
    double confidence; /* of the interval, e.g. 0.95 */
    uint64_t trials;
};

/*
 * The one-sided bounds of the figure, and what follows:
 *   best   no better than that, with confidence 1 - alpha: rejected where `declared` is better yet
 *   worst  no worse than that, with confidence 1 - beta: accepted where it is not rejected and
 *          `limiting` is worse yet
 * So a true claim is rejected with probability alpha, and what is at the limiting quality accepted
 * with beta at most. Else inconclusive: the trials do not tell declared from limiting. `ret_best`
 * and `ret_worst` are NAN without an interval or with fewer than 2 trials.
 */
enum acceptance_verdict acceptance_judge(const struct acceptance_rule *rule,
                                         const struct acceptance_measured *measured,
                                         double *ret_best, double *ret_worst);

/*
 * Trials are taken for independent. Up to which correlation of those that follow each other a
 * verdict stands that `bound` (worst where it was accepted, best where rejected) makes of a level
 * (limiting or declared): where the bound, its distance from the value stretched by sqrt((1 + r) /
 * (1 - r)), reaches the level. NAN for figures that are not above 0 or not apart.
 */
double acceptance_holds_to(double value, double bound, double level);

/* What is to be measured. */
struct acceptance_plan {
    double sd; /* above 0: the logarithm of the figure varies by that between trials */
    uint64_t trials;
    double margin; /* of the protocol (protocol.h), e.g. 0.01 */
    /* What looking at the order of the trials does to the bounds, by chance. */
    struct succession_widening widenings[SUCCESSION_WIDENINGS];
    size_t widening_count;
};

/* `trials` >= 2. Takes 10 ms for 10 trials and up to half a second for 500 and more. */
struct acceptance_plan acceptance_plan_make(double sd, uint64_t trials, double margin);

struct acceptance_chances {
    double accepted, rejected; /* the rest is inconclusive */
};

/*
 * The operating characteristic: the chances of both verdicts where the figure is `truth` and trials
 * are independent. Both tests are of one mean and deviation: a normal probability, averaged over
 * the chi distribution of the deviation and over what the order of the trials does to the interval
 * (estimate.h): it is wider, and decides nothing where it certainly matters and the half-width
 * exceeds the margin. Absolute error 0.003, by the simulation of that order.
 */
struct acceptance_chances acceptance_chances(const struct acceptance_rule *rule,
                                             const struct acceptance_plan *plan, double truth);

/*
 * The fewest trials, within 2 %, for which what is at the limiting quality is rejected with 1 -
 * beta, and what is as declared is shown with 1 - alpha to be better than limiting. 0: more than
 * ACCEPTANCE_MAX.
 */
uint64_t acceptance_trials(const struct acceptance_rule *rule, double sd, double margin);

/* A fleet, of which each unit conforms or not. */
struct acceptance_fleet {
    double declared; /* share of units that conform, claimed; at least `share` */
    double share;    /* limiting share, above 0, below 1 */
    double alpha, beta;
};

/*
 * `failed` of `units` do not conform. Accepted where so few failures come with a chance of at most
 * beta from a fleet of the limiting share: P(Bin(n, 1 - share) <= failed) <= beta; rejected where
 * so many come with a chance of at most alpha from one as declared.
 */
enum acceptance_verdict acceptance_judge_units(const struct acceptance_fleet *fleet, uint64_t units,
                                               uint64_t failed);

/* The fewest units that show the share with so many failures; 0: more than ACCEPTANCE_MAX. */
uint64_t acceptance_units(const struct acceptance_fleet *fleet, uint64_t failed);

/* The chances of both verdicts where `truth` is the share of units that conform. */
struct acceptance_chances acceptance_fleet_chances(const struct acceptance_fleet *fleet,
                                                   uint64_t units, double truth);

#endif
