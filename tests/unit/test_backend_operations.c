/*
 * The wrappers of GEMMs and convolutions against a device that records what reaches it: bad
 * calls must never do so.
 */
#include "wrapper_fixture.h"

#include <string.h>

#include "tests/support/operations.h"
#include "tests/support/unit.h"

static struct operation the_operation;
static uint32_t listed; /* algorithms that the operation reports */
static uint32_t selected;

static void destroy_hook(struct operation *operation)
{
    (void)operation;
    reached++;
}

static enum status run_hook(struct operation *operation, const union operands *operands,
                            struct error *err)
{
    (void)operation;
    (void)operands;
    return say(err);
}

static enum status weights_hook(struct operation *operation, const struct operand *weights,
                                struct error *err)
{
    (void)operation;
    (void)weights;
    return say(err);
}

static enum status describe_hook(const struct operation *operation, struct operation_info *ret,
                                 struct error *err)
{
    (void)operation;
    *ret =
        (struct operation_info){.library = "it", .support = SUPPORT_NATIVE, .algorithms = listed};
    return say(err);
}

static enum status select_hook(struct operation *operation, uint32_t index, struct error *err)
{
    (void)operation;
    selected = index;
    return say(err);
}

static const struct operation_ops hooks = {.destroy = destroy_hook,
                                           .run = run_hook,
                                           .describe = describe_hook,
                                           .select = select_hook,
                                           .set_weights = weights_hook};
static const struct operation_ops hooks_without_select = {
    .destroy = destroy_hook, .run = run_hook, .describe = describe_hook};

static enum status create_hook(struct device *device, const struct operation_desc *desc,
                               struct operation **ret, struct error *err)
{
    the_operation = (struct operation){.ops = &hooks, .device = device, .desc = *desc};
    *ret = &the_operation;
    return say(err);
}

/* ---- libraries of which one has to do what others refuse ---- */

static enum status first_answer, second_answer;

static enum status create_first(struct device *device, const struct operation_desc *desc,
                                struct operation **ret, struct error *err)
{
    if (first_answer != STATUS_OK)
        return error_set(err, first_answer, "first: no");
    return create_hook(device, desc, ret, err);
}

static enum status create_second(struct device *device, const struct operation_desc *desc,
                                 struct operation **ret, struct error *err)
{
    if (second_answer != STATUS_OK)
        return error_set(err, second_answer, "second: no");
    return create_hook(device, desc, ret, err);
}

static bool absent(const struct device *device)
{
    (void)device;
    return false;
}

static const struct operation_implementation both[] = {
    {OPERATION_GEMM, absent, create_hook},
    {OPERATION_GEMM, NULL, create_first},
    {OPERATION_ATTENTION, absent, create_hook},
    {OPERATION_GEMM, NULL, create_second},
    {0},
};

static const struct operation_implementation implementations[] = {
    {OPERATION_GEMM, NULL, create_hook},
    {OPERATION_CONVOLUTION, NULL, create_hook},
    {0},
};

static const struct device_ops full_ops = {.operations = implementations};
static const struct device_ops both_ops = {.operations = both};

static const struct device_ops least_ops;
static struct device device, other;

static int set_up(void **state)
{
    (void)state;
    device = (struct device){.ops = &full_ops, .info = {.name = (char *)"fake"}};
    other = device;
    reached = 0;
    listed = 0;
    answer = first_answer = second_answer = STATUS_OK;
    return 0;
}

#define CREATE() create_gemm(&device, &shape, &gemm, &err)
#define RUN() run_gemm(gemm, &operands, &err)

TEST_WITH(gemm, set_up, NULL)
{
    struct buffer a = {.device = &device, .bytes = 2 * 3 * 4};
    struct buffer b = {.device = &device, .bytes = 3 * 5 * 4};
    struct buffer c = {.device = &device, .bytes = 2 * 5 * 4};
    struct buffer foreign = {.device = &other, .bytes = 1000};
    struct gemm_shape shape = {.precision = PRECISION_FP32,
                               .m = 2,
                               .n = 5,
                               .k = 3,
                               .a = {.type = DTYPE_F32, .stride = 3},
                               .b = {.type = DTYPE_F32, .stride = 5},
                               .c = {.type = DTYPE_F32, .stride = 5}};
    const struct gemm_shape fits = shape;
    struct gemm_operands operands = {.a = {&a, 0}, .b = {&b, 0}, .c = {&c, 0}};
    const struct gemm_operands inside = operands;
    struct operation *gemm = NULL;
    struct operation_info info;

    PASSES(CREATE());
    assert_int_equal(gemm->desc.gemm.outer, 1);
    assert_int_equal(gemm->desc.gemm.inner, 1);
    assert_true(gemm->desc.gemm.alpha == 1.0f);
    PASSES(RUN());
    operands.a.offset = 1;
    REFUSED(STATUS_INVALID, RUN());
    operands = inside;
    operands.b.buffer = &foreign;
    REFUSED(STATUS_INTERNAL, RUN());
    operands.b.buffer = NULL;
    REFUSED(STATUS_INTERNAL, RUN());
    operands = inside;

    shape.b.stride = 6; /* longer rows than the buffer has */
    PASSES(CREATE());
    REFUSED(STATUS_INVALID, RUN());
    shape.b.stride = 4;
    REFUSED(STATUS_INVALID, CREATE());
    shape = fits;
    shape.c.stride = UINT64_MAX;
    PASSES(CREATE());
    REFUSED(STATUS_INVALID, RUN());
    shape = fits;
    shape.a.transpose = true; /* 3 x 2 now */
    shape.a.stride = 2;
    PASSES(CREATE());
    PASSES(RUN());
    shape.a.stride = 1;
    REFUSED(STATUS_INVALID, CREATE());
    shape = fits;
    shape.inner = 2; /* the same A and B for both, the Cs consecutive */
    shape.c.inner_stride = 10;
    PASSES(CREATE());
    REFUSED(STATUS_INVALID, RUN());
    c.bytes *= 2;
    PASSES(RUN());
    c.bytes /= 2;
    shape = fits;
    shape.add = true;
    PASSES(CREATE());
    REFUSED(STATUS_INTERNAL, RUN()); /* no D */
    operands.d = operands.c;
    PASSES(RUN());
    shape.bias = true;
    shape.bias_type = DTYPE_F32;
    PASSES(CREATE());
    REFUSED(STATUS_INTERNAL, RUN()); /* no bias */
    operands.bias.buffer = &c;
    operands.bias.offset = 6;
    REFUSED(STATUS_INVALID, RUN());
    operands = inside;

    shape = fits;
    shape.k = 0;
    REFUSED(STATUS_INVALID, CREATE());
    shape = fits;
    shape.c.transpose = true;
    REFUSED(STATUS_INVALID, CREATE());
    shape = fits;
    shape.precision = PRECISION_FP64; /* operands of another type */
    REFUSED(STATUS_INVALID, CREATE());
    shape.precision = PRECISION_TF32;
    PASSES(CREATE());
    shape.precision = PRECISION_INT8;
    shape.a.type = shape.b.type = DTYPE_I8;
    REFUSED(STATUS_INVALID, CREATE()); /* sums of int8 are i32 */
    shape.c.type = DTYPE_I32;
    PASSES(CREATE());
    shape.alpha = 2.0f;
    REFUSED(STATUS_INVALID, CREATE());

    PASSES(operation_describe(gemm, &info, &err));
    assert_string_equal(info.library, "it");
    operation_support(&device, OPERATION_GEMM, PRECISION_BF16, &info);
    assert_int_equal(info.support, answer == STATUS_OK ? SUPPORT_NATIVE : SUPPORT_ABSENT);
    operation_destroy(NULL);
    device.ops = &least_ops;
    shape = fits;
    reached = 0;
    assert_int_equal(create_gemm(&device, &shape, &gemm, NULL), STATUS_UNSUPPORTED);
    operation_support(&device, OPERATION_GEMM, PRECISION_BF16, &info);
    assert_int_equal(info.support, SUPPORT_ABSENT);
    assert_int_equal(reached, 0);
}

#undef CREATE
#undef RUN

/* Refusals give a clear answer; a failure is reported, whatever the others answer. */
TEST(support_answers)
{
    const struct error plain_no = {STATUS_UNSUPPORTED, "no f32"}, no = {STATUS_UNSUPPORTED, "no"};
    const struct error failed = {STATUS_DEVICE, "call: internal error"};
    struct support_answers answers = {0};
    struct operation_info info = {.support = SUPPORT_NATIVE, .method = "asked"};

    support_answers_add(&answers, STATUS_UNSUPPORTED, &plain_no);
    support_answers_add(&answers, STATUS_UNSUPPORTED, &no);
    support_answers_add(&answers, STATUS_OK, &failed); /* an older call's message */
    support_answers_tell(&answers, true, &info);
    assert_int_equal(info.support, SUPPORT_NATIVE);
    assert_string_equal(info.method, "asked");
    support_answers_tell(&answers, false, &info);
    assert_int_equal(info.support, SUPPORT_ABSENT);
    assert_string_equal(info.method, "no f32");

    support_answers_add(&answers, STATUS_DEVICE, &failed);
    support_answers_add(&answers, STATUS_DEVICE_LOST, &no);
    support_answers_tell(&answers, false, &info);
    assert_int_equal(info.support, SUPPORT_UNKNOWN);
    assert_string_equal(info.method, "call: internal error");
    info = (struct operation_info){.support = SUPPORT_EMULATED, .method = "asked"};
    support_answers_tell(&answers, true, &info);
    assert_int_equal(info.support, SUPPORT_EMULATED);
    assert_string_equal(info.method, "asked; asked otherwise: call: internal error");
    memset(info.method, 'x', sizeof(info.method) - 1);
    support_answers_tell(&answers, true, &info);
    assert_int_equal(strlen(info.method), sizeof(info.method) - 1);
}

/* 5 x 4 x 4 to 3 x 2 x 6 by 3 x 3 filters. */
static const struct convolution_shape plain = {.precision = PRECISION_FP32,
                                               .type = DTYPE_F32,
                                               .result_type = DTYPE_F32,
                                               .batch = 2,
                                               .height = 5,
                                               .width = 4,
                                               .channels = 4,
                                               .filters = 6,
                                               .kernel_height = 3,
                                               .kernel_width = 3};

#define CREATE() create_convolution(&device, &shape, &convolution, &err)
#define RUN() run_convolution(convolution, &input, &output, &err)
#define WEIGH() operation_set_weights(convolution, &weights, &err)

TEST_WITH(convolution_shapes, set_up, NULL)
{
    struct convolution_shape shape = plain;
    struct operation *convolution = NULL;

    PASSES(CREATE());
    assert_int_equal(convolution->desc.convolution.stride_y, 1);
    assert_int_equal(convolution->desc.convolution.dilation_x, 1);
    assert_int_equal(convolution->desc.convolution.groups, 1);
    assert_int_equal(convolution_out_height(&shape), 3);
    assert_int_equal(convolution_out_width(&shape), 2);
    shape.kernel_width = 5;
    REFUSED(STATUS_INVALID, CREATE());
    shape.pad_x = 1;
    PASSES(CREATE());
    shape.dilation_x = 2;
    REFUSED(STATUS_INVALID, CREATE());
    shape = plain;
    shape.groups = 4; /* of 6 filters */
    REFUSED(STATUS_INVALID, CREATE());
    shape.groups = 2;
    PASSES(CREATE());
    shape.pad_y = UINT64_MAX;
    REFUSED(STATUS_INVALID, CREATE());
    shape = plain;
    shape.filters = 0;
    REFUSED(STATUS_INVALID, CREATE());
    shape.filters = (uint64_t)1 << 31;
    REFUSED(STATUS_INVALID, CREATE());
    shape = plain;
    shape.result_type = DTYPE_BF16;
    REFUSED(STATUS_INVALID, CREATE());
    shape.precision = PRECISION_BF16;
    shape.type = DTYPE_BF16;
    PASSES(CREATE());
    shape.precision = PRECISION_INT8;
    shape.type = DTYPE_I8;
    REFUSED(STATUS_INVALID, CREATE());
    shape.result_type = DTYPE_I32;
    PASSES(CREATE());
}

TEST_WITH(convolution_operands, set_up, NULL)
{
    struct buffer in = {.device = &device, .bytes = 2 * 5 * 4 * 4 * 4};
    struct buffer filters = {.device = &device, .bytes = 6 * 9 * 4 * 4};
    struct buffer out = {.device = &device, .bytes = 2 * 3 * 2 * 6 * 4};
    struct buffer foreign = {.device = &other, .bytes = 10000};
    struct operand input = {&in, 0}, weights = {&filters, 0}, output = {&out, 0};
    const struct convolution_shape shape = plain;
    struct operation *convolution = NULL;
    struct operation_info info;

    PASSES(CREATE());
    REFUSED(STATUS_INTERNAL, RUN()); /* no weights yet */
    weights.offset = 1;
    REFUSED(STATUS_INVALID, WEIGH());
    weights = (struct operand){&foreign, 0};
    REFUSED(STATUS_INTERNAL, WEIGH());
    weights = (struct operand){&filters, 0};
    PASSES(WEIGH());
    PASSES(RUN());
    input.offset = 1;
    REFUSED(STATUS_INVALID, RUN());
    input = (struct operand){NULL, 0};
    REFUSED(STATUS_INTERNAL, RUN());
    input = (struct operand){&in, 0};
    output.offset = UINT64_MAX;
    REFUSED(STATUS_INVALID, RUN());
    output = (struct operand){&foreign, 0};
    REFUSED(STATUS_INTERNAL, RUN());
    PASSES(operation_describe(convolution, &info, &err));
    assert_string_equal(info.library, "it");
    operation_support(&device, OPERATION_CONVOLUTION, PRECISION_BF16, &info);
    assert_int_equal(info.support, SUPPORT_NATIVE);
    operation_destroy(NULL);
}

TEST_WITH(convolution_select, set_up, NULL)
{
    const struct convolution_shape shape = plain;
    struct operation *convolution = NULL;
    struct error error = ERROR_INIT;

    listed = 0;
    PASSES(CREATE());
    assert_int_equal(operation_select(convolution, 0, &error), STATUS_UNSUPPORTED);
    listed = 3;
    error = (struct error)ERROR_INIT;
    assert_int_equal(operation_select(convolution, 3, &error), STATUS_NOT_FOUND);
    assert_non_null(strstr(error.message, "no number 3"));
    assert_int_equal(operation_select(convolution, 2, NULL), STATUS_OK);
    assert_int_equal(selected, 2);
    convolution->ops = &hooks_without_select;
    assert_int_equal(operation_select(convolution, 2, NULL), STATUS_UNSUPPORTED);
}

TEST_WITH(no_convolutions, set_up, NULL)
{
    const struct convolution_shape shape = plain;
    struct operation *convolution = NULL;
    struct operation_info info;

    device.ops = &least_ops;
    REFUSED(STATUS_UNSUPPORTED, CREATE());
    operation_support(&device, OPERATION_CONVOLUTION, PRECISION_BF16, &info);
    assert_int_equal(info.support, SUPPORT_ABSENT);
    assert_int_equal(reached, 0);
}

/* The next of a kind is asked after a refusal alone; what all refuse has all their answers. */
TEST_WITH(libraries, set_up, NULL)
{
    const struct gemm_shape shape = {.precision = PRECISION_FP32,
                                     .m = 1,
                                     .n = 1,
                                     .k = 1,
                                     .a = {.type = DTYPE_F32, .stride = 1},
                                     .b = {.type = DTYPE_F32, .stride = 1},
                                     .c = {.type = DTYPE_F32, .stride = 1}};
    struct operation *gemm = NULL;
    struct error error = ERROR_INIT;

    device.ops = &both_ops;
    assert_true(device_has_operation(&device, OPERATION_GEMM));
    assert_false(device_has_operation(&device, OPERATION_ATTENTION));
    first_answer = STATUS_UNAVAILABLE;
    assert_int_equal(create_gemm(&device, &shape, &gemm, &error), STATUS_OK);
    second_answer = STATUS_UNSUPPORTED;
    gemm = NULL;
    assert_int_equal(create_gemm(&device, &shape, &gemm, &error), STATUS_UNSUPPORTED);
    assert_string_equal(error.message, "first: no; second: no");
    first_answer = STATUS_DEVICE;
    assert_int_equal(create_gemm(&device, &shape, &gemm, &error), STATUS_DEVICE);
    assert_string_equal(error.message, "first: no");
    assert_null(gemm);
    assert_int_equal(operation_set_weights(&the_operation, &(struct operand){NULL, 0}, &error),
                     STATUS_INTERNAL); /* a GEMM has none */
}
