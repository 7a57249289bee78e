/* comparison_arms - what the two results of a comparison are, and the result of each by itself. */
#ifndef ASSAY_CLI_COMPARISON_ARMS_H
#define ASSAY_CLI_COMPARISON_ARMS_H

#include <stdint.h>

#include <jansson.h>

#include "harness/core/text.h"
#include "results/store/store.h"

struct comparison_arms {
    char *words[2]; /* "triad fp32 on cpu:0 (AMD EPYC): 28 GB/s ±3 %", printable; heap */
    /*
     * Array of two: {"id", "workload", "precision", "batch", "arm", "device_spec", "device",
     * "verdict", "result": {"value", "lo", "hi", "unit"} or null, "planned", "counted", "left_out":
     * [{"trial", "why"}]}. `left_out`: trials that a comparison has no time of.
     */
    json_t *json;
};

/* Of these rows of `cell`. Finish with comparison_arms_finish. */
enum status comparison_arms_load(struct store *store, const int64_t cells[2],
                                 struct comparison_arms *ret, struct error *err);
void comparison_arms_finish(struct comparison_arms *arms);

#endif
