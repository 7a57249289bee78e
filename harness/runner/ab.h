/*
 * ab - two arms measured side by side: a paired campaign, its pairs, its judgement.
 *
 * For k in 1..K both arms run in random order, each in a fresh process (plan_build_pair). The
 * difference of a pair is the log of the ratio of the two trials' steady means, or medians where
 * the protocol says `compare_by: median`. A campaign may hold several such comparisons, of several
 * workloads, precisions or batches.
 */
#ifndef ASSAY_RUNNER_AB_H
#define ASSAY_RUNNER_AB_H

#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/campaign.h"
#include "protocols/compare.h"
#include "results/analysis/pairs.h"

struct ab_result {
    int64_t campaign;
    struct pairs pairs;
    bool has_numbers;
    struct comparison numbers; /* when has_numbers */
    struct error why;          /* why there are none */
    json_t *judgement;         /* comparability_judge's object */
    char *ineffective;         /* varied_without_effect's sentence, heap; NULL: none */
};

/*
 * Judges and compares the arms of comparison `index` (from 0) of a paired campaign, by itself; what
 * they set on purpose is in its plan. Finish with ab_result_finish.
 */
enum status ab_evaluate(struct store *store, int64_t campaign, size_t index,
                        const struct compare_options *options, struct ab_result *ret,
                        struct error *err);
/*
 * What must be shown with the numbers: pairs that do not count, settings without effect. Heap;
 * NULL: nothing, or no memory.
 */
char *ab_note(const struct ab_result *result);
void ab_result_finish(struct ab_result *result);

#endif
