/*
 * units - which units of a fleet are slow: several of one device, each measured in several
 * sittings.
 *
 * The log of a rate is the fleet's level, plus the unit's, plus the sitting's (heat, neighbours,
 * memory layout of that hour), which has what trials of one sitting share and so what more trials
 * do not show. A unit is slow where its level lies below that of the fleet's median times
 * (1 - margin); that is tested for each by Student's t with the spread of sittings pooled over the
 * units (a nested analysis of variance) and the error of the median, and all units are judged
 * together by the procedure of Benjamini and Hochberg (JRSS B 57 (1995), theorem 1): of the units
 * that it calls slow at most the share `fdr` is expected not to be. In the same way a unit is fine
 * where it is shown to lie above. A distribution of units is not assumed: outliers by the
 * population's own spread are not asked for, since of a skewed one they would be many.
 *
 * The spread between units: (MS_units - MS_sittings) / n with the interval of the modified large
 * sample (Burdick and Graybill, "Confidence Intervals on Variance Components" (1992),
 * section 3.3.2), n the harmonic mean of the sittings of a unit where they differ.
 */
#ifndef ASSAY_PROTOCOLS_UNITS_H
#define ASSAY_PROTOCOLS_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

/* Fewer units have no median that says anything of the fleet. */
#define UNITS_LEAST 3

enum unit_verdict {
    UNIT_FINE,
    UNIT_SLOW,
    UNIT_UNDECIDED,  /* `needed` sittings would probably decide */
    UNIT_ONE_SITTING /* one sitting deceives: measure it again */
};
const char *unit_verdict_name(enum unit_verdict verdict);

struct unit {
    const double *logs; /* of its rate, a sitting each; higher is better */
    size_t count;       /* 1 or more */
    /* Made by units_judge: */
    enum unit_verdict verdict;
    double level;  /* mean of the logs less the median of all units' */
    double lo, hi; /* its 95 % interval; NAN: one sitting */
    double p_slow, p_fine;
    uint64_t needed; /* sittings with which it is decided with a chance of 80 %; 0: more than 1000,
                        or decided */
};

/* A standard deviation of logs with its 95 % interval; NAN: not known. */
struct unit_spread {
    double sd, lo, hi;
};

struct units_levels {
    double median; /* of the units' mean logs */
    struct unit_spread units, sittings;
    double df; /* degrees of freedom of the spread of sittings; 0: every unit has one sitting */
};

/*
 * Judges `count` >= UNITS_LEAST units at a margin in (0, 1) and an expected share `fdr` of false
 * discoveries in (0, 0.5). INVALID: out of range, or a log that is not finite; NO_MEMORY.
 */
enum status units_judge(struct unit *units, size_t count, double margin, double fdr,
                        struct units_levels *ret, struct error *err);

#endif
