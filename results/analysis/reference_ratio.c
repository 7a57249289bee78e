#include "results/analysis/reference_ratio.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "results/analysis/window_telemetry.h"

/* `reference_ns` has -1 where no pass was made. NAN: there is none. */
static double ratio_of_trial(const struct reference_trial *trial, const int64_t *reference_ns)
{
    double wall = 0, reference = 0;
    size_t passes = 0;

    for (size_t i = trial->first; i < trial->count; i++) {
        wall += (double)trial->wall_ns[i];
        if (reference_ns[i] > 0) {
            reference += (double)reference_ns[i];
            passes++;
        }
    }
    if (passes == 0 || wall <= 0)
        return NAN;
    return reference / (double)passes /
           (wall / (double)(trial->count - trial->first) / (double)trial->iterations);
}

enum status reference_ratio_add(struct store *store, const struct reference_trial *trials,
                                size_t count, struct estimate *estimate, struct error *err)
{
    AUTO_FREE double *logs = calloc(count + 1, sizeof(*logs));
    size_t known = 0;
    enum status status = logs ? STATUS_OK : error_no_memory(err);

    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        AUTO_FREE int64_t *reference_ns = NULL;
        size_t values = 0;
        double ratio;

        status =
            store_load_samples(store, trials[i].trial, "reference_ns", &reference_ns, &values, err);
        if (status == STATUS_OK) {
            ratio = values == trials[i].count ? ratio_of_trial(&trials[i], reference_ns) : NAN;
            if (isfinite(ratio))
                logs[known++] = log(ratio);
        } else if (status == STATUS_NOT_FOUND) {
            status = STATUS_OK;
        }
    }
    if (status == STATUS_OK && count > 0 && known == count) {
        const struct estimate_interval ratio =
            window_telemetry_between_trials(logs, count, estimate->confidence);

        estimate_set_metric(estimate, METRIC_REFERENCE_RATIO, &ratio, NULL, false);
    }
    return status;
}
