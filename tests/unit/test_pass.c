/*
 * Declared stacks on a device: an honest one agrees with the graph in fp64, whatever the number of
 * lanes, and one that leaves a launch out does not.
 */
#include "pass_fixture.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/pass/pass.h"

#define HEAD                                                                                       \
    "workload: stack\nversion: 1\nkind: pass\ndescription: test\nprecisions: [fp32, bf16, fp16]\n" \
    "batches: [3]\nsequence_length: 21\nmodel:\n"
#define RMS "  norm: {kind: rms, epsilon: 1.0e-5}\n  stack:\n"
#define LLAMA                                                                                      \
    HEAD "  width: 64\n" RMS "    - of: [{embedding: {vocabulary: 256}}]\n"                        \
         "    - times: 2\n"                                                                        \
         "      of: [{attention: {heads: 4, kv_heads: 2, rope: 10000}},\n"                         \
         "           {mlp: {width: 160, gate: silu}}]\n"                                           \
         "    - of: [{norm: {}}, {head: {vocabulary: 256}}]\n"
/* Norms of heads, heads wider than the model, a tied head. */
#define QWEN                                                                                       \
    HEAD "  width: 32\n" RMS "    - of: [{embedding: {vocabulary: 101}}]\n"                        \
         "    - of: [{attention: {heads: 6, kv_heads: 2, head: 32, rope: 1000000, qk_norm: "       \
         "true}}, "                                                                                \
         "{mlp: {width: 72, gate: silu}}]\n"                                                       \
         "    - of: [{norm: {}}, {head: {vocabulary: 101, tied: true}}]\n"
#define GPT2 GPT2_OF("32")
#define GPT2_OF(width)                                                                             \
    HEAD "  width: " width "\n  norm: {kind: layer, epsilon: 1.0e-5}\n  stack:\n"                  \
         "    - of: [{embedding: {vocabulary: 200, positions: 32}}]\n"                             \
         "    - times: 2\n"                                                                        \
         "      of: [{attention: {heads: 2, bias: true}}, {mlp: {width: 128, bias: true}}]\n"      \
         "    - of: [{norm: {}}, {head: {vocabulary: 200, tied: true}}]\n"
/* Rows that no pack of elements fits, two bases of angles, no head. */
#define ODD                                                                                        \
    HEAD "  width: 37\n" RMS "    - of: [{embedding: {vocabulary: 50}}]\n"                         \
         "    - of: [{attention: {heads: 3, kv_heads: 1, head: 16, rope: 100}},\n"                 \
         "           {mlp: {width: 45, gate: silu, bias: true}},\n"                                \
         "           {attention: {heads: 2, head: 16, rope: 1000, bias: true}}]\n"

static const char *const stacks[] = {LLAMA, QWEN, GPT2, ODD};
static struct device *device;

TEST(honest)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
        pass_fixture_each_precision(device, stacks[i]);
}

/* Rows whose mean is next to zero beside its terms: what is off by their rounding is no finding. */
TEST(small_means)
{
    struct model_running running;
    struct check_sink sink = {0};

    if (!device)
        skip();
    model_running_start(&running, device, GPT2_OF("256"), PRECISION_FP32);
    for (uint64_t secret = 0; secret < 500; secret++)
        ASSERT_OK(pass_check_nodes((struct pass_instance *)running.base, secret, &sink, err));
    if (sink.status != STATUS_OK)
        fail_msg("%s", sink.failure.message);
    model_running_stop(&running);
}

/* The texts for several lanes differ; a device that chose one must still run them. */
TEST(lanes)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
        pass_fixture_each_lanes(device, stacks[i], PRECISION_FP32, pass_fixture_check);
}

/* ---- devices that do less ---- */

static enum status other_epsilon(struct device *target, const struct kernel_launch *launch,
                                 struct error *err)
{
    struct kernel_launch other = *launch;
    struct kernel_arg args[32];

    memcpy(args, launch->args, launch->arg_count * sizeof(*args));
    other.args = args;
    if (!strcmp(launch->kernel, "stack_rms"))
        args[launch->arg_count - 1].f32 = 6e-4f;
    return pass_lies_launch(target, &other, err);
}

TEST(one_launch)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        struct model_running running;

        model_running_start(&running, device, stacks[i], PRECISION_BF16);
        pass_fixture_check(running.base);
        pass_lies_drop_each(device, running.base, i, 10, NULL, NULL);
        model_running_stop(&running);
    }
}

/* What the rounding of all arrays hides in the output shows in a node. */
TEST(wrong_epsilon)
{
    struct model_running running;
    struct error failure = ERROR_INIT;

    if (!device)
        skip();
    model_running_start(&running, device, LLAMA, PRECISION_BF16);
    pass_fixture_check(running.base);
    pass_lies_begin(device, UINT64_MAX, NULL);
    pass_lies.ops.kernel_launch = other_epsilon;
    assert_int_equal(workload_spot_check(running.base, 5, pass_fixture_note, NULL, &failure),
                     STATUS_CHECK_FAILED);
    pass_lies_end(device);
    if (!strstr(failure.message, "nodes"))
        fail_msg("not by its nodes: %s", failure.message);
    model_running_stop(&running);
}

TEST(refused)
{
    static const struct {
        const char *yaml, *words;
        enum status status;
    } rows[] = {
        {HEAD "  width: 24\n" RMS
              "    - of: [{embedding: {vocabulary: 9}}, {attention: {heads: 2}}]\n",
         "heads of a multiple of 16 up to 256, not in f32 with heads of 12", STATUS_UNSUPPORTED},
        {HEAD "  width: 32\n" RMS
              "    - of: [{embedding: {vocabulary: 9}}, {attention: {heads: 2}},\n"
              "           {attention: {heads: 1}}]\n",
         "heads are all of one size, not of 16 and 32", STATUS_UNSUPPORTED},
        {HEAD "  width: 262144\n" RMS
              "    - of: [{embedding: {vocabulary: 9}}, {mlp: {width: 262144}}]\n",
         "on the device, which has ", STATUS_DEVICE_MEMORY},
    };

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        pass_fixture_refuse(device, rows[i].yaml, rows[i].status, rows[i].words);
}

int main(void)
{
    return model_fixture_run(&device);
}
