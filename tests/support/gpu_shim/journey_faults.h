/*
 * journey_faults - every function of a vendor's library fails in turn, at each of its calls in a
 * journey: for test_cuda_faults.c and similar tests. What must not happen fails the test.
 */
#ifndef ASSAY_TESTS_GPU_SHIM_JOURNEY_FAULTS_H
#define ASSAY_TESTS_GPU_SHIM_JOURNEY_FAULTS_H

#include "tests/support/gpu_shim/journey.h"

struct journey_faults {
    /* A whole journey in which `function` fails at its `n`-th call with `code`, as journey_run. */
    struct journey_outcome (*run)(const char *function, int n, int code);
    /* Ending in NULL. Not tested: they cannot fail, or only describe failures. */
    const char *const *uncounted;
    /* Ending in NULL. Tolerable: a missing reading or log, a release that fails. */
    const char *const *tolerated;
    /* Whether the failure of another function at the `n`-th of its calls is tolerable. */
    bool (*tolerable)(const char *function, int n, int calls);
};

/* What a call fails with, and the text that a message then has next to the function's name. */
struct journey_code {
    int code;
    const char *words;
};

/*
 * Each failure must be an error that names function and code, or tolerable; and each function be
 * called, with all codes, or the first where there are more than 12 calls. Returns how many were
 * errors.
 */
int journey_fail_each(const struct journey_faults *faults, const char *const *functions,
                      size_t count, const struct journey_code *codes, size_t code_count);

/* No failure with `code` may stop the journey. */
void journey_ignore_each(const struct journey_faults *faults, const char *const *functions,
                         size_t count, int code);

/* Success without a result, at the first call, is refused, and never used. */
void journey_lie_each(const struct journey_faults *faults, const char *const *creators,
                      size_t count);

#endif
