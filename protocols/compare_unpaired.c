#include "harness/core/cleanup.h"
#include "protocols/compare_unpaired.h"

#include <stdlib.h>

static size_t means_of(const struct estimate *estimate, double *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < estimate->trial_count; i++)
        if (estimate->trials[i].mean_ns.has_value)
            ret[count++] = estimate->trials[i].mean_ns.value;
    return count;
}

enum status unpaired_compare(const struct estimate *a, const struct estimate *b,
                             const struct compare_options *options, struct comparison *ret,
                             enum unpaired_basis *ret_basis, struct error *err)
{
    AUTO_FREE double *means = calloc(a->trial_count + b->trial_count + 1, sizeof(*means));
    size_t count_a, count_b;

    if (!means)
        return error_no_memory(err);
    count_a = means_of(a, means);
    count_b = means_of(b, means + a->trial_count);
    *ret_basis = count_a > 1 && count_b > 1 ? UNPAIRED_TRIALS : UNPAIRED_WITHIN;
    if (*ret_basis == UNPAIRED_TRIALS) {
        TRY(unpaired_analyze(means, count_a, means + a->trial_count, count_b, options, ret, err));
        comparison_round(ret, means[0], a->step_ns, b->step_ns);
    } else if (a->trial_count == 1 && b->trial_count == 1) {
        TRY(intervals_analyze(&a->trials[0].mean_ns, &b->trials[0].mean_ns, options, ret, err));
    } else {
        return error_set(err, STATUS_INVALID,
                         "%zu and %zu of their trials have a mean: it takes two of each, or a "
                         "single trial of each",
                         count_a, count_b);
    }
    return STATUS_OK;
}

const char *unpaired_caveat(enum unpaired_basis basis)
{
    return basis == UNPAIRED_TRIALS
               ? "not paired: drift between the two falls on one of them"
               : "one trial each: what differs between processes, often the larger part, is not in "
                 "this interval, and neither is drift between the two";
}
