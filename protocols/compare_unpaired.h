/* compare_unpaired - two estimates of samples compared, for `assay analyze --baseline`. */
#ifndef ASSAY_PROTOCOLS_COMPARE_UNPAIRED_H
#define ASSAY_PROTOCOLS_COMPARE_UNPAIRED_H

#include "harness/core/status.h"
#include "protocols/compare.h"
#include "protocols/estimate.h"

/* What a comparison rests on, and so what it leaves out. */
enum unpaired_basis { UNPAIRED_TRIALS, UNPAIRED_WITHIN };

/*
 * Compares two estimates: by Welch's t on the means of their trials where both have two trials or
 * more with one, else by the interval within the single trial of each. INVALID says why neither can
 * be done.
 */
enum status unpaired_compare(const struct estimate *a, const struct estimate *b,
                             const struct compare_options *options, struct comparison *ret,
                             enum unpaired_basis *ret_basis, struct error *err);

/* What must be reported with it: drift, and where there is one trial each, other processes. Static.
 */
const char *unpaired_caveat(enum unpaired_basis basis);

#endif
