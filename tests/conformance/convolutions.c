/*
 * The vendor library's convolution, wherever a device has one, against fp64.
 *
 * An output is a sum of rows * columns * channels terms of a filter. Integers as f32 are rounded
 * once, or at every step.
 */
#include "tests/conformance/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/operations.h"

static const struct array_source source = {.seed = 37, .least = -127};

struct task {
    struct convolution_shape shape;
    struct array input, weights, output;
};

static struct task make_task(struct conformance *c, const struct convolution_shape *shape)
{
    struct task task = {.shape = *shape};

    task.input = array_make(c, &source, shape->type,
                            shape->batch * shape->height * shape->width * shape->channels, 16, 1);
    task.weights = array_make(c, &source, shape->type,
                              shape->filters * shape->kernel_height * shape->kernel_width *
                                  (shape->channels / shape->groups),
                              32, 2);
    task.output = array_make(c, &source, shape->result_type,
                             shape->batch * convolution_out_height(shape) *
                                 convolution_out_width(shape) * shape->filters,
                             48, 3);
    return task;
}

static void free_task(struct task *task)
{
    array_free(&task->input);
    array_free(&task->weights);
    array_free(&task->output);
}

/* One element of the output, and in `ret_sum` the absolute values of all that is added. */
static double element(const struct task *task, uint64_t b, uint64_t y, uint64_t x, uint64_t f,
                      double *ret_sum)
{
    const struct convolution_shape *s = &task->shape;
    const uint64_t channels = s->channels / s->groups, group = f / (s->filters / s->groups);
    const double *weights = task->weights.values + task->weights.offset +
                            f * s->kernel_height * s->kernel_width * channels;
    double value = 0, sum = 0;

    for (uint64_t r = 0; r < s->kernel_height; r++)
        for (uint64_t q = 0; q < s->kernel_width; q++) {
            const int64_t iy = (int64_t)(y * s->stride_y + r * s->dilation_y) - (int64_t)s->pad_y;
            const int64_t ix = (int64_t)(x * s->stride_x + q * s->dilation_x) - (int64_t)s->pad_x;

            if (iy < 0 || ix < 0 || iy >= (int64_t)s->height || ix >= (int64_t)s->width)
                continue;
            for (uint64_t c = 0; c < channels; c++) {
                const uint64_t at =
                    ((b * s->height + (uint64_t)iy) * s->width + (uint64_t)ix) * s->channels +
                    group * channels + c;
                const double term = task->input.values[task->input.offset + at] *
                                    weights[(r * s->kernel_width + q) * channels + c];

                value += term;
                sum += fabs(term);
            }
        }
    *ret_sum = sum;
    return value;
}

static void describe(const struct convolution_shape *s, char ret[200])
{
    snprintf(ret, 200,
             "%s to %s, %llu of %llux%llux%llu, %llu of %llux%llu, stride %llux%llu, padding "
             "%llux%llu, dilation %llux%llu, groups %llu",
             precision_name(s->precision), dtype_name(s->result_type), (unsigned long long)s->batch,
             (unsigned long long)s->height, (unsigned long long)s->width,
             (unsigned long long)s->channels, (unsigned long long)s->filters,
             (unsigned long long)s->kernel_height, (unsigned long long)s->kernel_width,
             (unsigned long long)s->stride_y, (unsigned long long)s->stride_x,
             (unsigned long long)s->pad_y, (unsigned long long)s->pad_x,
             (unsigned long long)s->dilation_y, (unsigned long long)s->dilation_x,
             (unsigned long long)s->groups);
}

/* Runs once and compares all of the output; the memory around it must not have changed. */
static void check_task(struct conformance *c, struct task *task, struct operation *convolution)
{
    const struct convolution_shape *s = &task->shape;
    const struct operand input = {task->input.buffer, task->input.offset};
    const struct operand output = {task->output.buffer, task->output.offset};
    const uint64_t width = dtype_bits(s->result_type) / 8, bytes = task->output.count * width;
    const uint64_t oh = convolution_out_height(s), ow = convolution_out_width(s);
    const uint64_t terms = s->kernel_height * s->kernel_width * (s->channels / s->groups);
    unsigned char *before = malloc(bytes);
    uint64_t at = task->output.offset;
    char what[200];

    assert_non_null(before);
    describe(s, what);
    memcpy(before, task->output.bytes, bytes);
    expect_ok(c, run_convolution(convolution, &input, &output, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    expect_ok(c, device_download(task->output.buffer, 0, task->output.bytes, bytes, &c->err));
    for (uint64_t b = 0; b < s->batch; b++)
        for (uint64_t y = 0; y < oh; y++)
            for (uint64_t x = 0; x < ow; x++)
                for (uint64_t f = 0; f < s->filters; f++, at++) {
                    const double got = array_get(&task->output, at);
                    double sum, exact = element(task, b, y, x, f, &sum);
                    const double bound =
                        array_bound(c, s->precision, s->result_type, terms, exact, sum);

                    if (!array_agrees(got, exact, bound))
                        fail_msg("%s: output [%llu, %llu, %llu, %llu] is %a, expected %a +- %a",
                                 what, (unsigned long long)b, (unsigned long long)y,
                                 (unsigned long long)x, (unsigned long long)f, got, exact, bound);
                }
    if (memcmp(before, task->output.bytes, task->output.offset * width) != 0 ||
        memcmp(before + bytes - ARRAY_GUARD * width,
               task->output.bytes + bytes - ARRAY_GUARD * width, ARRAY_GUARD * width) != 0)
        fail_msg("%s: memory around the output was overwritten", what);
    free(before);
}

/* False where the library does not support this shape, which must be reported as UNSUPPORTED. */
static bool try_shape(struct conformance *c, const struct convolution_shape *shape)
{
    struct operation *convolution = NULL;
    struct operand weights;
    struct task task;
    char what[200];

    c->err = (struct error)ERROR_INIT;
    if (create_convolution(c->device, shape, &convolution, &c->err) != STATUS_OK) {
        describe(shape, what);
        if (c->err.code != STATUS_UNSUPPORTED || c->err.message[0] == '\0')
            fail_msg("%s: %s (%s)", what, c->err.message, status_name(c->err.code));
        return false;
    }
    task = make_task(c, shape);
    weights = (struct operand){task.weights.buffer, task.weights.offset};
    expect_ok(c, operation_set_weights(convolution, &weights, &c->err));
    check_task(c, &task, convolution);
    free_task(&task);
    operation_destroy(convolution);
    return true;
}

static const enum precision precisions[] = {PRECISION_FP64, PRECISION_FP32, PRECISION_TF32,
                                            PRECISION_BF16, PRECISION_FP16, PRECISION_INT8};
#define PRECISIONS (sizeof(precisions) / sizeof(precisions[0]))

/* Every precision has an answer, and create agrees with it. */
static void test_support(void **state)
{
    struct conformance *c = *state;

    if (!device_has_operation(c->device, OPERATION_CONVOLUTION))
        skip();
    for (size_t p = 0; p < PRECISIONS; p++) {
        struct operation_info info;

        operation_support(c->device, OPERATION_CONVOLUTION, precisions[p], &info);
        print_message("  %-5s %s, %s %s %s: %s; weights %s\n", precision_name(precisions[p]),
                      support_name(info.support), info.library, info.version, info.algorithm,
                      info.method, info.weights);
        assert_true(info.method[0] != '\0');
        if (info.support == SUPPORT_ABSENT)
            continue;
        assert_true(info.library[0] != '\0' && info.version[0] != '\0');
        assert_true(info.weights[0] != '\0');
    }
}

static struct convolution_shape in_precision(struct convolution_shape shape,
                                             enum precision precision, enum dtype result)
{
    shape.precision = precision;
    shape.type = precision_dtype(precision);
    shape.result_type = result;
    return shape;
}

/* batch, image, channels, filters, kernel, stride, dilation, groups, padding */
#define SHAPE(b, h, w, ch, f, kh, kw, sy, sx, dy, dx, g, py, px)                                   \
    {                                                                                              \
        .batch = b, .height = h, .width = w, .channels = ch, .filters = f, .kernel_height = kh,    \
        .kernel_width = kw, .stride_y = sy, .stride_x = sx, .dilation_y = dy, .dilation_x = dx,    \
        .groups = g, .pad_y = py, .pad_x = px                                                      \
    }

static const struct convolution_shape odd_shapes[] = {
    SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0),
    SHAPE(2, 13, 11, 3, 17, 7, 7, 2, 2, 1, 1, 1, 3, 3),
    SHAPE(1, 7, 19, 37, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1),
    SHAPE(3, 5, 5, 2, 3, 5, 5, 1, 1, 1, 1, 1, 0, 0),
    SHAPE(1, 3, 2, 5, 4, 3, 3, 3, 3, 1, 1, 1, 2, 2),
    SHAPE(1, 17, 9, 6, 10, 3, 3, 1, 1, 3, 3, 1, 2, 2),
    SHAPE(1, 6, 13, 4, 8, 1, 5, 1, 2, 1, 2, 1, 0, 2),
    SHAPE(1, 9, 8, 64, 72, 1, 1, 2, 2, 1, 1, 1, 0, 0),
    SHAPE(2, 8, 8, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1),
    SHAPE(1, 8, 10, 12, 18, 3, 3, 1, 1, 1, 1, 6, 1, 1),
    SHAPE(1, 6, 7, 35, 35, 5, 5, 2, 2, 1, 1, 35, 2, 2),
};

static void test_sizes(void **state)
{
    struct conformance *c = *state;
    int ran = 0;

    if (!device_has_operation(c->device, OPERATION_CONVOLUTION))
        skip();
    for (size_t p = 0; p < PRECISIONS; p++) {
        const enum dtype type = precision_dtype(precisions[p]);
        const enum dtype results[] = {type == DTYPE_I8 ? DTYPE_I32 : type, DTYPE_F32};
        const size_t count = type == DTYPE_F64 || type == DTYPE_F32 ? 1 : 2;

        for (size_t i = 0; i < sizeof(odd_shapes) / sizeof(odd_shapes[0]); i++)
            for (size_t r = 0; r < count; r++) {
                const struct convolution_shape shape =
                    in_precision(odd_shapes[i], precisions[p], results[r]);

                ran += try_shape(c, &shape);
            }
    }
    assert_true(ran > 0);
}

/* NaN and infinity of a patch appear in its outputs, and in no other. */
static void test_special_values(void **state)
{
    struct conformance *c = *state;
    const struct convolution_shape shape = in_precision(odd_shapes[2], PRECISION_FP32, DTYPE_F32);
    struct operation *convolution = NULL;
    struct operand weights;
    struct task task;

    if (!device_has_operation(c->device, OPERATION_CONVOLUTION))
        skip();
    expect_ok(c, create_convolution(c->device, &shape, &convolution, &c->err));
    task = make_task(c, &shape);
    array_put(&task.input, task.input.offset + 40, (double)NAN);
    array_put(&task.input, task.input.offset + 2000, (double)INFINITY);
    array_put(&task.input, task.input.offset + 4000, (double)-INFINITY);
    array_upload(c, &task.input);
    weights = (struct operand){task.weights.buffer, task.weights.offset};
    expect_ok(c, operation_set_weights(convolution, &weights, &c->err));
    check_task(c, &task, convolution);
    free_task(&task);
    operation_destroy(convolution);
}

/* Two of one shape at once, and new weights in place of old ones. */
static void test_again(void **state)
{
    struct conformance *c = *state;
    const struct convolution_shape shape = in_precision(odd_shapes[8], PRECISION_FP32, DTYPE_F32);
    struct operation *both[2] = {NULL, NULL};
    struct task task;

    if (!device_has_operation(c->device, OPERATION_CONVOLUTION))
        skip();
    for (size_t i = 0; i < 2; i++)
        expect_ok(c, create_convolution(c->device, &shape, &both[i], &c->err));
    task = make_task(c, &shape);
    for (int i = 0; i < 4; i++) {
        const struct operand weights = {task.weights.buffer, task.weights.offset};

        for (uint64_t e = 0; e < task.weights.count; e++)
            array_put(&task.weights, e, task.weights.values[e] * (i % 2 ? 0.5 : -2));
        array_upload(c, &task.weights);
        expect_ok(c, operation_set_weights(both[i % 2], &weights, &c->err));
        check_task(c, &task, both[i % 2]);
        check_task(c, &task, both[i % 2]);
    }
    free_task(&task);
    operation_destroy(both[0]);
    operation_destroy(both[1]);
    operation_destroy(NULL);
}

/* Every listed algorithm computes the same, and reports its name. */
static void test_algorithms(void **state)
{
    struct conformance *c = *state;
    uint32_t selected = 0;

    if (!device_has_operation(c->device, OPERATION_CONVOLUTION))
        skip();
    for (size_t p = 0; p < PRECISIONS; p++) {
        const enum dtype type = precision_dtype(precisions[p]);
        const struct convolution_shape shape =
            in_precision(odd_shapes[8], precisions[p], type == DTYPE_I8 ? DTYPE_F32 : type);
        struct operation *convolution = NULL;
        struct operation_info info;
        struct operand weights;
        struct task task;

        if (create_convolution(c->device, &shape, &convolution, NULL) != STATUS_OK)
            continue;
        expect_ok(c, operation_describe(convolution, &info, &c->err));
        task = make_task(c, &shape);
        weights = (struct operand){task.weights.buffer, task.weights.offset};
        expect_ok(c, operation_set_weights(convolution, &weights, &c->err));
        for (uint32_t i = 0; i < info.algorithms; i++, selected++) {
            const uint32_t count = info.algorithms;

            expect_ok(c, operation_select(convolution, count - 1 - i, &c->err));
            expect_ok(c, operation_describe(convolution, &info, &c->err));
            assert_true(info.algorithm[0] != '\0');
            assert_int_equal(info.algorithms, count);
            check_task(c, &task, convolution);
        }
        free_task(&task);
        operation_destroy(convolution);
    }
    print_message("  %u algorithms\n", selected);
}

static void test_refused(void **state)
{
    struct conformance *c = *state;
    const struct convolution_shape good = in_precision(odd_shapes[8], PRECISION_FP32, DTYPE_F32);
    struct convolution_shape bad[7];
    struct operation *convolution = NULL;
    struct operand small;

    if (!device_has_operation(c->device, OPERATION_CONVOLUTION))
        skip();
    for (size_t i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].batch = 0;
    bad[1].channels = 0;
    bad[2].groups = 3;
    bad[3].kernel_height = 11;
    bad[4].type = DTYPE_BF16;
    bad[5].result_type = DTYPE_F16;
    bad[6].width = (uint64_t)1 << 40;
    for (size_t i = 0; i < 7; i++)
        expect_status(c, STATUS_INVALID,
                      create_convolution(c->device, &bad[i], &convolution, &c->err));
    assert_null(convolution);
    expect_ok(c, create_convolution(c->device, &good, &convolution, &c->err));
    small.buffer = conformance_buffer(c, NULL, 64);
    small.offset = 0;
    expect_status(c, STATUS_INVALID, operation_set_weights(convolution, &small, &c->err));
    expect_status(c, STATUS_INVALID, run_convolution(convolution, &small, &small, &c->err));
    device_buffer_free(small.buffer);
    small.buffer = conformance_buffer(c, NULL, 1 << 20);
    expect_status(c, STATUS_INTERNAL, run_convolution(convolution, &small, &small, &c->err));
    device_buffer_free(small.buffer);
    operation_destroy(convolution);
}

CONFORMANCE_AREA(conformance_convolutions, {"every precision is answered", test_support, true},
                 {"odd sizes, strides, dilations, groups", test_sizes, true},
                 {"NaN and infinity", test_special_values, true},
                 {"again and again", test_again, true},
                 {"each algorithm that is listed", test_algorithms, true},
                 {"what cannot be is refused", test_refused, true});
