/* The vendor library's attention, wherever a device has one, against fp64. */
#include <math.h>
#include <stdlib.h>

#include "tests/conformance/attention_task.h"
#include "tests/support/operations.h"

static struct attention_operands operands_of(const struct attention_task *task)
{
#define OPERAND(which)                                                                             \
    {                                                                                              \
        task->arrays[which].buffer, task->arrays[which].offset                                     \
    }
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
static void check_array(struct conformance *c, struct attention_task *task, int which,
                        const char *name)
{
    struct attention_heads *array = &task->arrays[which];
    uint16_t *got = malloc(array->count * sizeof(*got));

    assert_non_null(got);
    expect_ok(c, device_download(array->buffer, 0, got, array->count * sizeof(*got), &c->err));
    for (uint64_t i = 0; i < attention_task_elements(task); i++) {
        const uint64_t at = attention_task_place(task, array, i);
        const double value = reference_decode(attention_task_format(task), got[at]);

        if (!(fabs(value - array->values[i]) <= array->bound[i]))
            fail_msg("%s[%llu] is %g, not %g +- %g", name, (unsigned long long)i, value,
                     array->values[i], array->bound[i]);
        got[at] = array->bits[at];
    }
    assert_memory_equal(got, array->bits, array->count * sizeof(*got));
    free(got);
}

static void check_statistics(struct conformance *c, const struct attention_task *task)
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

/* Both passes; no backward without training. */
struct passes {
    struct operation *forward, *backward;
};

static void check_task(struct conformance *c, struct attention_task *task,
                       const struct passes *passes)
{
    const struct attention_operands operands = operands_of(task);

    expect_ok(c, run_attention(passes->forward, &operands, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    check_array(c, task, O, "O");
    if (!task->shape.training)
        return;
    check_statistics(c, task);
    expect_ok(c, run_attention(passes->backward, &operands, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
    check_array(c, task, D_V, "dV");
    check_array(c, task, D_Q, "dQ");
    check_array(c, task, D_K, "dK");
}

/* The same by every algorithm that the library lists for a pass, unless it refuses it. */
static void check_algorithms(struct conformance *c, struct attention_task *task,
                             const struct passes *passes, struct operation *pass)
{
    const struct attention_operands operands = operands_of(task);
    struct operation_info info;
    uint32_t running = 0;

    if (pass == NULL)
        return;
    expect_ok(c, operation_describe(pass, &info, &c->err));
    assert_int_equal(operation_select(pass, info.algorithms, &c->err),
                     info.algorithms > 0 ? STATUS_NOT_FOUND : STATUS_UNSUPPORTED);
    for (uint32_t i = 0; i < info.algorithms; i++) {
        expect_ok(c, operation_select(pass, i, &c->err));
        if (run_attention(pass, &operands, &c->err) == STATUS_OK) {
            check_task(c, task, passes);
            running = i;
        }
    }
    if (info.algorithms > 0)
        expect_ok(c, operation_select(pass, running, &c->err));
}

/* A library may refuse; the stand-in may not. */
static struct passes create(struct conformance *c, const struct attention_shape *shape)
{
    struct passes passes = {NULL, NULL};
    enum status status;

    c->err = (struct error)ERROR_INIT;
    status = create_attention(c->device, OPERATION_ATTENTION, shape, &passes.forward, &c->err);
    if (status == STATUS_OK && shape->training)
        status = create_attention(c->device, OPERATION_ATTENTION_BACKWARD, shape, &passes.backward,
                                  &c->err);
    if (status == STATUS_OK)
        return passes;
    if (status != STATUS_UNSUPPORTED || c->device->info.simulated)
        fail_msg("%s, %llu long, heads of %llu: %s", precision_name(shape->precision),
                 (unsigned long long)shape->length, (unsigned long long)shape->head_size,
                 c->err.message);
    print_message("  %s, %llu long, heads of %llu: %s\n", precision_name(shape->precision),
                  (unsigned long long)shape->length, (unsigned long long)shape->head_size,
                  c->err.message);
    operation_destroy(passes.forward);
    return (struct passes){NULL, NULL};
}

static void destroy(const struct passes *passes)
{
    operation_destroy(passes->forward);
    operation_destroy(passes->backward);
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

    if (!device_has_operation(c->device, OPERATION_ATTENTION))
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
        struct attention_task task = attention_task_make(c, &shape, row->projection);
        const struct passes attention = create(c, &task.shape);

        if (attention.forward != NULL) {
            task.shape.scale = attention.forward->desc.attention.scale;
            attention_task_reference(&task);
            check_task(c, &task, &attention);
            check_task(c, &task, &attention); /* from a binding that is kept */
            check_algorithms(c, &task, &attention, attention.forward);
            check_algorithms(c, &task, &attention, attention.backward);
        }
        destroy(&attention);
        attention_task_finish(&task);
    }
}

/* One score of a row far above all others; all equal; none below the mask's value. */
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
    struct attention_task task;
    struct passes attention;

    if (!device_has_operation(c->device, OPERATION_ATTENTION))
        skip();
    task = attention_task_make(c, &shape, false);
    for (uint64_t i = 0; i < 20 * 64; i++) { /* the first rows score 0 everywhere */
        task.arrays[Q].values[i] = 0.0;
        task.arrays[Q].bits[task.arrays[Q].offset + i] = 0;
    }
    expect_ok(c, device_upload(task.arrays[Q].buffer, 0, task.arrays[Q].bits,
                               task.arrays[Q].count * 2, &c->err));
    attention = create(c, &task.shape);
    if (attention.forward != NULL) {
        attention_task_reference(&task);
        check_task(c, &task, &attention);
    }
    destroy(&attention);
    attention_task_finish(&task);
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
    struct passes attention;
    struct attention_task task;
    struct buffer *many;

    if (!device_has_operation(c->device, OPERATION_ATTENTION))
        skip();
    task = attention_task_make(c, &shape, false);
    attention = create(c, &task.shape);
    if (attention.forward != NULL) {
        task.shape.scale = attention.forward->desc.attention.scale;
        attention_task_reference(&task);
        operands = operands_of(&task);
        many = conformance_buffer(c, NULL, 200 * 64);
        for (int round = 0; round < 2; round++)
            for (uint64_t i = 0; i < 100; i++) {
                operands.o = (struct operand){many, i * 32};
                expect_ok(c, run_attention(attention.forward, &operands, &c->err));
            }
        check_task(c, &task, &attention);
        device_buffer_free(many);
    }
    destroy(&attention);
    attention_task_finish(&task);
}

static void test_support(void **state)
{
    struct conformance *c = *state;

    for (int p = 0; p < 2 * PRECISION_COUNT; p++) {
        const enum operation_kind pass =
            p % 2 == 0 ? OPERATION_ATTENTION : OPERATION_ATTENTION_BACKWARD;
        struct operation_info info;

        operation_support(c->device, pass, (enum precision)(p / 2), &info);
        assert_true(info.method[0] != '\0');
        if (!device_has_operation(c->device, pass))
            assert_int_equal(info.support, SUPPORT_ABSENT);
        if (info.support == SUPPORT_ABSENT || info.support == SUPPORT_UNKNOWN)
            continue;
        assert_true(p / 2 == PRECISION_BF16 || p / 2 == PRECISION_FP16);
        assert_true(info.library[0] != '\0' && info.version[0] != '\0' &&
                    info.algorithm[0] != '\0');
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
    struct passes attention = {NULL, NULL};
    struct attention_operands operands;
    struct attention_shape bad[8];
    struct attention_task task;
    struct buffer *small;

    if (!device_has_operation(c->device, OPERATION_ATTENTION))
        skip();
    task = attention_task_make(c, &good, true);
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
        expect_status(
            c, STATUS_INVALID,
            create_attention(c->device, OPERATION_ATTENTION, &bad[i], &attention.forward, &c->err));
    bad[0] = bad[1] = bad[2] = task.shape;
    bad[0].precision = PRECISION_FP32;
    bad[1].precision = PRECISION_INT8;
    bad[2].head_size = 12;
    for (size_t i = 0; i < 3; i++)
        expect_status(
            c, STATUS_UNSUPPORTED,
            create_attention(c->device, OPERATION_ATTENTION, &bad[i], &attention.forward, &c->err));
    assert_null(attention.forward);
    attention = create(c, &task.shape);
    if (attention.forward != NULL) {
        operands = operands_of(&task);
        operands.k.offset += task.arrays[K].count;
        expect_status(c, STATUS_INVALID, run_attention(attention.forward, &operands, &c->err));
        operands = operands_of(&task);
        operands.v.offset += 1;
        expect_status(c, STATUS_UNSUPPORTED, run_attention(attention.forward, &operands, &c->err));
        small = conformance_buffer(c, NULL, 64);
        operands = operands_of(&task);
        operands.o.buffer = small;
        expect_status(c, STATUS_INVALID, run_attention(attention.forward, &operands, &c->err));
        operands.o.buffer = NULL;
        expect_status(c, STATUS_INTERNAL, run_attention(attention.forward, &operands, &c->err));
        device_buffer_free(small);
    }
    destroy(&attention);
    operation_destroy(NULL);
    attention_task_finish(&task);
}

CONFORMANCE_AREA(conformance_attention, {"every precision is answered", test_support, true},
                 {"odd lengths and heads, forward and backward", test_shapes, true},
                 {"sharp and flat rows", test_sharp, true},
                 {"many bindings", test_many_bindings, true},
                 {"what cannot be is refused", test_refused, true});
