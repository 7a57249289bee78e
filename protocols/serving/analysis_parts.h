/* analysis_parts - the parts of serving_analyze; for its own files. */
#ifndef ASSAY_PROTOCOLS_SERVING_ANALYSIS_PARTS_H
#define ASSAY_PROTOCOLS_SERVING_ANALYSIS_PARTS_H

#include "protocols/serving/analysis.h"

/* Was the declared load delivered? NO_MEMORY. */
enum status serving_check_load(const struct serving_trial *trials, size_t count,
                               const struct serving_options *options, struct load_result *ret,
                               struct error *err);

/* Do departures keep up with arrivals? NO_MEMORY. */
enum status serving_check_queue(const struct serving_trial *trials, size_t count,
                                const struct serving_options *options, struct queue_result *ret,
                                struct error *err);

#endif
