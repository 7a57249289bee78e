#include "workloads/models/gpt2_spot.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"

#define PREFIX_MIN 2
#define NORM_ROWS 4

uint64_t gpt2_spot_prefix(const struct gpt2_shape *shape, uint64_t length)
{
    uint64_t ret = GPT2_SPOT_WORK / gpt2_parameter_count(shape);

    ret = ret < PREFIX_MIN ? PREFIX_MIN : ret > GPT2_SPOT_PREFIX ? GPT2_SPOT_PREFIX : ret;
    return ret < length ? ret : length;
}

struct session_spot gpt2_spot_of(const struct gpt2_device *model, struct random *random)
{
    const struct gpt2_device_plan *plan = &model->plan;

    return (struct session_spot){
        .random = random,
        .rows = plan->page > 0 ? model->step.rows : plan->sequences * plan->length,
        .outputs = model->step.outputs,
    };
}

/* ---- layer norms ---- */

/*
 * Errors over their bounds. Sums of `width` terms in f32, in whatever order, are off by at most
 * width u of the sum of absolute terms; 1 / sqrt halves what is relative to the variance, and has
 * a few roundings of its own (3 ulp of a square root and 2.5 of a division are allowed to OpenCL).
 */
static double statistics_error(const float *x, uint64_t width, double mean, double rstd)
{
    const double n = (double)width, u = 0x1p-24;
    double sum = 0.0, absolute = 0.0, square = 0.0, wanted, shift, bound, error;

    for (uint64_t i = 0; i < width; i++) {
        sum += (double)x[i];
        absolute += fabs((double)x[i]);
    }
    sum /= n;
    for (uint64_t i = 0; i < width; i++)
        square += ((double)x[i] - sum) * ((double)x[i] - sum);
    square = square / n + GPT2_NORM_EPSILON;
    wanted = 1.0 / sqrt(square);
    shift = (n + 4.0) * u * absolute / n; /* a mean that is off moves all deviations */
    bound = wanted * ((0.5 * n + 8.0) * u + 0.5 * shift * shift / square);
    error = fmax(fabs(mean - sum) / (shift + FLT_MIN), fabs(rstd - wanted) / bound);
    return isnan(mean) || isnan(rstd) ? DBL_MAX : error;
}

enum status gpt2_check_norms(const struct gpt2_device *model, struct random *random,
                             struct check_sink *sink, struct error *err)
{
    const struct gpt2_device_plan *plan = &model->plan;
    const uint64_t width = plan->shape.width, rows = model->tokens.rows;
    const uint64_t halves = plan->training ? 2 * plan->shape.layers + 1 : 1;
    struct workload_check check = {
        .output = "norm.statistics",
        .tolerance = 1.0,
        .metric = "max_of_bound",
        .reason = "sums of a row in f32, and a few roundings of the square root and the division",
    };
    AUTO_FREE float *x = malloc(width * sizeof(*x));
    float mean, rstd;

    if (!x)
        return error_no_memory(err);
    for (uint64_t i = 0; model->buffers[GPT2_MEAN] && i < NORM_ROWS * halves; i++) {
        const uint64_t row = i / NORM_ROWS * rows + random_next_below(random, rows);

        TRY(gpt2_device_fetch(model, GPT2_RESIDUAL, row * width, width, x, err));
        TRY(gpt2_device_fetch(model, GPT2_MEAN, row, 1, &mean, err));
        TRY(gpt2_device_fetch(model, GPT2_RSTD, row, 1, &rstd, err));
        check.error = fmax(check.error, statistics_error(x, width, (double)mean, (double)rstd));
        check.compared += 2;
    }
    if (check.compared > 0)
        check_sink_report(sink, check, "mean or reciprocal deviation of a row");
    return STATUS_OK;
}
