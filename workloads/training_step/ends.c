#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/storage.h"
#include "workloads/training_step/training_step.h"

#define COLUMNS 16
#define POSITIONS 4
#define CHUNK ((uint64_t)1 << 20) /* elements of the logits that are fetched at a time */
#define UNIQUE 3                  /* place of the tokens that occur, in rows: struct op_tokens */

struct sums {
    const struct gpt2_device *model;
    const int32_t *tokens, *unique;
    uint64_t first, columns; /* the drawn ones */
    float *hidden, *up;      /* the head's input and the residual stream's gradient */
    /* (unique, columns): sums, sums of absolute terms of the head's part, and of the other. */
    double *sum, *head, *rest;
    struct workload_check check, rows;
    double scale; /* of a row's gradients: the loss scale over the rows */
};

static enum status allocate(struct sums *sums, struct error *err)
{
    const struct op_tokens *tokens = &sums->model->tokens;
    const uint64_t rows = tokens->rows * sums->model->plan.shape.width;
    const uint64_t cells = tokens->unique * sums->columns;

    sums->hidden = malloc(rows * sizeof(*sums->hidden));
    sums->up = malloc(rows * sizeof(*sums->up));
    sums->sum = calloc(3 * cells, sizeof(*sums->sum));
    sums->head = sums->sum + cells;
    sums->rest = sums->head + cells;
    return sums->hidden && sums->up && sums->sum ? STATUS_OK : error_no_memory(err);
}

static void sums_finish(struct sums *sums)
{
    free(sums->hidden);
    free(sums->up);
    free(sums->sum);
}

/* f16's steps near zero; f32 and bf16 have the same range. */
static double smallest_step(enum dtype storage)
{
    return storage == DTYPE_F16 ? 0x1p-24 : 1e-36;
}

/*
 * A row of the logits' gradients is softmax less one at the target, times the scale: its elements
 * add up to 0, and without their signs to no more than 2. Each is rounded once; the softmax divides
 * by a sum in f32 of as many terms, and its exponents are off by their own rounding.
 */
static void check_row(struct sums *sums, const float *logits)
{
    const uint64_t count = sums->model->plan.shape.vocabulary;
    const enum dtype storage = sums->model->plan.storage;
    const double part = storage_unit_roundoff(storage) + ((double)count + 256.0) * 0x1p-24;
    const double rest = (double)count * smallest_step(storage);
    double sum = 0.0, absolute = 0.0, error;

    for (uint64_t i = 0; i < count; i++) {
        sum += (double)logits[i];
        absolute += fabs((double)logits[i]);
    }
    error = fmax(fabs(sum) / (2.0 * sums->scale * part + rest),
                 absolute / (2.0 * sums->scale * (1.0 + part) + rest));
    sums->rows.error = fmax(sums->rows.error, isnan(sum) ? DBL_MAX : error);
    sums->rows.compared += count;
}

/* Row r's part of the sums of all tokens; `logits` is the row of their gradients. */
static void add_row(struct sums *sums, uint64_t r, const float *logits)
{
    const uint64_t width = sums->model->plan.shape.width;
    const float *hidden = sums->hidden + r * width + sums->first;
    const float *up = sums->up + r * width + sums->first;

    for (uint64_t u = 0; u < sums->model->tokens.unique; u++) {
        const double gradient = (double)logits[sums->unique[u]];
        const bool own = sums->unique[u] == sums->tokens[r];
        const uint64_t at = u * sums->columns;

        for (uint64_t c = 0; c < sums->columns; c++) {
            const double term = gradient * (double)hidden[c];

            sums->sum[at + c] += term + (own ? (double)up[c] : 0.0);
            sums->head[at + c] += fabs(term);
            sums->rest[at + c] += own ? fabs((double)up[c]) : 0.0;
        }
    }
}

static enum status add_rows(struct sums *sums, struct error *err)
{
    const uint64_t stride = gpt2_logits_stride(&sums->model->plan), rows = sums->model->tokens.rows;
    const uint64_t step = stride < CHUNK ? CHUNK / stride : 1;
    AUTO_FREE float *logits = malloc(step * stride * sizeof(*logits));

    if (!logits)
        return error_no_memory(err);
    for (uint64_t r = 0; r < rows; r += step) {
        const uint64_t count = rows - r < step ? rows - r : step;

        TRY(gpt2_device_fetch(sums->model, GPT2_LOGITS, r * stride, count * stride, logits, err));
        for (uint64_t i = 0; i < count; i++) {
            check_row(sums, logits + i * stride);
            add_row(sums, r + i, logits + i * stride);
        }
    }
    return STATUS_OK;
}

/*
 * `columns` elements of a gradient from `offset` on. The head's part is rounded when it is stored,
 * and all of it once more; before that both are sums in f32, of inputs that tf32 rounds.
 */
static enum status compare(struct sums *sums, uint64_t offset, const double *wanted,
                           const double *head, const double *rest, bool tf32, struct error *err)
{
    const enum dtype storage = sums->model->plan.storage;
    const double narrow = storage_unit_roundoff(storage);
    const double added = ((double)sums->model->tokens.rows + 2.0) * 0x1p-24;
    float got[COLUMNS];

    TRY(gpt2_device_fetch(sums->model, GPT2_GRADIENTS, offset + sums->first, sums->columns, got,
                          err));
    for (uint64_t c = 0; c < sums->columns; c++) {
        const double bound = head[c] * (2.0 * narrow + added + (tf32 ? 0x1p-9 : 0.0)) +
                             rest[c] * (narrow + added) + smallest_step(storage);
        const double error = fabs((double)got[c] - wanted[c]) / bound;

        sums->check.error = fmax(sums->check.error, isnan(error) ? DBL_MAX : error);
    }
    sums->check.compared += sums->columns;
    return STATUS_OK;
}

/* A position's gradient is the sum over its rows. */
static enum status compare_position(struct sums *sums, uint64_t position, struct error *err)
{
    static const double none[COLUMNS];
    const struct gpt2_shape *shape = &sums->model->plan.shape;
    double wanted[COLUMNS] = {0}, rest[COLUMNS] = {0};

    for (uint64_t r = position; r < sums->model->tokens.rows; r += sums->model->plan.length)
        for (uint64_t c = 0; c < sums->columns; c++) {
            const double term = (double)sums->up[r * shape->width + sums->first + c];

            wanted[c] += term;
            rest[c] += fabs(term);
        }
    return compare(sums, gpt2_offset(shape, GPT2_WPE, 0) + position * shape->width, wanted, none,
                   rest, false, err);
}

static enum status fetch(struct sums *sums, struct error *err)
{
    const struct gpt2_shape *shape = &sums->model->plan.shape;
    const uint64_t count = sums->model->tokens.rows * shape->width;

    TRY(gpt2_device_fetch(sums->model, GPT2_NORM, 2 * shape->layers * count, count, sums->hidden,
                          err));
    return gpt2_device_fetch(sums->model, GPT2_D_RESIDUAL, 0, count, sums->up, err);
}

enum status training_check_ends(struct training_instance *instance, const int32_t *indices,
                                double inverse, struct random *random, struct check_sink *sink,
                                struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    const bool tf32 = instance->gpt2.base.work.precision == PRECISION_TF32;
    const uint64_t width = model->plan.shape.width;
    CLEANUP(sums_finish)
    struct sums sums = {
        .model = model,
        .tokens = indices,
        .unique = indices + UNIQUE * model->tokens.rows,
        .columns = width < COLUMNS ? width : COLUMNS,
        .check = {.output = "grad.embedding",
                  .tolerance = 1.0,
                  .metric = "max_of_bound",
                  .reason = "roundings of the storage type, and sums in f32"},
        .rows = {.output = "grad.logits",
                 .tolerance = 1.0,
                 .metric = "max_of_bound",
                 .reason = "softmax adds up to 1: roundings of the storage type, and sums in f32"},
        .scale = 1.0 / (inverse * (double)model->tokens.rows),
    };

    TRY(allocate(&sums, err));
    sums.first = random_next_below(random, width - sums.columns + 1);
    TRY(fetch(&sums, err));
    TRY(add_rows(&sums, err));
    for (uint64_t u = 0; u < model->tokens.unique; u++) {
        const uint64_t at = u * sums.columns;

        TRY(compare(&sums,
                    gpt2_offset(&model->plan.shape, GPT2_WTE, 0) + (uint64_t)sums.unique[u] * width,
                    sums.sum + at, sums.head + at, sums.rest + at, tf32, err));
    }
    for (int i = 0; i < POSITIONS; i++)
        TRY(compare_position(&sums, random_next_below(random, model->plan.length), err));
    check_sink_report(sink, sums.rows, "a row of the logits' gradients does not add up to 0");
    check_sink_report(sink, sums.check, "an embedding's gradient is not the sum of its parts");
    return STATUS_OK;
}
