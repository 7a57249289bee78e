/* cell_from_record - what a stored cell must say by its declared workload, for `verify`. */
#ifndef ASSAY_RUNNER_CELL_FROM_RECORD_H
#define ASSAY_RUNNER_CELL_FROM_RECORD_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/evidence/verify.h"

/*
 * The columns of a cell that follow from its declaration, precision and batch, as
 * verify_options.derive wants them. INVALID: the workload does not declare that precision or batch.
 * UNSUPPORTED: this assay has no formulas for it. `context` is not used.
 */
enum status cell_from_record(void *context, const struct verify_subject *subject, json_t **ret,
                             struct error *err);

/*
 * As verify_options.tolerance wants it: by the rule of the workload's kind. `context` is not used.
 */
enum status tolerance_from_record(void *context, const struct verify_subject *subject,
                                  const char *output, const char *metric, double *ret,
                                  struct error *err);

#endif
