/*
 * repeatability - how much results of the same thing differ from one campaign to the next.
 *
 * Trials of one campaign differ less than campaigns do: a machine drifts, is rebooted, ages. A
 * session of a result is a stored result of another, finished campaign that may be compared with it
 * while no subject and no controlled field but the data's seed is known to differ: the same
 * identity, device, stack and conditions.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_REPEATABILITY_H
#define ASSAY_RESULTS_ANALYSIS_REPEATABILITY_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

#define REPEATABILITY_MAX 30   /* the newest count */
#define REPEATABILITY_NEEDED 3 /* fewest campaigns that give a spread */

struct repeatability {
    size_t count;  /* results that count, the original among them */
    size_t most;   /* of one kind, those like the original or those like the other */
    json_t *ids;   /* theirs, the original first, then the newest */
    double sd_log; /* of log times between those of a kind, pooled; NAN: fewer than
                      REPEATABILITY_NEEDED of either */
    double df;     /* degrees of freedom of it */
};

/*
 * The sessions like `cells[0]` and like `cells[1]`, two stored results, of all campaigns but the
 * one of cells[1]: what was known before it was measured. Finish with repeatability_finish.
 */
enum status repeatability_find(struct store *store, const int64_t cells[2],
                               struct repeatability *ret, struct error *err);

/*
 * The same of the results that `ids` names, as repeatability_find gave it once. UNSUPPORTED: one of
 * them is not in this file. CORRUPT: one is no session of these.
 */
enum status repeatability_from_record(struct store *store, const int64_t cells[2],
                                      const json_t *ids, struct repeatability *ret,
                                      struct error *err);
void repeatability_finish(struct repeatability *repeatability);

/* As JSON; with `ids`. */
extern const struct type repeatability_type;

#endif
