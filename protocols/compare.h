/*
 * compare - is b faster than a, slower, equal, or is that unknown?
 *
 * Everything works on differences of logarithms, d = log b - log a, of times per unit of work, so
 * the ratio is b / a in time: a ratio of 0.95 means that b takes 5 % less time, and the verdict is
 * COMPARE_FASTER: b is faster than a. (For rates, hand in 1 / rate.)
 *
 * The rule, in this order:
 *   equivalent   the 90 % interval lies inside +-log(1 + margin): two one-sided tests at 5 % each
 *                (Schuirmann, "A comparison of the two one-sided tests procedure ...", J.
 *                Pharmacokinetics and Biopharmaceutics 15 (1987))
 *   faster, slower   the 95 % interval excludes no difference
 *   inconclusive     neither; `needed_pairs` says how many a decision takes
 * A difference that is real but within the margin is equivalent, and `differs` shows it.
 *
 * Where all differences are alike to the last digit, t has no spread to go by, and two such pairs
 * would seem to prove anything. The rule is the same then with the test of signs (Dixon and Mood,
 * J. Am. Stat. Assoc. 41 (1946)) in the place of t: n alike pairs have p = 2^(1 - n), so at 95 %
 * six show a difference and five an equivalence. Without pairs it is the order of all trials
 * (Wilcoxon, Biometrics Bulletin 1 (1945)): p = 2 / C(n_a + n_b, n_a); four and four, and three and
 * three.
 */
#ifndef ASSAY_PROTOCOLS_COMPARE_H
#define ASSAY_PROTOCOLS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "protocols/estimate.h"

/*
 * Logs of times whose standard deviation is below it are alike: rounding in their last place makes
 * as much. Times of an hour in ns have logarithms up to 29.
 */
#define COMPARE_NO_SPREAD 1e-13

enum compare_verdict {
    COMPARE_FASTER, /* b takes less time than a */
    COMPARE_SLOWER,
    COMPARE_EQUIVALENT,
    COMPARE_INCONCLUSIVE
};

/*
 * X(constant, name): what is compared. Results of servers at a rate compare by the last two
 * (protocols/serving/change.h); TIME stands for attainment with them, since the time of a request
 * says little of a server that refuses some.
 */
#define COMPARE_FIGURE_MAP(X)                                                                      \
    X(TIME, "time")                                                                                \
    X(ATTAINMENT, "attainment")                                                                    \
    X(CAPACITY, "capacity")

enum compare_figure {
#define COMPARE_FIGURE_ENUM(code, name) COMPARE_##code,
    COMPARE_FIGURE_MAP(COMPARE_FIGURE_ENUM)
#undef COMPARE_FIGURE_ENUM
        COMPARE_FIGURE_COUNT
};

/* Stable name ("time"). */
const char *compare_figure_name(enum compare_figure figure);
extern const char *const compare_figure_names[COMPARE_FIGURE_COUNT];
/* COMPARE_FIGURE_COUNT: no such name; NULL is none. */
enum compare_figure compare_figure_find(const char *name);

/* What is asked, fixed before the data are seen. */
struct compare_options {
    double confidence; /* of the interval, e.g. 0.95; the two one-sided tests take 1 - that each */
    double margin;     /* delta, relative, e.g. 0.01 */
    double power;      /* that needed_pairs aims at, e.g. 0.8 */
    enum compare_figure figure; /* of stored results; 0: time */
};
struct compare_options compare_options_default(void);

struct comparison {
    enum compare_verdict verdict;
    bool paired;
    enum estimate_centre centre;          /* of each trial; set by whoever made the numbers */
    size_t count_a, count_b;              /* equal when paired */
    struct estimate_interval ratio;       /* b / a; interval at `confidence` */
    struct estimate_interval equivalence; /* the same at 1 - 2 (1 - confidence), for the margin */
    double confidence, margin;
    double sd;            /* of one difference of logs (unpaired: of the two arms together) */
    double df;            /* degrees of freedom of t */
    double p_difference;  /* two-sided, of no difference; NAN when unknown */
    double p_equivalence; /* of a difference outside the margin; NAN when unknown */
    double p_worse;       /* one-sided, of b being slower by no more than the margin; likewise */
    bool no_spread;       /* all differences are alike: decided by signs (or orders), not by t */
    bool differs;         /* the interval of the ratio excludes 1 */
    /* What the interval admits beside the spread: by which share rounded values may move the ratio;
       how the ratio changed from the first pair to the last, as a share (unpaired: the levels of
       both arms from the first trial to the last, together), and how alike pairs (trials) that
       follow each other are, where that is seen. 0: none. */
    double rounding, order_change, order_correlation;
    /* The interval would decide, but pairs (trials) are not independent: the verdict would not
       stand a trend that goes on from a to b as within them, or a correlation of 0.9. Inconclusive.
     */
    bool undetermined;
    /* Paired, where it depends on the arm that ran first: the ratio of the pairs in which a did,
       and in which b did. 0: that is not seen, or not known. */
    double ratio_a_first, ratio_b_first;
    /* Pairs (trials) are taken for independent. The verdict stands up to this correlation of those
       that follow each other, which stretches the standard error by sqrt((1 + r) / (1 - r)); 0: it
       is inconclusive, or does not rest on the spread. Of a family's comparison, by itself. */
    double holds_to;
    size_t family; /* comparisons that were judged together; 0: it was judged alone */
    /* Where family > 0: the verdict without the others; adjusted by Holm; by Benjamini, Hochberg.
     */
    enum compare_verdict verdict_alone;
    double p_difference_family, p_equivalence_family, p_worse_family;
    double q_difference;
    uint64_t needed_pairs; /* pairs (unpaired: trials an arm) that would settle an inconclusive one:
                              that find a difference of the margin, or, where there are as many
                              already, that distinguish the observed one from none or from the
                              margin; 0: settled, or unknown */
};

const char *compare_verdict_name(enum compare_verdict verdict);

/*
 * Which side of the margin the whole interval of the ratio lies on: 1, b is slower by more than the
 * margin; -1, faster by more; 0, neither is shown. A verdict of faster or slower says only that
 * there is a difference: it may still be one that the margin allows.
 */
int comparison_beyond_margin(const struct comparison *comparison);

/*
 * Which p a family's verdict rests on, and is shown with: true, that of the equivalence; false,
 * that of the difference. Of an inconclusive verdict the one that decided without the family.
 */
bool comparison_tests_equivalence(const struct comparison *comparison);

/*
 * Appends "about 40 pairs needed for a decision" (unpaired: trials an arm); where that is beyond
 * reason (FINDING_TRIALS_REASONABLE), what so many would show instead. False, and nothing, where it
 * is not known or not needed.
 */
bool comparison_append_needed(const struct comparison *comparison, struct text *ret);

/*
 * Paired: a[k] and b[k] were measured side by side (by protocol: both in fresh processes, in random
 * order). t on count - 1. One pair gives a ratio without interval and is inconclusive. INVALID for
 * values that are not finite and positive, or for options out of range; NO_MEMORY.
 *
 * The pairs are in the order in which they were measured: a trend of their ratio, or likeness of
 * neighbours, widens the interval where it is certain (stats/succession.h). Values that are rounded
 * in steps q about as wide as their spread sd, or wider, have means that are off by up to q/2
 * exp(-2 pi^2 sd^2 / q^2) (the first term of Widrow and Kollar, "Quantization Noise" (2008), 5.4,
 * for normal values; q/2 without any spread): the interval admits that of both arms. The step is
 * the least distance between two different values; where they are not rounded, that is far less
 * than their spread.
 */
enum status paired_analyze(const double *a, const double *b, size_t count,
                           const struct compare_options *options, struct comparison *ret,
                           struct error *err);

/*
 * The same where it is known of each pair whether b ran before a (`b_first`; NULL: not known). If
 * the ratio depends on that, which chance explains in 1 of 100 (stats/crossover.h), the interval
 * reaches what either half of the pairs says, since an arm may profit from the other before it.
 */
enum status crossover_analyze(const double *a, const double *b, const bool *b_first, size_t count,
                              const struct compare_options *options, struct comparison *ret,
                              struct error *err);

/*
 * Unpaired: trial estimates of two stored results; Welch's t (Biometrika 34 (1947)) on their logs.
 * Drift between the two is not controlled, and views of it must say so. Errors and rounding as
 * above.
 */
enum status unpaired_analyze(const double *a, size_t count_a, const double *b, size_t count_b,
                             const struct compare_options *options, struct comparison *ret,
                             struct error *err);

/*
 * Unpaired, by the interval of each alone, made at `confidence` of the options within one trial.
 * Each standard error is taken from the interval as if it were a normal one, which makes it no
 * smaller than it is. Neither includes differences between processes, and views of it must say so.
 * INVALID for intervals that are not there or not above 0.
 */
enum status intervals_analyze(const struct estimate_interval *a, const struct estimate_interval *b,
                              const struct compare_options *options, struct comparison *ret,
                              struct error *err);

/*
 * What is added to an unpaired comparison where it is known how far results of the same thing lie
 * apart from one session to the next: `sd_log`, the standard deviation of their log times on `df`
 * degrees of freedom. Two of them differ by no more than t sqrt(2) sd_log (ISO 5725-6, the limit of
 * intermediate precision; what trials of one session differ by is in it). Each interval becomes the
 * wider of both, and the rule above is applied to these. Unchanged where the comparison has no
 * interval, or sd_log or df is not a number above 0.
 */
void comparison_widen(struct comparison *comparison, double sd_log, double df);

/*
 * What the clock leaves of a comparison without spread, whose times are all alike: each is known to
 * half a step only, so that both intervals reach from (b - step / 2) / (a + step / 2) to
 * (b + step / 2) / (a - step / 2), and the verdict is by these. `a_ns` is a time of a; the
 * steps are of the clock in a and in b, as struct estimate has them. NAN, all samples are alike:
 * the step is what divides both times, and where they are the same, nothing is known of it; then
 * there is no interval, and the verdict is inconclusive. Unchanged where either is 0, unknown, and
 * for comparisons with spread.
 */
void comparison_round(struct comparison *comparison, double a_ns, double step_a_ns,
                      double step_b_ns);

/* The longest step that `count` times of each arm, in ns, are multiples of; NAN: all are the same.
 */
double comparison_step_of(const double *a, const double *b, size_t count);

/* What must be said with a comparison without spread. Static. */
const char *comparison_alike_words(const struct comparison *comparison);

/* As JSON. Read again, `paired` and the version are not of it. */
extern const struct type comparison_type;
/* The chance that all signs of `count` differences are one of both by themselves: 2^(1 - count). */
double comparison_chance_of_signs(double count);

/* Power of the two-sided paired t test at `confidence` for a true log difference (noncentral t). */
double paired_power(double pairs, double sd_difference, double difference, double confidence);

/*
 * Power of the equivalence verdict for a true log difference: the chance that the interval of the
 * two one-sided tests lies inside +-log_margin.
 */
double paired_equivalence_power(double pairs, double sd_difference, double difference,
                                double log_margin, double confidence);

/*
 * Least number of pairs whose test finds a log difference with `power`, by noncentral t. At least
 * 2; 0 when no number up to 10^7 is enough or the sd is not known. Where the sd was estimated on
 * `df` degrees of freedom (COMPARE_KNOWN: it is known) the power is the mean over what sigma^2 may
 * then be, sd^2 df / chi^2 (Julious and Owen, "Sample size calculations for clinical studies
 * allowing for uncertainty about the variance", Pharmaceutical Statistics 5 (2006)).
 */
uint64_t paired_needed(double sd_difference, double df, double difference, double confidence,
                       double power);

/*
 * Least number of trials whose t interval of the mean is within +-log_half_width with the chance
 * `assurance`; 0 as above. `sd` was estimated on `df` degrees of freedom (COMPARE_KNOWN: it is
 * known), and the trials will have an sd of their own: the ratio of the two variances is F on n - 1
 * and df (Kupper and Hafner, "How Appropriate Are Popular Sample Size Formulas?", The American
 * Statistician 43 (1989); Grieve, Statistics in Medicine 10 (1991), for an estimated sd). The point
 * estimate alone would fall short in half of the cases or more.
 */
uint64_t trials_needed(double sd, double df, double log_half_width, double confidence,
                       double assurance);

/*
 * What the true sd does not exceed with the chance `assurance`, where `sd` was estimated on `df`
 * degrees of freedom: the upper confidence bound by chi squared.
 */
double sd_with_assurance(double sd, double df, double assurance);

/* Degrees of freedom of an sd that is given, not estimated. */
#define COMPARE_KNOWN 1e7

/*
 * Adjusted p values of a family into `ret` (may be `p`). NaN counts as 1. NO_MEMORY.
 *
 * holm: what is called a difference where the adjusted value is at most alpha holds, with a chance
 * of at least 1 - alpha, no false one, however the tests depend on each other (Holm, Scandinavian
 * Journal of Statistics 6 (1979)). For verdicts.
 * screen: of what is called a difference up to q, at most the share q is false on average
 * (Benjamini and Hochberg, JRSS B 57 (1995)). For choosing what to look at next.
 */
enum status family_holm(const double *p, size_t count, double *ret, struct error *err);
enum status family_screen(const double *p, size_t count, double *ret, struct error *err);

/*
 * Judges comparisons that are read together: the rule at the top, with the p values adjusted by
 * Holm, for differences and for equivalences. All have the same confidence. The intervals stay
 * those of each comparison alone. A family of one keeps its verdict. One that has no numbers yet
 * counts in the family by p values of NAN. NO_MEMORY.
 */
enum status comparison_family(struct comparison *list, size_t count, struct error *err);

#endif
