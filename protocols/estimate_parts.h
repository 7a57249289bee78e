/* estimate_parts - what the files of estimate share; nobody else includes it. */
#ifndef ASSAY_PROTOCOLS_ESTIMATE_PARTS_H
#define ASSAY_PROTOCOLS_ESTIMATE_PARTS_H

#include <stddef.h>

#include "protocols/estimate.h"
#include "protocols/steady_state.h"

/* A trial while it is analysed; `steady` points into the caller's samples. */
struct estimate_part {
    struct steady_state state;
    const int64_t *steady;
    size_t steady_count;
    double log_mean;    /* of the steady part's mean; NAN without one */
    double log_error;   /* its relative standard error; NAN when unknown */
    double log_squares; /* squares of log times about their mean */
};

/* Order statistics of the steady samples of all trials. NO_MEMORY. */
enum status estimate_find_percentiles(const struct estimate_part *parts,
                                      const struct estimate_options *options,
                                      struct estimate *estimate, struct error *err);

/* Everything that a person should know, with what to do about it. NO_MEMORY. */
enum status estimate_add_warnings(const struct estimate_series *series,
                                  const struct estimate_part *parts,
                                  const struct estimate_options *options, struct estimate *estimate,
                                  struct error *err);

#endif
