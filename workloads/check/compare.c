#include "workloads/check/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void comparison_add(struct comparison *comparison, const float *got, const double *expected,
                    uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const double difference = (double)got[i] - expected[i];

        comparison->error_squares += difference * difference;
        comparison->expected_squares += expected[i] * expected[i];
        /* A NaN becomes the worst and stays it. */
        if (fabs(difference) > comparison->largest ||
            (isnan(difference) && !isnan(comparison->largest)) || comparison->count + i == 0) {
            comparison->largest = fabs(difference);
            comparison->at = comparison->count + i;
            comparison->got = (double)got[i];
            comparison->expected = expected[i];
        }
    }
    comparison->count += count;
}

double comparison_normalised_rms(const struct comparison *comparison)
{
    if (comparison->error_squares == 0.0)
        return 0.0;
    /* Where all is expected to be zero, the error itself counts. */
    return sqrt(comparison->error_squares /
                (comparison->expected_squares > 0.0 ? comparison->expected_squares : 1.0));
}

#define BLOCK 64

double comparison_worst_block(const float *got, const double *expected, uint64_t count,
                              uint64_t *ret_at)
{
    const uint64_t size = count < BLOCK ? count : BLOCK;
    double all = 0.0, worst = -1.0;

    for (uint64_t i = 0; i < count; i++)
        all += expected[i] * expected[i];
    all /= (double)count;
    for (uint64_t begin = 0; begin < count; begin += BLOCK) {
        const uint64_t first = begin + size > count ? count - size : begin;
        double error = 0.0, square = 0.0;

        for (uint64_t i = first; i < first + size; i++) {
            const double difference = (double)got[i] - expected[i];

            error += difference * difference;
            square += expected[i] * expected[i];
        }
        square += all * (double)size;
        /* Where all is expected to be zero, the error itself counts. */
        error = error == 0.0 ? 0.0 : sqrt(error / (square > 0.0 ? square : (double)size));
        if (isnan(error))
            error = INFINITY;
        if (error > worst) {
            worst = error;
            *ret_at = first;
        }
    }
    return worst;
}

void block_finding_add(struct block_finding *finding, const char *name, const float *got,
                       const double *expected, uint64_t count)
{
    uint64_t at = 0;
    const double error = comparison_worst_block(got, expected, count, &at);

    if (finding->compared == 0 || error > finding->error) {
        finding->error = error;
        finding->at = at;
        snprintf(finding->name, sizeof(finding->name), "%s", name);
    }
    finding->compared += count;
}

void check_sink_blocks(struct check_sink *sink, const char *output,
                       const struct block_finding *finding, double tolerance)
{
    const struct workload_check check = {
        .output = output,
        .error = finding->error,
        .tolerance = COMPARISON_BLOCK_FACTOR * tolerance,
        .metric = "worst_block",
        .reason = "rounding spreads: of no 64 neighbours may the error be more than three times "
                  "what is tolerated of all",
        .compared = finding->compared,
    };
    char detail[160];

    snprintf(detail, sizeof(detail), "64 elements of %s from [%llu] on", finding->name,
             (unsigned long long)finding->at);
    check_sink_report(sink, check, detail);
}

void check_sink_put(struct check_sink *sink, const struct workload_check *check)
{
    if (sink->report)
        sink->report(sink->context, check);
}

void check_sink_fail(struct check_sink *sink, const char *format, ...)
{
    va_list args;

    if (sink->status != STATUS_OK)
        return;
    va_start(args, format);
    sink->status = error_setv(&sink->failure, STATUS_CHECK_FAILED, format, args);
    va_end(args);
}

void check_sink_report(struct check_sink *sink, struct workload_check check, const char *detail)
{
    check.passed = check.error <= check.tolerance; /* false for a NaN */
    check_sink_put(sink, &check);
    if (!check.passed)
        check_sink_fail(sink, "%s: %s %g is beyond the tolerance %g (%s)", check.output,
                        check.metric, check.error, check.tolerance, detail);
}

void check_sink_compare(struct check_sink *sink, const char *output,
                        const struct comparison *comparison, double tolerance, const char *reason)
{
    const struct workload_check check = {
        .output = output,
        .error = comparison_normalised_rms(comparison),
        .tolerance = tolerance,
        .metric = "normalised_rms",
        .reason = reason,
        .compared = comparison->count,
    };
    char detail[160];

    snprintf(detail, sizeof(detail), "worst at [%llu]: got %.9g, expected %.9g",
             (unsigned long long)comparison->at, comparison->got, comparison->expected);
    check_sink_report(sink, check, detail);
}
