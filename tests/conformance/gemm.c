/* The vendor library's GEMM, wherever a device has one, against fp64. */
#include "tests/conformance/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/support/operations.h"

static const struct array_source source = {.seed = 31, .least = -128};

struct task {
    struct gemm_shape shape;
    struct array a, b, c, bias, d;
    bool in_place; /* D is C */
};

static uint64_t extent(const struct gemm_shape *shape, const struct gemm_matrix *matrix,
                       uint64_t rows, uint64_t columns)
{
    return (shape->outer - 1) * matrix->outer_stride + (shape->inner - 1) * matrix->inner_stride +
           ((matrix->transpose ? columns : rows) - 1) * matrix->stride +
           (matrix->transpose ? rows : columns);
}

/* Elements before A, B, C, bias and D: multiples of 16 bytes in whatever type, and odd ones. */
static const uint64_t aligned[5] = {16, 48, 32, 16, 64}, odd[5] = {5, 3, 7, 1, 2};

static struct task make_task(struct conformance *c, const struct gemm_shape *shape, bool in_place,
                             const uint64_t at[5])
{
    struct task task = {.shape = *shape, .in_place = in_place};
    const uint64_t size = extent(shape, &shape->c, shape->m, shape->n);

    task.a = array_make(c, &source, shape->a.type, extent(shape, &shape->a, shape->m, shape->k),
                        at[0], 1);
    task.b = array_make(c, &source, shape->b.type, extent(shape, &shape->b, shape->k, shape->n),
                        at[1], 2);
    task.c = array_make(c, &source, shape->c.type, size, at[2], 3);
    if (shape->bias)
        task.bias = array_make(c, &source, shape->bias_type, shape->n, at[3], 4);
    if (shape->add && !in_place)
        task.d = array_make(c, &source, shape->c.type, size, at[4], 5);
    return task;
}

static void free_task(struct task *task)
{
    array_free(&task->a);
    array_free(&task->b);
    array_free(&task->c);
    if (task->bias.buffer != NULL)
        array_free(&task->bias);
    if (task->d.buffer != NULL)
        array_free(&task->d);
}

static uint64_t index_of(const struct gemm_matrix *matrix, const struct array *array,
                         uint64_t outer, uint64_t inner, uint64_t row, uint64_t column)
{
    return array->offset + outer * matrix->outer_stride + inner * matrix->inner_stride +
           (matrix->transpose ? column * matrix->stride + row : row * matrix->stride + column);
}

/* One element: its value, and in `ret_sum` the absolute values of all that is added. */
static double element(const struct task *task, uint64_t outer, uint64_t inner, uint64_t row,
                      uint64_t column, double *ret_sum)
{
    const struct gemm_shape *shape = &task->shape;
    const double alpha = shape->alpha != 0.0f ? (double)shape->alpha : 1;
    double value = 0, sum = 0;

    for (uint64_t p = 0; p < shape->k; p++) {
        const double term = task->a.values[index_of(&shape->a, &task->a, outer, inner, row, p)] *
                            task->b.values[index_of(&shape->b, &task->b, outer, inner, p, column)];

        value += term;
        sum += fabs(term);
    }
    value *= alpha;
    sum *= fabs(alpha);
    if (shape->bias) {
        value += task->bias.values[task->bias.offset + column];
        sum += fabs(task->bias.values[task->bias.offset + column]);
    }
    if (shape->add) {
        const struct array *d = task->in_place ? &task->c : &task->d;
        const double term = d->values[index_of(&shape->c, d, outer, inner, row, column)];

        value += term;
        sum += fabs(term);
    }
    *ret_sum = sum;
    return value;
}

static void describe(const struct gemm_shape *shape, char ret[160])
{
    snprintf(ret, 160, "%s %llux%llux%llu, %llu x %llu, A%s B%s to %s%s%s, alpha %g",
             precision_name(shape->precision), (unsigned long long)shape->m,
             (unsigned long long)shape->n, (unsigned long long)shape->k,
             (unsigned long long)shape->outer, (unsigned long long)shape->inner,
             shape->a.transpose ? "'" : "", shape->b.transpose ? "'" : "",
             dtype_name(shape->c.type), shape->bias ? " + bias" : "", shape->add ? " + D" : "",
             (double)shape->alpha);
}

static enum status run_task(struct conformance *c, const struct task *task, struct operation *gemm)
{
    const struct gemm_operands operands = {
        .a = {task->a.buffer, task->a.offset},
        .b = {task->b.buffer, task->b.offset},
        .c = {task->c.buffer, task->c.offset},
        .bias = {task->bias.buffer, task->bias.offset},
        .d = {task->in_place ? task->c.buffer : task->d.buffer,
              task->in_place ? task->c.offset : task->d.offset},
    };

    c->err = (struct error)ERROR_INIT;
    return run_gemm(gemm, &operands, &c->err);
}

/* Compares all of C with the expected result; memory outside of C must not have changed. */
static void check_result(struct conformance *c, struct task *task)
{
    const struct gemm_shape *shape = &task->shape;
    const uint64_t bytes = task->c.count * dtype_bits(task->c.type) / 8;
    bool *written = calloc(task->c.count, 1);
    unsigned char *before = malloc(bytes);
    char what[160];

    assert_true(written != NULL && before != NULL);
    describe(shape, what);
    memcpy(before, task->c.bytes, bytes);
    expect_ok(c, device_synchronize(c->device, &c->err));
    expect_ok(c, device_download(task->c.buffer, 0, task->c.bytes, bytes, &c->err));
    for (uint64_t o = 0; o < shape->outer; o++)
        for (uint64_t i = 0; i < shape->inner; i++)
            for (uint64_t r = 0; r < shape->m; r++)
                for (uint64_t s = 0; s < shape->n; s++) {
                    const uint64_t at = index_of(&shape->c, &task->c, o, i, r, s);
                    const double got = array_get(&task->c, at);
                    double sum, exact = element(task, o, i, r, s, &sum);
                    const double bound =
                        array_bound(c, shape->precision, shape->c.type, shape->k, exact, sum);

                    written[at] = true;
                    if (!array_agrees(got, exact, bound))
                        fail_msg("%s: C[%llu][%llu] of matrix %llu, %llu is %a, expected %a +- %a",
                                 what, (unsigned long long)r, (unsigned long long)s,
                                 (unsigned long long)o, (unsigned long long)i, got, exact, bound);
                }
    for (uint64_t at = 0; at < task->c.count; at++)
        if (!written[at] && memcmp(before + at * dtype_bits(task->c.type) / 8,
                                   task->c.bytes + at * dtype_bits(task->c.type) / 8,
                                   dtype_bits(task->c.type) / 8) != 0)
            fail_msg("%s: element %llu, which is not C's, was overwritten", what,
                     (unsigned long long)at);
    free(written);
    free(before);
}

static void check_task(struct conformance *c, struct task *task, struct operation *gemm)
{
    expect_ok(c, run_task(c, task, gemm));
    check_result(c, task);
}

/* At odd offsets, which a library may refuse only by UNSUPPORTED; then it runs at aligned ones. */
static void check_gemm(struct conformance *c, const struct gemm_shape *shape, bool in_place,
                       struct operation *gemm)
{
    struct task task = make_task(c, shape, in_place, odd);
    const enum status status = run_task(c, &task, gemm);

    if (status == STATUS_OK) {
        check_result(c, &task);
    } else {
        assert_int_equal(status, STATUS_UNSUPPORTED);
        assert_true(c->err.message[0] != '\0');
        free_task(&task);
        task = make_task(c, shape, in_place, aligned);
        check_task(c, &task, gemm);
    }
    free_task(&task);
}

/* False where the library does not support this shape, which must be reported as UNSUPPORTED. */
static bool try_shape(struct conformance *c, const struct gemm_shape *shape, bool in_place)
{
    struct operation *gemm = NULL;
    char what[160];

    c->err = (struct error)ERROR_INIT;
    if (create_gemm(c->device, shape, &gemm, &c->err) != STATUS_OK) {
        describe(shape, what);
        if (c->err.code != STATUS_UNSUPPORTED || c->err.message[0] == '\0')
            fail_msg("%s: %s (%s)", what, c->err.message, status_name(c->err.code));
        return false;
    }
    check_gemm(c, shape, in_place, gemm);
    operation_destroy(gemm);
    return true;
}

static enum dtype sum_type(enum precision precision)
{
    return precision == PRECISION_FP64   ? DTYPE_F64
           : precision == PRECISION_INT8 ? DTYPE_I32
                                         : DTYPE_F32;
}

/* Consecutive matrices, with `pad` elements between rows. */
static struct gemm_shape plain_shape(enum precision precision, uint64_t m, uint64_t n, uint64_t k,
                                     uint64_t pad)
{
    const enum dtype type = precision_dtype(precision);

    return (struct gemm_shape){
        .precision = precision,
        .m = m,
        .n = n,
        .k = k,
        .outer = 1,
        .inner = 1,
        .a = {.type = type, .stride = k + pad},
        .b = {.type = type, .stride = n + pad},
        .c = {.type = sum_type(precision), .stride = n + pad},
        .alpha = 1,
    };
}

static bool is_there(struct conformance *c, enum precision precision)
{
    struct operation_info info;

    operation_support(c->device, OPERATION_GEMM, precision, &info);
    return info.support != SUPPORT_ABSENT;
}

/* Every precision has an answer, and create agrees with it. */
static void test_support(void **state)
{
    struct conformance *c = *state;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++) {
        const enum precision precision = (enum precision)p;
        struct operation_info info;

        operation_support(c->device, OPERATION_GEMM, precision, &info);
        print_message("  %-9s %s, %s %s %s: %s\n", precision_name(precision),
                      support_name(info.support), info.library, info.version, info.algorithm,
                      info.method);
        assert_true(info.method[0] != '\0');
        if (info.support == SUPPORT_ABSENT)
            continue;
        assert_true(info.library[0] != '\0' && info.version[0] != '\0');
    }
}

static void test_sizes(void **state)
{
    static const uint64_t sizes[][3] = {{1, 1, 1},    {1, 7, 3},     {13, 1, 5},    {17, 31, 29},
                                        {64, 64, 64}, {33, 127, 65}, {3, 257, 100}, {97, 2, 211}};
    struct conformance *c = *state;
    int ran = 0;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++) {
        if (!is_there(c, (enum precision)p) || p == PRECISION_FP4)
            continue;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            for (int t = 0; t < 8; t++) {
                struct gemm_shape shape = plain_shape((enum precision)p, sizes[i][0], sizes[i][1],
                                                      sizes[i][2], t & 4 ? 5 : 0);

                if (t & 1) {
                    shape.a.transpose = true;
                    shape.a.stride = shape.m + (t & 4 ? 3 : 0);
                }
                if (t & 2) {
                    shape.b.transpose = true;
                    shape.b.stride = shape.k + (t & 4 ? 9 : 0);
                }
                ran += try_shape(c, &shape, false);
            }
    }
    print_message("  %d GEMMs\n", ran);
    assert_true(ran > 0);
}

/*
 * Constant matrices B: one operation runs with two of them in turn, and operations with other
 * shapes, or with a D of their own, run with the same ones while it lives and after it.
 */
static void test_constants(void **state)
{
    struct conformance *c = *state;
    int ran = 0;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++)
        for (int t = 0; t < 2; t++) {
            struct gemm_shape shapes[2];
            struct operation *gemms[2] = {NULL, NULL};
            struct task tasks[3];
            struct array others;

            if (!is_there(c, (enum precision)p) || p == PRECISION_FP4)
                continue;
            for (int i = 0; i < 2; i++) {
                shapes[i] = plain_shape((enum precision)p, i ? 1 : 33, 96, 64, 0);
                shapes[i].constant_b = true;
                shapes[i].b.transpose = t;
                shapes[i].b.stride = t ? 64 : 96;
                shapes[i].add = i && p != PRECISION_INT8;
                if (create_gemm(c->device, &shapes[i], &gemms[i], &c->err) != STATUS_OK)
                    assert_int_equal(c->err.code, STATUS_UNSUPPORTED);
            }
            if (gemms[0] && gemms[1]) {
                tasks[0] = make_task(c, &shapes[0], false, aligned);
                tasks[1] = make_task(c, &shapes[0], false, aligned);
                array_free(&tasks[1].b);
                tasks[1].b = array_make(c, &source, shapes[0].b.type, 96 * 64, 48, 6);
                tasks[2] = make_task(c, &shapes[1], false, aligned);
                others = tasks[2].b;
                tasks[2].b = tasks[1].b;
                for (int i = 0; i < 4; i++)
                    check_task(c, &tasks[i % 2], gemms[0]);
                check_task(c, &tasks[2], gemms[1]);
                operation_destroy(gemms[0]);
                gemms[0] = NULL;
                check_task(c, &tasks[2], gemms[1]);
                tasks[2].b = others;
                check_task(c, &tasks[2], gemms[1]);
                ran++;
                for (int i = 0; i < 3; i++)
                    free_task(&tasks[i]);
            }
            for (int i = 0; i < 2; i++)
                operation_destroy(gemms[i]);
        }
    print_message("  %d pairs of GEMMs\n", ran);
    assert_true(ran > 0);
}

/* Heads inside rows as attention has them, one operand for all, and a plain batch. */
static void test_batches(void **state)
{
    struct conformance *c = *state;
    int ran = 0;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++)
        for (int kind = 0; kind < 4; kind++) {
            struct gemm_shape shape = plain_shape((enum precision)p, 11, 13, 16, 0);

            if (!is_there(c, (enum precision)p) || p == PRECISION_FP4)
                continue;
            shape.outer = 2;
            shape.inner = kind == 2 ? 1 : 3;
            shape.a.inner_stride = 11 * 16;
            shape.b.inner_stride = 16 * 13;
            shape.c.inner_stride = 11 * 13;
            shape.a.outer_stride = shape.inner * shape.a.inner_stride;
            shape.b.outer_stride = shape.inner * shape.b.inner_stride;
            shape.c.outer_stride = shape.inner * shape.c.inner_stride;
            if (kind == 1) {
                shape.a.stride = 3 * 16;
                shape.a.inner_stride = 16;
                shape.a.outer_stride = 11 * 48 + 7;
                shape.b.transpose = true;
                shape.b.stride = 3 * 16;
                shape.b.inner_stride = 16;
                shape.b.outer_stride = 13 * 48;
            }
            if (kind == 3)
                shape.b.inner_stride = shape.b.outer_stride = 0;
            ran += try_shape(c, &shape, false);
        }
    print_message("  %d GEMMs\n", ran);
    assert_true(ran > 0);
}

static void test_extras(void **state)
{
    static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64};
    struct conformance *c = *state;
    int ran = 0, asked = 0;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++) {
        if (p == PRECISION_INT8 || p == PRECISION_FP4 || !is_there(c, (enum precision)p))
            continue;
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
            if ((types[t] == DTYPE_F64) != (p == PRECISION_FP64))
                continue;
            for (int extra = 0; extra < 12; extra++) {
                struct gemm_shape shape = plain_shape((enum precision)p, 19, 37, 23, 2);

                shape.c.type = types[t];
                shape.bias = extra & 1;
                shape.bias_type = p == PRECISION_FP64 ? DTYPE_F64 : DTYPE_F32;
                shape.alpha = extra & 2 ? -0.375f : 1.0f;
                shape.add = extra >= 4;
                asked++;
                ran += try_shape(c, &shape, extra >= 8);
            }
        }
    }
    print_message("  %d GEMMs of %d that were asked for\n", ran, asked);
    assert_true(ran > 0);
}

/* Non-finite values appear only in their row and column; with an even shape where odd ones are
 * refused. */
static void test_special_values(void **state)
{
    static const uint64_t sizes[][3] = {{9, 33, 17}, {16, 48, 32}};
    struct conformance *c = *state;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++) {
        struct gemm_shape shape = {0};
        struct operation *gemm = NULL;
        enum status status = STATUS_UNSUPPORTED;
        struct task task;

        if (p == PRECISION_INT8 || p == PRECISION_FP4 || p == PRECISION_FP8_E4M3 ||
            p == PRECISION_FP8_E5M2 || !is_there(c, (enum precision)p))
            continue;
        for (size_t i = 0; i < 2 && status == STATUS_UNSUPPORTED; i++) {
            shape = plain_shape((enum precision)p, sizes[i][0], sizes[i][1], sizes[i][2], 0);
            status = create_gemm(c->device, &shape, &gemm, &c->err);
        }
        expect_ok(c, status);
        task = make_task(c, &shape, false, aligned);
        array_put(&task.a, task.a.offset + 2 * shape.k + 4, (double)NAN);
        array_put(&task.a, task.a.offset + 5 * shape.k + 16, (double)INFINITY);
        array_put(&task.b, task.b.offset + 3 * shape.n + 32, (double)-INFINITY);
        for (uint64_t r = 0; r < shape.m; r++) /* infinity times zero */
            if (r != 2)
                array_put(&task.a, task.a.offset + r * shape.k + 3, r == 7 ? 0 : 1);
        array_upload(c, &task.a);
        array_upload(c, &task.b);
        check_task(c, &task, gemm);
        free_task(&task);
        operation_destroy(gemm);
    }
}

/* The same GEMM on other arrays, repeatedly, and two GEMMs in turns. */
static void test_again(void **state)
{
    struct conformance *c = *state;
    struct gemm_shape shape = plain_shape(PRECISION_FP32, 31, 29, 37, 0);
    struct operation *first = NULL, *second = NULL;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    expect_ok(c, create_gemm(c->device, &shape, &first, &c->err));
    expect_ok(c, create_gemm(c->device, &shape, &second, &c->err));
    for (int i = 0; i < 5; i++) {
        struct task one = make_task(c, &shape, false, odd);
        struct task other = make_task(c, &shape, false, odd);

        check_task(c, &one, first);
        check_task(c, &other, i % 2 ? first : second);
        free_task(&one);
        free_task(&other);
    }
    operation_destroy(first);
    operation_destroy(second);
    operation_destroy(NULL);
}

/* Every algorithm listed for aligned operands computes the same, and reports its name. */
static void test_algorithms(void **state)
{
    struct conformance *c = *state;
    uint32_t selected = 0;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (int p = 0; p < PRECISION_COUNT; p++) {
        struct gemm_shape shape = plain_shape((enum precision)p, 64, 96, 80, 0);
        struct operation *gemm = NULL;
        struct operation_info info;
        struct task task;

        shape.b.transpose = true; /* required by fp8 on some devices */
        shape.b.stride = shape.k;
        if (p == PRECISION_FP4 || create_gemm(c->device, &shape, &gemm, NULL) != STATUS_OK)
            continue;
        expect_ok(c, operation_describe(gemm, &info, &c->err));
        task = make_task(c, &shape, false, aligned);
        for (uint32_t i = 0; i < info.algorithms; i++, selected++) {
            const uint32_t count = info.algorithms;

            expect_ok(c, operation_select(gemm, count - 1 - i, &c->err));
            expect_ok(c, operation_describe(gemm, &info, &c->err));
            assert_true(info.algorithm[0] != '\0');
            assert_int_equal(info.algorithms, count);
            check_task(c, &task, gemm);
        }
        free_task(&task);
        operation_destroy(gemm);
    }
    print_message("  %u algorithms\n", selected);
}

/* What has f32's exponents is multiplied with them, not through f16's, by every algorithm listed.
 */
static void test_range(void **state)
{
    static const enum precision wide[] = {PRECISION_FP32, PRECISION_TF32, PRECISION_BF16};
    struct conformance *c = *state;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    for (size_t p = 0; p < sizeof(wide) / sizeof(wide[0]); p++) {
        const struct gemm_shape shape = plain_shape(wide[p], 64, 96, 80, 0);
        struct operation *gemm = NULL;
        struct operation_info info;
        struct task task;

        if (create_gemm(c->device, &shape, &gemm, NULL) != STATUS_OK)
            continue;
        expect_ok(c, operation_describe(gemm, &info, &c->err));
        task = make_task(c, &shape, false, aligned);
        for (uint64_t i = task.a.offset; i < task.a.offset + shape.m * shape.k; i++)
            array_put(&task.a, i, ldexp(task.a.values[i], 60));
        for (uint64_t i = task.b.offset; i < task.b.offset + shape.k * shape.n; i++)
            array_put(&task.b, i, ldexp(task.b.values[i], -60));
        array_upload(c, &task.a);
        array_upload(c, &task.b);
        for (uint32_t i = 0; i < info.algorithms; i++) {
            expect_ok(c, operation_select(gemm, i, &c->err));
            check_task(c, &task, gemm);
        }
        free_task(&task);
        operation_destroy(gemm);
    }
}

static void test_refused(void **state)
{
    struct conformance *c = *state;
    const struct gemm_shape good = plain_shape(PRECISION_FP32, 4, 5, 6, 0);
    struct gemm_shape bad = good;
    struct operation *gemm = NULL;
    struct buffer *small;
    struct gemm_operands operands;

    if (!device_has_operation(c->device, OPERATION_GEMM))
        skip();
    bad.m = 0;
    expect_status(c, STATUS_INVALID, create_gemm(c->device, &bad, &gemm, &c->err));
    bad = good;
    bad.a.stride = 5;
    expect_status(c, STATUS_INVALID, create_gemm(c->device, &bad, &gemm, &c->err));
    bad = good;
    bad.c.transpose = true;
    expect_status(c, STATUS_INVALID, create_gemm(c->device, &bad, &gemm, &c->err));
    bad = good;
    bad.b.type = DTYPE_BF16;
    expect_status(c, STATUS_INVALID, create_gemm(c->device, &bad, &gemm, &c->err));
    assert_null(gemm);
    expect_ok(c, create_gemm(c->device, &good, &gemm, &c->err));
    small = conformance_buffer(c, NULL, 4 * 6 * 4);
    operands = (struct gemm_operands){.a = {small, 0}, .b = {small, 0}, .c = {small, 0}};
    expect_status(c, STATUS_INVALID, run_gemm(gemm, &operands, &c->err));
    device_buffer_free(small);
    operation_destroy(gemm);
}

CONFORMANCE_AREA(conformance_gemm, {"every precision is answered", test_support, true},
                 {"odd sizes, transposed and padded", test_sizes, true},
                 {"batches", test_batches, true}, {"constant matrices", test_constants, true},
                 {"bias, D, alpha and types", test_extras, true},
                 {"NaN and infinity", test_special_values, true},
                 {"again and again", test_again, true},
                 {"each algorithm that is listed", test_algorithms, true},
                 {"range of exponents", test_range, true},
                 {"what cannot be is refused", test_refused, true});
