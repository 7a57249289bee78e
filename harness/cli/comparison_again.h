/* comparison_again - a stored comparison recomputed from the stored samples, for `verify`. */
#ifndef ASSAY_CLI_COMPARISON_AGAIN_H
#define ASSAY_CLI_COMPARISON_AGAIN_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * The object that would be stored today instead of `body`, as verify_options.compare wants it. What
 * only the machine could report at the time (a calibration's clock) is taken from `body`. `context`
 * is not used.
 */
enum status comparison_again(void *context, struct store *store, const char *kind, int64_t a,
                             int64_t b, const json_t *body, json_t **ret, struct error *err);

#endif
