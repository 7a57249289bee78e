/*
 * succession - whether a few values that were measured one after the other depend on their order.
 *
 * Levels of trials and differences of pairs are analysed as independent draws. A machine that warms
 * up over a campaign, or has busy hours, makes them a trend or makes neighbours alike, and then
 * their spread says too little about their mean. From 5 to 20 values a test sees only what is
 * plain: README.md ("The order of trials") has its power and what it cannot see.
 */
#ifndef ASSAY_PROTOCOLS_STATS_SUCCESSION_H
#define ASSAY_PROTOCOLS_STATS_SUCCESSION_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer values are not tested. */
#define SUCCESSION_LEAST 5
/* Fewer show a correlation of 0.5 in less than four of five series. */
#define SUCCESSION_MANY 30
/* What stands up to this correlation of neighbours needs no word about them. */
#define SUCCESSION_SURE 0.9

struct succession {
    bool tested;        /* false: too few values, or all alike; the rest is 0 then */
    double change;      /* of the fitted line, from the first value to the last */
    double error;       /* its standard error, with count - 2 degrees of freedom */
    double p_trend;     /* two-sided, by Student's t: no slope */
    double p_serial;    /* one-sided, by von Neumann's ratio: neighbours are not more alike */
    double correlation; /* of neighbours, corrected for its bias, in [0, 0.9] */
    bool trend, serial; /* which of the two is seen: by chance in 3 and in 2 of 100 */
    bool certain;       /* one of them is: by chance in fewer than 1 of 100 */
};

/*
 * Tests `count` finite values in the order in which they were measured, at equal distances. The
 * ratio of von Neumann (Annals of Mathematical Statistics 12 (1941), 367) has, for independent
 * normal values, the mean 2 and the variance 4 (n - 2) / (n^2 - 1) about which a symmetric beta
 * distribution between its ends 2 -+ 2 cos(pi / n) is fitted (L. C. Young, the same volume, 293);
 * the correlation is corrected as by Marriott and Pope (Biometrika 41 (1954), 390).
 */
struct succession succession_find(const double *values, size_t count);

/*
 * Of two series that are compared with each other: the chances of both together, by Fisher's
 * product ("Statistical Methods for Research Workers", 21.1), the changes added up, and the mean of
 * their correlations. Where one was not tested, the other. A trend is seen by chance in 1 of 100.
 */
struct succession succession_join(const struct succession *a, const struct succession *b);

/*
 * What was seen, for an interval of the mean: half of a trend's change, so that it reaches the
 * levels at both ends (0: no trend), in the unit of the values; and the square root of (1 + r) / (1
 * - r) for neighbours with the correlation r, which stretches a standard error (1: they are not
 * alike).
 */
double succession_shift(const struct succession *succession);
double succession_stretch(const struct succession *succession);
/* The latter for the largest correlation that is estimated, 0.9: sqrt(1.9 / 0.1). */
#define SUCCESSION_MOST_STRETCH 4.358898943540674
/* The half-width that admits the larger of both, where it is `half` under independence. */
double succession_half_width(const struct succession *succession, double half);

/* What looking at the order does to an interval of independent values, by chance. */
struct succession_widening {
    double factor; /* of the half-width, above 1 */
    double chance;
    bool certain;
};
#define SUCCESSION_WIDENINGS 48

/*
 * How often and how far the half-width of Student's interval for the mean, with this confidence, is
 * widened where `count` normal values are independent: groups of equal chance, by simulation with a
 * fixed seed (20 000 series; of more than 500 values, those of 500). Returns how many groups, 0
 * where nothing is tested. What is found by order is independent of the mean and the standard
 * deviation that are found (Basu, Sankhya 15 (1955), 377), since neither moves it.
 */
size_t succession_widenings(size_t count, double confidence,
                            struct succession_widening ret[SUCCESSION_WIDENINGS]);

/* The correlation that stretches a standard error by so much: (s^2 - 1) / (s^2 + 1). */
double succession_correlation_of(double stretch);

/*
 * How far the mean may be off where the order matters but is not seen, in the unit of the values:
 * the larger of half of the fitted change with its standard error, and of `half` with the
 * correlation that neighbours have. No interval, since it is too wide where values are independent;
 * what calls a mean well known must stay below it. `half` where nothing was tested.
 */
double succession_unseen(const struct succession *succession, double half);

#endif
