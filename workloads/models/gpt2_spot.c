#include "workloads/models/gpt2_spot.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/storage.h"

#define PREFIX_MIN 2
#define SPAN 256 /* elements */
#define PLACES 2 /* of each part */
#define NORM_ROWS 4

uint64_t gpt2_spot_prefix(const struct gpt2_shape *shape, uint64_t length)
{
    uint64_t ret = GPT2_SPOT_WORK / gpt2_parameter_count(shape);

    ret = ret < PREFIX_MIN ? PREFIX_MIN : ret > GPT2_SPOT_PREFIX ? GPT2_SPOT_PREFIX : ret;
    return ret < length ? ret : length;
}

enum status gpt2_poison(const struct gpt2_device *model, enum gpt2_buffer buffer, uint64_t offset,
                        uint64_t count, struct error *err)
{
    return storage_poison(model->buffers[buffer], gpt2_device_type(&model->plan, buffer), offset,
                          count, err);
}

/* Parts of (rows, columns) elements, rows `stride` and parts `distance` elements apart. */
struct layout {
    uint64_t parts, distance, rows, columns, stride;
};

/* How often a buffer has rows, and how long they are; of training, what each layer keeps. */
enum parts { NONE, ONE, LAYERS, HALVES };
enum columns { UNIT, WIDTH, THREE_WIDTHS, MLP };
static const struct {
    enum parts parts;
    enum columns columns;
} activations[GPT2_BUFFERS] = {
    [GPT2_RESIDUAL] = {HALVES, WIDTH},
    [GPT2_NORM] = {HALVES, WIDTH},
    [GPT2_MEAN] = {HALVES, UNIT},
    [GPT2_RSTD] = {HALVES, UNIT},
    [GPT2_QKV] = {LAYERS, THREE_WIDTHS},
    [GPT2_VALUES] = {LAYERS, WIDTH},
    [GPT2_FC] = {LAYERS, MLP},
    [GPT2_GELU] = {LAYERS, MLP},
    [GPT2_INPUT8] = {ONE, WIDTH},
    [GPT2_TOTAL] = {ONE, UNIT},
    [GPT2_ROW_LOSS] = {ONE, UNIT},
    [GPT2_D_RESIDUAL] = {ONE, WIDTH},
    [GPT2_D_NARROW] = {ONE, WIDTH},
    [GPT2_D_QKV] = {ONE, THREE_WIDTHS},
    [GPT2_D_FC] = {ONE, MLP},
};

static struct layout layout_of(const struct gpt2_device *model, enum gpt2_buffer buffer)
{
    const struct gpt2_device_plan *plan = &model->plan;
    const struct gpt2_shape *shape = &plan->shape;
    const uint64_t rows = plan->page ? model->step.rows : plan->sequences * plan->length;
    const uint64_t layers = plan->training ? shape->layers : 1;
    const uint64_t halves = plan->training ? 2 * shape->layers + 1 : 1;
    const uint64_t parts[] = {[NONE] = 0, [ONE] = 1, [LAYERS] = layers, [HALVES] = halves};
    const uint64_t columns[] = {[UNIT] = 1,
                                [WIDTH] = shape->width,
                                [THREE_WIDTHS] = 3 * shape->width,
                                [MLP] = shape->mlp_width};
    struct layout ret = {.parts = parts[activations[buffer].parts],
                         .rows = rows,
                         .columns = columns[activations[buffer].columns]};

    switch (buffer) {
    case GPT2_SCORES:
    case GPT2_D_SCORES: /* of each row the first, since what lies above the diagonal is 0 anyway */
        ret.parts = buffer == GPT2_SCORES ? layers : 1;
        ret.rows = rows * shape->heads;
        ret.stride = plan->length;
        break;
    case GPT2_STATISTICS:
        ret.parts = layers;
        ret.distance = gpt2_statistics_length(plan);
        ret.rows = rows * shape->heads;
        break;
    case GPT2_LOGITS:
        ret.rows = plan->page ? model->step.outputs : rows;
        ret.columns = shape->vocabulary;
        ret.stride = gpt2_logits_stride(plan);
        ret.parts = ret.rows > 0; /* a step may have no outputs */
        break;
    default:
        break;
    }
    ret.stride = ret.stride ? ret.stride : ret.columns;
    ret.distance = ret.distance ? ret.distance : ret.rows * ret.stride;
    return ret;
}

enum status gpt2_poison_drawn(const struct gpt2_device *model, enum gpt2_buffer buffer,
                              struct random *random, struct error *err)
{
    const struct layout layout = layout_of(model, buffer);
    const uint64_t count = layout.columns < SPAN ? layout.columns : SPAN;

    for (uint64_t i = 0; model->buffers[buffer] && i < PLACES * layout.parts; i++) {
        const uint64_t at = i / PLACES * layout.distance +
                            random_next_below(random, layout.rows) * layout.stride +
                            random_next_below(random, layout.columns - count + 1);

        TRY(gpt2_poison(model, buffer, at, count, err));
    }
    return STATUS_OK;
}

enum status gpt2_poison_all(const struct gpt2_device *model, struct random *random,
                            struct error *err)
{
    for (int i = 0; i < GPT2_BUFFERS; i++)
        TRY(gpt2_poison_drawn(model, (enum gpt2_buffer)i, random, err));
    return STATUS_OK;
}

static enum status retire(struct gpt2_device *model, enum gpt2_buffer buffer, struct error *err)
{
    return gpt2_poison_drawn(model, buffer, model->observer, err);
}

enum status gpt2_spot_begin(struct gpt2_device *model, struct random *random, struct error *err)
{
    model->retire = retire;
    model->observer = random;
    return gpt2_poison_all(model, random, err);
}

void gpt2_spot_end(struct gpt2_device **model)
{
    (*model)->retire = NULL;
    (*model)->observer = NULL;
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
