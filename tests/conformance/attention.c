/*
 * The vendor library's attention, wherever a device has one, against fp64.
 *
 * Bounds, u the type's unit roundoff (2^-8 for bf16, 2^-11 for fp16), v = 2^-24 (Higham, "Accuracy
 * and Stability of Numerical Algorithms", 3.1): a score is a sum of head_size products in f32, off by
 * (head_size + 4) v of its terms' absolute sum, and P is off by that much of itself (exp), by twice that
 * for the row's sum, and by a few v (the exponential, the running sums of Dao et al. 2022, length v).
 * P and dS are rounded to the type before they enter a product, and so is each result: u each. What is
 * added up carries these on linearly. What is small has an absolute bound: half of fp16's smallest
 * number, and for bf16 the smallest that f32 has as a normal one.
 */
#include "tests/conformance/conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/conformance/reference.h"

#define ROUNDING 0x1p-24
#define SMALLEST_BF16 0x1p-126 /* below this a device may give 0 */
#define SMALLEST_FP16 0x1p-25
#define EXPONENTIAL 16 /* roundings that stand for exp, log, and the scale before and behind them */

enum { Q, K, V, O, D_O, D_Q, D_K, D_V, ARRAYS };

/* One of the arrays: (batch, heads, length, head_size) in fp64, and where it lies on the device. */
struct heads {
    struct attention_strides strides;
    uint64_t offset, count; /* of the buffer, in elements */
    double *values, *bound; /* by (b, h, t, i); bound: what the device's may be off */
    uint16_t *bits;
    struct buffer *buffer;
};

struct task {
    struct attention_shape shape;
    struct heads arrays[ARRAYS];
    double *p, *p_bound, *ds, *ds_bound; /* one head's */
    double *statistics, *statistics_bound;
    struct buffer *statistics_buffer;
};

static const struct small_float *format_of(const struct task *task)
{
    return task->shape.precision == PRECISION_BF16 ? &reference_bf16 : &reference_f16;
}

static double roundoff(const struct task *task)
{
    return task->shape.precision == PRECISION_BF16 ? 0x1p-8 : 0x1p-11;
}

static double smallest(const struct task *task)
{
    return task->shape.precision == PRECISION_BF16 ? SMALLEST_BF16 : SMALLEST_FP16;
}

static uint64_t place(const struct task *task, const struct heads *array, uint64_t index)
{
    const struct attention_shape *s = &task->shape;
    const uint64_t i = index % s->head_size, t = index / s->head_size % s->length;
    const uint64_t h = index / s->head_size / s->length % s->heads;
    const uint64_t b = index / s->head_size / s->length / s->heads;

    return array->offset + b * array->strides.batch + h * array->strides.head +
           t * array->strides.row + i;
}

static uint64_t elements(const struct task *task)
{
    const struct attention_shape *s = &task->shape;

    return s->batch * s->heads * s->length * s->head_size;
}

/* Draws what goes in, N(0, 1) as scores of sharp rows need; all else is a pattern. */
static void make_array(struct conformance *c, struct task *task, int which, uint64_t offset,
                       struct attention_strides strides)
{
    struct heads *array = &task->arrays[which];
    const bool input = which <= V || which == D_O;
    struct random random;

    array->strides = strides;
    array->offset = offset;
    array->count = offset + place(task, array, elements(task) - 1) - offset + 1 + 8;
    array->values = calloc(elements(task), sizeof(double));
    array->bound = calloc(elements(task), sizeof(double));
    array->bits = malloc(array->count * sizeof(uint16_t));
    assert_true(array->values && array->bound && array->bits);
    memset(array->bits, 0x2a, array->count * sizeof(uint16_t));
    random_init(&random, 41, (uint64_t)which);
    for (uint64_t i = 0; i < elements(task) && input; i++) {
        const uint64_t at = place(task, array, i);
        double sum = -6.0;

        for (int n = 0; n < 12; n++)
            sum += random_next_unit(&random);
        array->bits[at] = reference_encode(format_of(task), sum);
        array->values[i] = reference_decode(format_of(task), array->bits[at]);
    }
    array->buffer = conformance_buffer(c, array->bits, array->count * sizeof(uint16_t));
}

/* Heads inside the rows of a common projection, as transformers have them, or each by itself. */
static struct task make_task(struct conformance *c, const struct attention_shape *shape,
                             bool projection)
{
    const uint64_t size = shape->head_size, width = shape->heads * size, t = shape->length;
    const struct attention_strides inside = {t * 3 * width, size, 3 * width};
    const struct attention_strides own = {shape->heads * t * size, t * size, size};
    const struct attention_strides rows = {t * width, size, width};
    struct task task = {.shape = *shape};

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

static void free_task(struct task *task)
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
static void reference_row(struct task *task, uint64_t head, uint64_t t)
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
static void add_product(struct task *task, uint64_t head, const double *left, const double *bound,
                        bool turned, int right, double factor, int result)
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

/* dS without the scale, and its bound; D is the row's sum of dO O, with the O that the device has. */
static void reference_ds(struct task *task, uint64_t head)
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
                /* P comes again out of the statistics, so their error is in it, too. */
                (2.0 * task->p_bound[at] + task->p[at] * task->statistics_bound[head * n + t]) *
                    fabs(dp - sum) +
                task->p[at] * (terms * (double)(d + 4) * ROUNDING + sum_bound) +
                4.0 * fabs(task->ds[at]) * ROUNDING;
        }
    }
}

static void reference(struct task *task)
{
    const struct attention_shape *s = &task->shape;

    for (uint64_t head = 0; head < s->batch * s->heads; head++) {
        memset(task->p, 0, s->length * s->length * sizeof(double));
        memset(task->p_bound, 0, s->length * s->length * sizeof(double));
        for (uint64_t t = 0; t < s->length; t++)
            reference_row(task, head, t);
        add_product(task, head, task->p, task->p_bound, false, V, 1.0, O);
        if (!s->training)
            continue;
        reference_ds(task, head);
        for (uint64_t i = 0; i < s->length * s->length; i++)
            task->p_bound[i] *= 2.0;
        add_product(task, head, task->p, task->p_bound, true, D_O, 1.0, D_V);
        add_product(task, head, task->ds, task->ds_bound, false, K, s->scale, D_Q);
        add_product(task, head, task->ds, task->ds_bound, true, Q, s->scale, D_K);
    }
}

/* ---- the device ---- */

static struct attention_operands operands_of(const struct task *task)
{
#define OPERAND(which) {task->arrays[which].buffer, task->arrays[which].offset}
    return (struct attention_operands){
        .q = OPERAND(Q),
        .k = OPERAND(K),
        .v = OPERAND(V),
        .o = OPERAND(O),
        .statistics = {task->statistics_buffer, 0},
        .d_q = OPERAND(D_Q),
        .d_k = OPERAND(D_K),
        .d_v = OPERAND(D_V),
        .d_o = OPERAND(D_O),
    };
#undef OPERAND
}

/* Every element within its bound, and nothing between them written. */
static void check_array(struct conformance *c, struct task *task, int which, const char *name)
{
    struct heads *array = &task->arrays[which];
    uint16_t *got = malloc(array->count * sizeof(*got));

    assert_non_null(got);
    expect_ok(c, device_download(array->buffer, 0, got, array->count * sizeof(*got), &c->err));
    for (uint64_t i = 0; i < elements(task); i++) {
        const uint64_t at = place(task, array, i);
        const double value = reference_decode(format_of(task), got[at]);

        if (!(fabs(value - array->values[i]) <= array->bound[i]))
            fail_msg("%s[%llu] is %g, not %g +- %g", name, (unsigned long long)i, value,
                     array->values[i], array->bound[i]);
        got[at] = array->bits[at];
    }
    assert_memory_equal(got, array->bits, array->count * sizeof(*got));
    free(got);
}

static void check_statistics(struct conformance *c, const struct task *task)
{
    const uint64_t count = task->shape.batch * task->shape.heads * task->shape.length;
    float *got = malloc(count * sizeof(*got));

    assert_non_null(got);
    expect_ok(c, device_download(task->statistics_buffer, 0, got, count * sizeof(*got), &c->err));
    for (uint64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - task->statistics[i]) <= task->statistics_bound[i]))
            fail_msg("statistics[%llu] is %g, not %g +- %g", (unsigned long long)i, (double)got[i],
                     task->statistics[i], task->statistics_bound[i]);
    free(got);
}

static void check_task(struct conformance *c, struct task *task, struct attention *attention)
{
    const struct attention_operands operands = operands_of(task);

    expect_ok(c, device_attention_forward(attention, &operands, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    check_array(c, task, O, "O");
    if (!task->shape.training)
        return;
    check_statistics(c, task);
    expect_ok(c, device_attention_backward(attention, &operands, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    check_array(c, task, D_V, "dV");
    check_array(c, task, D_Q, "dQ");
    check_array(c, task, D_K, "dK");
}

/* The same by every algorithm that the library lists for a pass, unless it refuses it. */
static void check_algorithms(struct conformance *c, struct task *task, struct attention *attention)
{
    const struct attention_operands operands = operands_of(task);
    struct attention_info info;
    uint32_t running = 0;

    expect_ok(c, device_attention_describe(attention, &info, &c->err));
    assert_int_equal(device_attention_select(attention, false, info.forward.algorithms, &c->err),
                     info.forward.algorithms > 0 ? STATUS_INVALID : STATUS_UNSUPPORTED);
    for (uint32_t i = 0; i < info.forward.algorithms; i++) {
        expect_ok(c, device_attention_select(attention, false, i, &c->err));
        if (device_attention_forward(attention, &operands, &c->err) == STATUS_OK) {
            check_task(c, task, attention);
            running = i;
        }
    }
    if (info.forward.algorithms > 0)
        expect_ok(c, device_attention_select(attention, false, running, &c->err));
    for (uint32_t i = 0; i < info.backward.algorithms; i++) {
        expect_ok(c, device_attention_select(attention, true, i, &c->err));
        if (device_attention_backward(attention, &operands, &c->err) == STATUS_OK)
            check_task(c, task, attention);
    }
}

/* A library may refuse; the stand-in may not. */
static struct attention *create(struct conformance *c, const struct attention_shape *shape)
{
    struct attention *attention = NULL;
    enum status status;

    c->err = (struct error)ERROR_INIT;
    status = device_attention_create(c->device, shape, &attention, &c->err);
    if (status == STATUS_OK)
        return attention;
    if (status != STATUS_UNSUPPORTED || c->device->info.simulated)
        fail_msg("%s, %llu long, heads of %llu: %s", precision_name(shape->precision),
                 (unsigned long long)shape->length, (unsigned long long)shape->head_size,
                 c->err.message);
    print_message("  %s, %llu long, heads of %llu: %s\n", precision_name(shape->precision),
                  (unsigned long long)shape->length, (unsigned long long)shape->head_size,
                  c->err.message);
    return NULL;
}

static const struct shape_row {
    uint64_t batch, heads, length, head_size;
    bool causal, training, projection;
    float scale;
} rows[] = {
    {1, 1, 7, 64, true, true, true, 0.0f},     {2, 3, 33, 64, true, true, true, 0.0f},
    {1, 2, 17, 80, false, true, false, 0.0f},  {2, 1, 130, 128, true, true, true, 0.0f},
    {1, 2, 64, 64, false, true, true, 0.5f},   {1, 12, 20, 64, true, false, true, 0.0f},
    {3, 2, 9, 8, true, true, false, 1.0f},     {1, 2, 1, 64, true, false, false, 0.0f},
    {1, 1, 129, 24, false, false, true, 0.0f}, {1, 1, 2, 32, true, true, false, 0.0f},
};

static void test_shapes(void **state)
{
    static const enum precision precisions[] = {PRECISION_BF16, PRECISION_FP16};
    struct conformance *c = *state;

    if (!device_has_attention(c->device))
        skip();
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        const struct shape_row *row = &rows[i / 2];
        const struct attention_shape shape = {.precision = precisions[i % 2],
                                              .batch = row->batch,
                                              .heads = row->heads,
                                              .length = row->length,
                                              .head_size = row->head_size,
                                              .causal = row->causal,
                                              .training = row->training,
                                              .scale = row->scale};
        struct task task = make_task(c, &shape, row->projection);
        struct attention *attention = create(c, &task.shape);

        if (attention != NULL) {
            task.shape.scale = attention->shape.scale;
            reference(&task);
            check_task(c, &task, attention);
            check_task(c, &task, attention); /* from a binding that is kept */
            check_algorithms(c, &task, attention);
        }
        device_attention_destroy(attention);
        free_task(&task);
    }
}

/* One score of a row far above all others; all alike; none below the mask's value. */
static void test_sharp(void **state)
{
    struct conformance *c = *state;
    const struct attention_shape shape = {.precision = PRECISION_BF16,
                                          .batch = 1,
                                          .heads = 1,
                                          .length = 40,
                                          .head_size = 64,
                                          .causal = true,
                                          .training = true,
                                          .scale = 8.0f};
    struct task task;
    struct attention *attention;

    if (!device_has_attention(c->device))
        skip();
    task = make_task(c, &shape, false);
    for (uint64_t i = 0; i < 20 * 64; i++) { /* the first rows score 0 everywhere */
        task.arrays[Q].values[i] = 0.0;
        task.arrays[Q].bits[task.arrays[Q].offset + i] = 0;
    }
    expect_ok(c, device_upload(task.arrays[Q].buffer, 0, task.arrays[Q].bits,
                               task.arrays[Q].count * 2, &c->err));
    attention = create(c, &task.shape);
    if (attention != NULL) {
        reference(&task);
        check_task(c, &task, attention);
    }
    device_attention_destroy(attention);
    free_task(&task);
}

/* More bindings than are kept: each still reads and writes its own. */
static void test_many_bindings(void **state)
{
    struct conformance *c = *state;
    const struct attention_shape shape = {.precision = PRECISION_FP16,
                                          .batch = 1,
                                          .heads = 1,
                                          .length = 3,
                                          .head_size = 8,
                                          .causal = true};
    struct attention_operands operands;
    struct attention *attention;
    struct task task;
    struct buffer *many;

    if (!device_has_attention(c->device))
        skip();
    task = make_task(c, &shape, false);
    attention = create(c, &task.shape);
    if (attention != NULL) {
        task.shape.scale = attention->shape.scale;
        reference(&task);
        operands = operands_of(&task);
        many = conformance_buffer(c, NULL, 200 * 64);
        for (int round = 0; round < 2; round++)
            for (uint64_t i = 0; i < 100; i++) {
                operands.o = (struct product_operand){many, i * 32};
                expect_ok(c, device_attention_forward(attention, &operands, &c->err));
            }
        check_task(c, &task, attention);
        device_buffer_free(many);
    }
    device_attention_destroy(attention);
    free_task(&task);
}

static void test_support(void **state)
{
    struct conformance *c = *state;

    for (int p = 0; p < PRECISION_COUNT; p++) {
        struct attention_info info;

        device_attention_support(c->device, (enum precision)p, &info);
        assert_true(info.forward.method[0] != '\0' && info.backward.method[0] != '\0');
        if (!device_has_attention(c->device))
            assert_int_equal(info.forward.support, SUPPORT_ABSENT);
        if (info.forward.support == SUPPORT_ABSENT || info.forward.support == SUPPORT_UNKNOWN)
            continue;
        assert_true(p == PRECISION_BF16 || p == PRECISION_FP16);
        assert_true(info.forward.library[0] != '\0' && info.forward.version[0] != '\0' &&
                    info.forward.algorithm[0] != '\0');
    }
}

static void test_refused(void **state)
{
    struct conformance *c = *state;
    const struct attention_shape good = {.precision = PRECISION_BF16,
                                         .batch = 2,
                                         .heads = 2,
                                         .length = 8,
                                         .head_size = 16,
                                         .causal = true};
    struct attention *attention = NULL;
    struct attention_operands operands;
    struct attention_shape bad[8];
    struct task task;
    struct buffer *small;

    if (!device_has_attention(c->device))
        skip();
    task = make_task(c, &good, true);
    for (size_t i = 0; i < 8; i++)
        bad[i] = task.shape;
    bad[0].batch = 0;
    bad[1].length = 0;
    bad[2].head_size = (uint64_t)1 << 40;
    bad[3].q.row = 8;
    bad[4].o.head = 0;
    bad[5].k.batch = 3 * 32;
    bad[6].scale = (float)NAN;
    bad[7].v.batch = (uint64_t)1 << 62;
    for (size_t i = 0; i < 8; i++)
        expect_status(c, STATUS_INVALID,
                      device_attention_create(c->device, &bad[i], &attention, &c->err));
    bad[0] = bad[1] = bad[2] = task.shape;
    bad[0].precision = PRECISION_FP32;
    bad[1].precision = PRECISION_INT8;
    bad[2].head_size = 12;
    for (size_t i = 0; i < 3; i++)
        expect_status(c, STATUS_UNSUPPORTED,
                      device_attention_create(c->device, &bad[i], &attention, &c->err));
    assert_null(attention);
    attention = create(c, &task.shape);
    if (attention != NULL) {
        operands = operands_of(&task);
        expect_status(c, STATUS_INTERNAL,
                      device_attention_backward(attention, &operands, &c->err));
        operands.k.offset += task.arrays[K].count;
        expect_status(c, STATUS_INVALID, device_attention_forward(attention, &operands, &c->err));
        operands = operands_of(&task);
        operands.v.offset += 1;
        expect_status(c, STATUS_UNSUPPORTED,
                      device_attention_forward(attention, &operands, &c->err));
        small = conformance_buffer(c, NULL, 64);
        operands = operands_of(&task);
        operands.o.buffer = small;
        expect_status(c, STATUS_INVALID, device_attention_forward(attention, &operands, &c->err));
        operands.o.buffer = NULL;
        expect_status(c, STATUS_INTERNAL, device_attention_forward(attention, &operands, &c->err));
        device_buffer_free(small);
    }
    device_attention_destroy(attention);
    device_attention_destroy(NULL);
    free_task(&task);
}

CONFORMANCE_AREA(conformance_attention, {"every precision is answered", test_support, true},
                 {"odd lengths and heads, forward and backward", test_shapes, true},
                 {"sharp and flat rows", test_sharp, true},
                 {"many bindings", test_many_bindings, true},
                 {"what cannot be is refused", test_refused, true});
