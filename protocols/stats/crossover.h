/*
 * crossover - whether differences of pairs depend on which arm of the pair ran first.
 *
 * A second run that is slower, or faster, than a first one adds to one half of the pairs what it
 * takes from the other. So does an arm that profits or suffers from the other before it, and that
 * does not cancel: the mean of all pairs is off by half of it. Differences alone do not tell one
 * from the other (Grizzle, Biometrics 21 (1965), 467; Jones and Kenward, "Design and Analysis of
 * Cross-Over Trials" (2014), chapter 2), and a test of the sums, which would, has little power
 * (Freeman, Statistics in Medicine 8 (1989), 1421). What is known is that either half may be right.
 */
#ifndef ASSAY_PROTOCOLS_STATS_CROSSOVER_H
#define ASSAY_PROTOCOLS_STATS_CROSSOVER_H

#include <stdbool.h>
#include <stddef.h>

struct crossover {
    bool tested;    /* false: fewer than two pairs of either order; the rest is 0 then */
    double a_first; /* mean difference of the pairs in which a ran first */
    double b_first; /* of the others */
    double reach;   /* how far the further of both is from the mean of all */
    double p;       /* two-sided, of both being alike: Student's t, one variance for both */
    bool seen;      /* by chance in 1 of 100 */
};

/* Of `count` finite differences; `b_first`: of each, whether b ran before a; NULL: not known. */
struct crossover crossover_find(const double *differences, const bool *b_first, size_t count);

#endif
