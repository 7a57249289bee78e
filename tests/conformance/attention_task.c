/*
 * Bounds, u the type's unit roundoff (2^-8 for bf16, 2^-11 for fp16), v = 2^-24 (Higham, "Accuracy
 * and Stability of Numerical Algorithms", 3.1): a score is a sum of head_size products in f32, off
 * by (head_size + 4) v of its terms' absolute sum, and P is off by that much of itself (exp), by
 * twice that for the row's sum, and by a few v (the exponential, the running sums of Dao et al.
 * 2022, length v). P and dS are rounded to the type before they enter a product, and so is each
 * result: u each. What is added up carries these on linearly. What is small has an absolute bound:
 * half of fp16's smallest number, and for bf16 the smallest that f32 has as a normal one.
 */
#include "tests/conformance/attention_task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

#define ROUNDING 0x1p-24
#define SMALLEST_BF16 0x1p-126 /* below this a device may give 0 */
#define SMALLEST_FP16 0x1p-25
#define EXPONENTIAL                                                                                \
    16 /* roundings that stand for exp, log, and the scale before and behind them                  \
        */

const struct small_float *attention_task_format(const struct attention_task *task)
{
    return task->shape.precision == PRECISION_BF16 ? &reference_bf16 : &reference_f16;
}

static double roundoff(const struct attention_task *task)
{
    return task->shape.precision == PRECISION_BF16 ? 0x1p-8 : 0x1p-11;
}

static double smallest(const struct attention_task *task)
{
    return task->shape.precision == PRECISION_BF16 ? SMALLEST_BF16 : SMALLEST_FP16;
}

uint64_t attention_task_place(const struct attention_task *task,
                              const struct attention_heads *array, uint64_t index)
{
    const struct attention_shape *s = &task->shape;
    const uint64_t i = index % s->head_size, t = index / s->head_size % s->length;
    const uint64_t h = index / s->head_size / s->length % s->heads;
    const uint64_t b = index / s->head_size / s->length / s->heads;

    return array->offset + b * array->strides.batch + h * array->strides.head +
           t * array->strides.row + i;
}

uint64_t attention_task_elements(const struct attention_task *task)
{
    const struct attention_shape *s = &task->shape;

    return s->batch * s->heads * s->length * s->head_size;
}

/* Draws what goes in, N(0, 1) as scores of sharp rows need; all else is a pattern. */
static void make_array(struct conformance *c, struct attention_task *task, int which,
                       uint64_t offset, struct attention_strides strides)
{
    struct attention_heads *array = &task->arrays[which];
    const bool input = which <= V || which == D_O;
    struct random random;

    array->strides = strides;
    array->offset = offset;
    array->count = offset + attention_task_place(task, array, attention_task_elements(task) - 1) -
                   offset + 1 + 8;
    array->values = calloc(attention_task_elements(task), sizeof(double));
    array->bound = calloc(attention_task_elements(task), sizeof(double));
    array->bits = malloc(array->count * sizeof(uint16_t));
    assert_true(array->values && array->bound && array->bits);
    memset(array->bits, 0x2a, array->count * sizeof(uint16_t));
    random_init(&random, 41, (uint64_t)which);
    for (uint64_t i = 0; i < attention_task_elements(task) && input; i++) {
        const uint64_t at = attention_task_place(task, array, i);
        double sum = -6.0;

        for (int n = 0; n < 12; n++)
            sum += random_next_unit(&random);
        array->bits[at] = reference_encode(attention_task_format(task), sum);
        array->values[i] = reference_decode(attention_task_format(task), array->bits[at]);
    }
    array->buffer = conformance_buffer(c, array->bits, array->count * sizeof(uint16_t));
}

struct attention_task attention_task_make(struct conformance *c,
                                          const struct attention_shape *shape, bool projection)
{
    const uint64_t size = shape->head_size, width = shape->heads * size, t = shape->length;
    const struct attention_strides inside = {t * 3 * width, size, 3 * width};
    const struct attention_strides own = {shape->heads * t * size, t * size, size};
    const struct attention_strides rows = {t * width, size, width};
    struct attention_task task = {.shape = *shape};

    for (int which = 0; which < ARRAYS; which++) {
        const bool output = which == O || which == D_O;
        const uint64_t part = which <= V ? (uint64_t)which : (uint64_t)(which - D_Q);

        make_array(c, &task, which, projection && !output ? part * width : 8,
                   !projection ? own
                   : output    ? rows
                               : inside);
    }
    task.shape.q = task.arrays[Q].strides;
    task.shape.k = task.arrays[K].strides;
    task.shape.v = task.arrays[V].strides;
    task.shape.o = task.arrays[O].strides;
    task.p = calloc(t * t, sizeof(double));
    task.p_bound = calloc(t * t, sizeof(double));
    task.ds = calloc(t * t, sizeof(double));
    task.ds_bound = calloc(t * t, sizeof(double));
    task.statistics = calloc(shape->batch * shape->heads * t, sizeof(double));
    task.statistics_bound = calloc(shape->batch * shape->heads * t, sizeof(double));
    assert_true(task.p && task.p_bound && task.ds && task.ds_bound && task.statistics &&
                task.statistics_bound);
    task.statistics_buffer =
        conformance_buffer(c, NULL, shape->batch * shape->heads * t * sizeof(float));
    return task;
}

void attention_task_finish(struct attention_task *task)
{
    for (int which = 0; which < ARRAYS; which++) {
        free(task->arrays[which].values);
        free(task->arrays[which].bound);
        free(task->arrays[which].bits);
        device_buffer_free(task->arrays[which].buffer);
    }
    free(task->p);
    free(task->p_bound);
    free(task->ds);
    free(task->ds_bound);
    free(task->statistics);
    free(task->statistics_bound);
    device_buffer_free(task->statistics_buffer);
}

/* ---- the reference, a head at a time ---- */

/* Row t of P, its bound, and the row's statistics. */
static void reference_row(struct attention_task *task, uint64_t head, uint64_t t)
{
    const struct attention_shape *s = &task->shape;
    const uint64_t n = s->length, d = s->head_size, end = s->causal ? t + 1 : n;
    const double *q = task->arrays[Q].values + (head * n + t) * d;
    double *p = task->p + t * n, *bound = task->p_bound + t * n;
    double top = -(double)INFINITY, sum = 0.0, error = 0.0;

    for (uint64_t j = 0; j < end; j++) {
        const double *k = task->arrays[K].values + (head * n + j) * d;
        double score = 0.0, terms = 0.0;

        for (uint64_t i = 0; i < d; i++) {
            score += q[i] * k[i];
            terms += fabs(q[i] * k[i]);
        }
        p[j] = score * s->scale;
        top = fmax(top, p[j]);
        error = fmax(error, terms * s->scale * (double)(d + 4) * ROUNDING);
    }
    for (uint64_t j = 0; j < end; j++)
        sum += exp(p[j] - top);
    for (uint64_t j = 0; j < end; j++) {
        /* The argument of exp, a difference of two f32, is rounded too. */
        const double own = error + fabs(p[j] - top) * 2.0 * ROUNDING;

        p[j] = exp(p[j] - top) / sum;
        bound[j] = p[j] * (own + error + (double)(EXPONENTIAL + n) * ROUNDING);
    }
    task->statistics[head * n + t] = top + log(sum);
    task->statistics_bound[head * n + t] =
        error + (fabs(top) + fabs(log(sum)) + (double)(EXPONENTIAL + n)) * ROUNDING;
}

/* result[r] += sum of left[r, j] right[j] over j of one head; `turned`: left[j, r]. */
static void add_gemm(struct attention_task *task, uint64_t head, const double *left,
                     const double *bound, bool turned, int right, double factor, int result)
{
    const uint64_t n = task->shape.length, d = task->shape.head_size;
    const double u = roundoff(task), tiny = smallest(task);
    double *out = task->arrays[result].values + head * n * d;
    double *out_bound = task->arrays[result].bound + head * n * d;
    const double *b = task->arrays[right].values + head * n * d;

    for (uint64_t r = 0; r < n; r++)
        for (uint64_t i = 0; i < d; i++) {
            double sum = 0.0, error = 0.0;

            for (uint64_t j = 0; j < n; j++) {
                const uint64_t at = turned ? j * n + r : r * n + j;

                sum += left[at] * b[j * d + i];
                error += (bound[at] + fabs(left[at]) * (u + (double)(n + 4) * ROUNDING) + tiny) *
                         fabs(b[j * d + i]);
            }
            out[r * d + i] = factor * sum;
            out_bound[r * d + i] = fabs(factor) * error * (1.0 + u) + u * fabs(factor * sum) + tiny;
        }
}

/* dS without the scale, and its bound; D is the row's sum of dO O, with the O that the device has.
 */
static void reference_ds(struct attention_task *task, uint64_t head)
{
    const uint64_t n = task->shape.length, d = task->shape.head_size;
    const double *o = task->arrays[O].values + head * n * d;
    const double *o_bound = task->arrays[O].bound + head * n * d;
    const double *d_o = task->arrays[D_O].values + head * n * d;
    const double *v = task->arrays[V].values + head * n * d;

    for (uint64_t t = 0; t < n; t++) {
        double sum = 0.0, sum_bound = 0.0;

        for (uint64_t i = 0; i < d; i++) {
            sum += d_o[t * d + i] * o[t * d + i];
            sum_bound += fabs(d_o[t * d + i]) *
                         (o_bound[t * d + i] + fabs(o[t * d + i]) * (double)(d + 4) * ROUNDING);
        }
        for (uint64_t j = 0; j < n; j++) {
            const uint64_t at = t * n + j;
            double dp = 0.0, terms = 0.0;

            for (uint64_t i = 0; i < d; i++) {
                dp += d_o[t * d + i] * v[j * d + i];
                terms += fabs(d_o[t * d + i] * v[j * d + i]);
            }
            task->ds[at] = task->p[at] * (dp - sum);
            task->ds_bound[at] =
                /* P is recomputed from the statistics, so their error is in it too. */
                (2.0 * task->p_bound[at] + task->p[at] * task->statistics_bound[head * n + t]) *
                    fabs(dp - sum) +
                task->p[at] * (terms * (double)(d + 4) * ROUNDING + sum_bound) +
                4.0 * fabs(task->ds[at]) * ROUNDING;
        }
    }
}

void attention_task_reference(struct attention_task *task)
{
    const struct attention_shape *s = &task->shape;

    for (uint64_t head = 0; head < s->batch * s->heads; head++) {
        memset(task->p, 0, s->length * s->length * sizeof(double));
        memset(task->p_bound, 0, s->length * s->length * sizeof(double));
        for (uint64_t t = 0; t < s->length; t++)
            reference_row(task, head, t);
        add_gemm(task, head, task->p, task->p_bound, false, V, 1.0, O);
        if (!s->training)
            continue;
        reference_ds(task, head);
        for (uint64_t i = 0; i < s->length * s->length; i++)
            task->p_bound[i] *= 2.0;
        add_gemm(task, head, task->p, task->p_bound, true, D_O, 1.0, D_V);
        add_gemm(task, head, task->ds, task->ds_bound, false, K, s->scale, D_Q);
        add_gemm(task, head, task->ds, task->ds_bound, true, Q, s->scale, D_K);
    }
}
