#include "results/analysis/calibration.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/member.h"

/*
 * The same trials in the order they ran, as if the first half had been one arm and the second half
 * the other: what comparing two runs made one after the other would have said.
 */
static bool blocked_differs(const struct pairs *pairs, const struct compare_options *options)
{
    size_t count = pairs->count;
    double *line = calloc(2 * count + 1, sizeof(*line));
    struct comparison comparison;
    bool differs = false;

    for (size_t k = 0; line && k < count; k++) {
        line[2 * k] = pairs->a[k];
        line[2 * k + 1] = pairs->b[k];
    }
    if (line &&
        unpaired_analyze(line, count, line + count, count, options, &comparison, NULL) == STATUS_OK)
        differs = comparison.differs;
    free(line);
    return differs;
}

/* Pairs of servers are compared by their latencies here, which their own figures do not need. */
static bool has_times(const struct stored_comparison *comparison)
{
    return comparison->figure == COMPARE_TIME ? comparison->has_numbers : comparison->has_latency;
}

void calibration_add(struct calibration *calibration, const char *workload, const char *uid,
                     const struct stored_comparison *comparison,
                     const struct compare_options *options)
{
    json_t *row = json_pack("{s:s, s:s, s:f}", "workload", workload, "campaign", uid, "margin",
                            options->margin);
    const char *reason =
        comparison->why.message[0] ? comparison->why.message : "no pair has latencies of both arms";
    bool blocked;

    json_array_append_new(calibration->rows, row);
    calibration->comparisons++;
    if (!has_times(comparison)) {
        calibration->without_numbers++;
        json_object_set_new(row, "reason", json_string(reason));
        return;
    }
    blocked = blocked_differs(&comparison->pairs, options);
    calibration->paired_different += comparison->numbers.differs;
    calibration->paired_verdicts += comparison->numbers.verdict == COMPARE_FASTER ||
                                    comparison->numbers.verdict == COMPARE_SLOWER;
    calibration->blocked_different += blocked;
    json_object_set_new(row, "ratio", real_or_null(comparison->numbers.ratio.value));
    json_object_set_new(row, "sd_log", real_or_null(comparison->numbers.sd));
    json_object_set_new(row, "differs", json_boolean(comparison->numbers.differs));
    json_object_set_new(row, "verdict",
                        json_string(compare_verdict_name(comparison->numbers.verdict)));
    json_object_set_new(row, "blocked_differs", json_boolean(blocked));
}

json_t *calibration_json(const struct calibration *calibration, const json_t *clock)
{
    json_t *json = json_copy((json_t *)(uintptr_t)clock);

    json_object_set_new(json, "comparisons", json_integer((json_int_t)calibration->comparisons));
    json_object_set_new(json, "without_numbers",
                        json_integer((json_int_t)calibration->without_numbers));
    json_object_set_new(json, "paired_different",
                        json_integer((json_int_t)calibration->paired_different));
    json_object_set_new(json, "paired_verdicts",
                        json_integer((json_int_t)calibration->paired_verdicts));
    json_object_set_new(json, "blocked_different",
                        json_integer((json_int_t)calibration->blocked_different));
    json_object_set(json, "rows", calibration->rows);
    return json;
}
