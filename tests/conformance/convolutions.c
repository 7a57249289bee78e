/*
 * The vendor library's convolution, wherever a device has one, against fp64.
 *
 * The bound is that of products.c for a sum of k terms, k = rows * columns * channels of a filter.
 * Integers are exact; as f32 they are rounded once, or at every step.
 */
#include "tests/conformance/conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/conformance/reference.h"

/* What an array is in fp64, and the same in its type, `offset` elements from where it begins. */
struct array {
    enum dtype type;
    uint64_t offset, count;
    double *values;
    unsigned char *bytes;
    struct buffer *buffer;
};

#define GUARD 3 /* elements behind the array's own */

/* Stores `value` as near as the type can, and puts what was stored back into values. */
static void put(struct array *array, uint64_t at, double value)
{
    unsigned char *to = array->bytes + at * (dtype_bits(array->type) / 8);
    uint16_t half;
    float single;

    switch (array->type) {
    case DTYPE_F64:
        memcpy(to, &value, 8);
        break;
    case DTYPE_F32:
        single = (float)value;
        memcpy(to, &single, 4);
        value = (double)single;
        break;
    case DTYPE_I8:
        *(int8_t *)to = (int8_t)value;
        break;
    case DTYPE_I32:
        memset(to, 0x55, 4);
        break;
    default: {
        const struct small_float *format =
            array->type == DTYPE_BF16 ? &reference_bf16 : &reference_f16;

        half = reference_encode(format, value);
        memcpy(to, &half, 2);
        value = reference_decode(format, half);
    }
    }
    array->values[at] = value;
}

static double get(const struct array *array, uint64_t at)
{
    const unsigned char *from = array->bytes + at * (dtype_bits(array->type) / 8);
    uint16_t half;
    double value;
    float single;
    int32_t whole;

    switch (array->type) {
    case DTYPE_F64:
        memcpy(&value, from, 8);
        return value;
    case DTYPE_F32:
        memcpy(&single, from, 4);
        return (double)single;
    case DTYPE_I32:
        memcpy(&whole, from, 4);
        return whole;
    default:
        memcpy(&half, from, 2);
        return reference_decode(array->type == DTYPE_BF16 ? &reference_bf16 : &reference_f16, half);
    }
}

static struct array make_array(struct conformance *c, enum dtype type, uint64_t count,
                               uint64_t offset, uint64_t stream)
{
    struct array array = {.type = type, .offset = offset, .count = count + offset + GUARD};
    const uint64_t bytes = array.count * dtype_bits(type) / 8;
    struct random random;

    array.values = calloc(array.count, sizeof(double));
    array.bytes = calloc(1, bytes);
    assert_true(array.values != NULL && array.bytes != NULL);
    random_init(&random, 37, stream);
    for (uint64_t i = 0; i < array.count; i++) {
        const double u = random_next_unit(&random);

        put(&array, i, type == DTYPE_I8 ? floor(u * 255) - 127 : 2 * u - 1);
    }
    array.buffer = conformance_buffer(c, array.bytes, bytes);
    return array;
}

static void free_array(struct array *array)
{
    device_buffer_free(array->buffer);
    free(array->values);
    free(array->bytes);
}

struct task {
    struct convolution_shape shape;
    struct array input, weights, output;
};

static struct task make_task(struct conformance *c, const struct convolution_shape *shape)
{
    struct task task = {.shape = *shape};

    task.input = make_array(c, shape->type,
                            shape->batch * shape->height * shape->width * shape->channels, 16, 1);
    task.weights = make_array(c, shape->type,
                              shape->filters * shape->kernel_height * shape->kernel_width *
                                  (shape->channels / shape->groups),
                              32, 2);
    task.output = make_array(c, shape->result_type,
                             shape->batch * convolution_out_height(shape) *
                                 convolution_out_width(shape) * shape->filters,
                             48, 3);
    return task;
}

static void free_task(struct task *task)
{
    free_array(&task->input);
    free_array(&task->weights);
    free_array(&task->output);
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

static double unit_roundoff(enum dtype type)
{
    return type == DTYPE_F64    ? 0x1p-53
           : type == DTYPE_F32  ? 0x1p-24
           : type == DTYPE_F16  ? 0x1p-11
           : type == DTYPE_BF16 ? 0x1p-8
                                : 0;
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

static double bound_of(const struct convolution_shape *s, double exact, double sum)
{
    const double k = (double)(s->kernel_height * s->kernel_width * (s->channels / s->groups));
    const double u = s->precision == PRECISION_FP64 ? 0x1p-53 : 0x1p-24;
    const double round = s->precision == PRECISION_TF32 ? 0x1p-10 : 0;

    if (s->result_type == DTYPE_I32)
        return 0;
    return (k + 4) * u * sum + round * sum + unit_roundoff(s->result_type) * fabs(exact) + 0x1p-140;
}

/* Runs once and compares all of the output; what stands around it must not have changed. */
static void check_task(struct conformance *c, struct task *task, struct convolution *convolution)
{
    const struct convolution_shape *s = &task->shape;
    const struct product_operand input = {task->input.buffer, task->input.offset};
    const struct product_operand output = {task->output.buffer, task->output.offset};
    const uint64_t width = dtype_bits(s->result_type) / 8, bytes = task->output.count * width;
    const uint64_t oh = convolution_out_height(s), ow = convolution_out_width(s);
    unsigned char *before = malloc(bytes);
    uint64_t at = task->output.offset;
    char what[200];

    assert_non_null(before);
    describe(s, what);
    memcpy(before, task->output.bytes, bytes);
    expect_ok(c, device_convolution_run(convolution, &input, &output, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    expect_ok(c, device_download(task->output.buffer, 0, task->output.bytes, bytes, &c->err));
    for (uint64_t b = 0; b < s->batch; b++)
        for (uint64_t y = 0; y < oh; y++)
            for (uint64_t x = 0; x < ow; x++)
                for (uint64_t f = 0; f < s->filters; f++, at++) {
                    const double got = get(&task->output, at);
                    double sum, exact = element(task, b, y, x, f, &sum);
                    const double bound = bound_of(s, exact, sum);

                    if (isfinite(exact) ? !(fabs(got - exact) <= bound)
                        : isnan(exact)  ? !isnan(got)
                                        : got != exact)
                        fail_msg("%s: output [%llu, %llu, %llu, %llu] is %a, expected %a +- %a",
                                 what, (unsigned long long)b, (unsigned long long)y,
                                 (unsigned long long)x, (unsigned long long)f, got, exact, bound);
                }
    if (memcmp(before, task->output.bytes, task->output.offset * width) != 0 ||
        memcmp(before + bytes - GUARD * width, task->output.bytes + bytes - GUARD * width,
               GUARD * width) != 0)
        fail_msg("%s: what stands around the output was overwritten", what);
    free(before);
}

/* False where the library does not do this shape: that must be said, and by UNSUPPORTED alone. */
static bool try_shape(struct conformance *c, const struct convolution_shape *shape)
{
    struct convolution *convolution = NULL;
    struct product_operand weights;
    struct task task;
    char what[200];

    c->err = (struct error)ERROR_INIT;
    if (device_convolution_create(c->device, shape, &convolution, &c->err) != STATUS_OK) {
        describe(shape, what);
        if (c->err.code != STATUS_UNSUPPORTED || c->err.message[0] == '\0')
            fail_msg("%s: %s (%s)", what, c->err.message, status_name(c->err.code));
        return false;
    }
    task = make_task(c, shape);
    weights = (struct product_operand){task.weights.buffer, task.weights.offset};
    expect_ok(c, device_convolution_set_weights(convolution, &weights, &c->err));
    check_task(c, &task, convolution);
    free_task(&task);
    device_convolution_destroy(convolution);
    return true;
}

static const enum precision precisions[] = {PRECISION_FP64, PRECISION_FP32, PRECISION_TF32,
                                            PRECISION_BF16, PRECISION_FP16, PRECISION_INT8};
#define PRECISIONS (sizeof(precisions) / sizeof(precisions[0]))

/* Every precision answers, and what it answers is what create does. */
static void test_support(void **state)
{
    struct conformance *c = *state;

    if (!device_has_convolutions(c->device))
        skip();
    for (size_t p = 0; p < PRECISIONS; p++) {
        struct convolution_info info;

        device_convolution_support(c->device, precisions[p], &info);
        print_message("  %-5s %s, %s %s %s: %s; weights %s\n", precision_name(precisions[p]),
                      support_name(info.library.support), info.library.library,
                      info.library.version, info.library.algorithm, info.library.method,
                      info.weights);
        assert_true(info.library.method[0] != '\0');
        if (info.library.support == SUPPORT_ABSENT)
            continue;
        assert_true(info.library.library[0] != '\0' && info.library.version[0] != '\0');
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

    if (!device_has_convolutions(c->device))
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

/* What a patch holds of NaN and infinity shows in its outputs, and in no other. */
static void test_special_values(void **state)
{
    struct conformance *c = *state;
    const struct convolution_shape shape = in_precision(odd_shapes[2], PRECISION_FP32, DTYPE_F32);
    struct convolution *convolution = NULL;
    struct product_operand weights;
    struct task task;

    if (!device_has_convolutions(c->device))
        skip();
    expect_ok(c, device_convolution_create(c->device, &shape, &convolution, &c->err));
    task = make_task(c, &shape);
    put(&task.input, task.input.offset + 40, (double)NAN);
    put(&task.input, task.input.offset + 2000, (double)INFINITY);
    put(&task.input, task.input.offset + 4000, (double)-INFINITY);
    expect_ok(c,
              device_upload(task.input.buffer, 0, task.input.bytes, task.input.count * 4, &c->err));
    weights = (struct product_operand){task.weights.buffer, task.weights.offset};
    expect_ok(c, device_convolution_set_weights(convolution, &weights, &c->err));
    check_task(c, &task, convolution);
    free_task(&task);
    device_convolution_destroy(convolution);
}

/* Two of one shape at once, and new weights in place of old ones. */
static void test_again(void **state)
{
    struct conformance *c = *state;
    const struct convolution_shape shape = in_precision(odd_shapes[8], PRECISION_FP32, DTYPE_F32);
    struct convolution *both[2] = {NULL, NULL};
    struct task task;

    if (!device_has_convolutions(c->device))
        skip();
    for (size_t i = 0; i < 2; i++)
        expect_ok(c, device_convolution_create(c->device, &shape, &both[i], &c->err));
    task = make_task(c, &shape);
    for (int i = 0; i < 4; i++) {
        const struct product_operand weights = {task.weights.buffer, task.weights.offset};

        for (uint64_t e = 0; e < task.weights.count; e++)
            put(&task.weights, e, task.weights.values[e] * (i % 2 ? 0.5 : -2));
        expect_ok(c, device_upload(task.weights.buffer, 0, task.weights.bytes,
                                   task.weights.count * 4, &c->err));
        expect_ok(c, device_convolution_set_weights(both[i % 2], &weights, &c->err));
        check_task(c, &task, both[i % 2]);
        check_task(c, &task, both[i % 2]);
    }
    free_task(&task);
    device_convolution_destroy(both[0]);
    device_convolution_destroy(both[1]);
    device_convolution_destroy(NULL);
}

static void test_refused(void **state)
{
    struct conformance *c = *state;
    const struct convolution_shape good = in_precision(odd_shapes[8], PRECISION_FP32, DTYPE_F32);
    struct convolution_shape bad[7];
    struct convolution *convolution = NULL;
    struct product_operand small;

    if (!device_has_convolutions(c->device))
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
                      device_convolution_create(c->device, &bad[i], &convolution, &c->err));
    assert_null(convolution);
    expect_ok(c, device_convolution_create(c->device, &good, &convolution, &c->err));
    small.buffer = conformance_buffer(c, NULL, 64);
    small.offset = 0;
    expect_status(c, STATUS_INVALID, device_convolution_set_weights(convolution, &small, &c->err));
    expect_status(c, STATUS_INVALID, device_convolution_run(convolution, &small, &small, &c->err));
    device_buffer_free(small.buffer);
    small.buffer = conformance_buffer(c, NULL, 1 << 20);
    expect_status(c, STATUS_INTERNAL, device_convolution_run(convolution, &small, &small, &c->err));
    device_buffer_free(small.buffer);
    device_convolution_destroy(convolution);
}

CONFORMANCE_AREA(conformance_convolutions, {"every precision is answered", test_support, true},
                 {"odd sizes, strides, dilations, groups", test_sizes, true},
                 {"NaN and infinity", test_special_values, true},
                 {"again and again", test_again, true},
                 {"what cannot be is refused", test_refused, true});
