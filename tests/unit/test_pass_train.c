/*
 * Training of declared stacks on a device: an honest step agrees with the graph in fp64 and with
 * AdamW's formula, whatever the number of lanes; one that leaves a launch out, or gives a kernel a
 * wrong number, does not.
 */
#include "pass_fixture.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/pass/pass.h"

#define HEAD(batch, length, precisions)                                                            \
    "workload: stack\nversion: 1\nkind: pass\ndescription: test\nprecisions: [" precisions         \
    "]\nbatches: [" batch "]\nsequence_length: " length "\ntrain: {learning_rate: 0.01}\n"         \
    "model:\n"
#define USUAL HEAD("3", "21", "fp32, bf16")
#define RMS "  norm: {kind: rms, epsilon: 1.0e-5}\n  stack:\n"
#define LLAMA                                                                                      \
    USUAL "  width: 64\n" RMS "    - of: [{embedding: {vocabulary: 256}}]\n"                       \
          "    - times: 2\n"                                                                       \
          "      of: [{attention: {heads: 4, kv_heads: 2, rope: 10000}},\n"                        \
          "           {mlp: {width: 160, gate: silu}}]\n"                                          \
          "    - of: [{norm: {}}, {head: {vocabulary: 256}}]\n"
/* Norms of heads, heads wider than the model, a tied head, rows that no pack of elements fits. */
#define QWEN                                                                                       \
    USUAL "  width: 32\n" RMS "    - of: [{embedding: {vocabulary: 101}}]\n"                       \
          "    - of: [{attention: {heads: 6, kv_heads: 2, head: 32, rope: 1000000, qk_norm: "      \
          "true}}, "                                                                               \
          "{mlp: {width: 72, gate: silu, bias: true}}]\n"                                          \
          "    - of: [{norm: {}}, {head: {vocabulary: 101, tied: true}}]\n"
#define GPT2(tied)                                                                                 \
    USUAL "  width: 32\n  norm: {kind: layer, epsilon: 1.0e-5}\n  stack:\n"                        \
          "    - of: [{embedding: {vocabulary: 200, positions: 32}}]\n"                            \
          "    - times: 2\n"                                                                       \
          "      of: [{attention: {heads: 2, bias: true}}, {mlp: {width: 128, bias: true}}]\n"     \
          "    - of: [{norm: {}}, {head: {vocabulary: 200, tied: " tied "}}]\n"
/* Mixtures of experts by both laws; behind it without a gate, rows that no pack fits, and experts
 * of which some have no token. */
#define MOE                                                                                        \
    USUAL "  width: 32\n" RMS "    - of: [{embedding: {vocabulary: 101}}]\n"                       \
          "    - of: [{attention: {heads: 2, kv_heads: 1, rope: 10000}},\n"                        \
          "           {moe: {experts: 16, top: 4, width: 24, gate: silu, "                         \
          "routing: {law: zipf, alpha: 1.0, seed: 3}}},\n"                                         \
          "           {moe: {experts: 8, top: 2, width: 40, gate: silu, "                          \
          "routing: {law: uniform}}}]\n"                                                           \
          "    - of: [{norm: {}}, {head: {vocabulary: 101}}]\n"
#define ODD_MOE                                                                                    \
    USUAL "  width: 37\n" RMS "    - of: [{embedding: {vocabulary: 101}}]\n"                       \
          "    - of: [{mlp: {width: 45}},\n"                                                       \
          "           {moe: {experts: 150, top: 3, width: 45, routing: {law: uniform}}}]\n"        \
          "    - of: [{norm: {}}, {head: {vocabulary: 101}}]\n"
/* More than the reference computes whole: a prefix of a sequence is verified. */
#define LARGE                                                                                      \
    HEAD("1", "520", "fp32")                                                                       \
    "  width: 128\n" RMS "    - of: [{embedding: {vocabulary: 9000}}]\n"                           \
    "    - of: [{attention: {heads: 4, kv_heads: 1, rope: 10000}},\n"                              \
    "           {mlp: {width: 256, gate: silu}},\n"                                                \
    "           {moe: {experts: 8, top: 2, width: 64, routing: {law: uniform}}}]\n"                \
    "    - of: [{norm: {}}, {head: {vocabulary: 9000}}]\n"

static const char *const stacks[] = {LLAMA, QWEN, GPT2("true"), GPT2("false"), MOE, ODD_MOE};
#define STACKS (sizeof(stacks) / sizeof(stacks[0]))
/* Wrong launches are tried on one mixture, which has all that mixtures launch, and under a
 * sanitizer on none: each needs a check in fp64, which takes many times as long there. */
#ifdef __SANITIZE_ADDRESS__
#define LIED_STACKS (STACKS - 2)
#else
#define LIED_STACKS (STACKS - 1)
#endif
static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16};
static struct device *device;

/* The weights of the beginning: a step over NaN leaves NaN. */
static void reset(struct workload_instance *base)
{
    struct pass_instance *instance = (struct pass_instance *)base;

    stack_fill(&instance->graph, &instance->layout, base->work.seed, instance->weights);
    instance->training->steps = 0;
    ASSERT_OK(pass_train_begin(instance, err));
}

static void check(struct workload_instance *base)
{
    ASSERT_OK(workload_verify(base, pass_fixture_note, NULL, err));
    for (uint64_t secret = 1; secret <= 3; secret++) {
        ASSERT_OK(base->kind->iterate(base, err));
        ASSERT_OK(workload_spot_check(base, secret, pass_fixture_note, NULL, err));
    }
    ASSERT_OK(workload_verify(base, pass_fixture_note, NULL, err));
}

TEST(honest)
{
    if (!device)
        skip();
    for (size_t i = 0; i < STACKS; i++) {
        for (size_t p = 0; p < 2; p++) {
            struct model_running running;
            json_t *facts;

            model_running_start(&running, device, stacks[i], precisions[p]);
            check(running.base);
            facts = running.workload.kind->facts(running.base);
            assert_int_equal(
                json_integer_value(json_object_get(json_object_get(facts, "loss"), "steps")), 9);
            json_decref(facts);
            model_running_stop(&running);
        }
    }
}

TEST(prefix)
{
    struct model_running running;

    if (!device)
        skip();
    model_running_start(&running, device, LARGE, PRECISION_FP32);
    check(running.base);
    model_running_stop(&running);
}

/* The texts for several lanes differ; a device that chose one must still run them. */
TEST(lanes)
{
    if (!device)
        skip();
    for (size_t i = 0; i < STACKS; i++)
        pass_fixture_each_lanes(device, stacks[i], PRECISION_FP32, check);
}

/* ---- devices that do less, or something else ---- */

/* A number that a kernel is given, argument `arg` from the last on: another, or so much of it. */
struct lie {
    const char *kernel;
    size_t arg; /* from the last, which is 0; SWAP: the second and the third change places */
    double factor;
};
#define SWAP SIZE_MAX

static struct {
    const struct lie *lie;
    uint64_t told;
} lies;

static enum status lie_launch(struct device *target, const struct kernel_launch *launch,
                              struct error *err)
{
    struct kernel_launch other = *launch;
    struct kernel_arg args[32];
    struct kernel_arg *arg = &args[launch->arg_count - 1 - lies.lie->arg % launch->arg_count];

    memcpy(args, launch->args, launch->arg_count * sizeof(*args));
    other.args = args;
    if (lies.lie->arg == SWAP) {
        args[1] = launch->args[2];
        args[2] = launch->args[1];
    } else if (arg->type == KERNEL_ARG_F32) {
        arg->f32 *= (float)lies.lie->factor;
    } else if (arg->type == KERNEL_ARG_U32) {
        arg->u32 = (uint32_t)(arg->u32 * lies.lie->factor);
    } else {
        arg->u64 = (uint64_t)((double)arg->u64 * lies.lie->factor);
    }
    lies.told++;
    return pass_lies_launch(target, &other, err);
}

static enum status lying_launch(struct device *target, const struct kernel_launch *launch,
                                struct error *err)
{
    return strcmp(launch->kernel, lies.lie->kernel) ? pass_lies_launch(target, launch, err)
                                                    : lie_launch(target, launch, err);
}

/* Of the forward pass, the backward pass and the update. */
TEST(one_launch)
{
    if (!device)
        skip();
    for (size_t i = 0; i < LIED_STACKS; i++) {
        struct model_running running;

        model_running_start(&running, device, stacks[i], PRECISION_BF16);
        ASSERT_OK(workload_verify(running.base, pass_fixture_note, NULL, err));
        pass_lies_drop_each(device, running.base, i, 40, NULL, reset);
        model_running_stop(&running);
    }
}

/* Found by some of the checks of a trial; how often it was told. */
static uint64_t check_lie(struct workload_instance *base, const struct lie *lie)
{
    enum status status = STATUS_OK;
    uint64_t told = 0;

    for (uint64_t secret = 0; secret < 16 && status == STATUS_OK; secret++) {
        struct error failure = ERROR_INIT;

        reset(base);
        lies.lie = lie;
        lies.told = 0;
        pass_lies_begin(device, UINT64_MAX, NULL);
        pass_lies.ops.kernel_launch = lying_launch;
        status = workload_spot_check(base, secret, pass_fixture_note, NULL, &failure);
        if (status == STATUS_OK)
            status = workload_verify(base, pass_fixture_note, NULL, &failure);
        pass_lies_end(device);
        told += lies.told;
    }
    if (told > 0 && status != STATUS_CHECK_FAILED)
        fail_msg("%s with argument %zu times %g was not found: %s", lie->kernel, lie->arg,
                 lie->factor, status_name(status));
    return told;
}

TEST(wrong_numbers)
{
    static const struct lie all[] = {
        {"stack_rms_backward", 0, 60.0},      /* epsilon */
        {"stack_rms_backward", 1, 0.0},       /* the residual stream's gradient is left out */
        {"stack_gain", 5, 0.5},               /* rows */
        {"stack_rope", 3, 0.5},               /* length, by which positions begin again */
        {"stack_rope", 2, 0.5},               /* heads that are turned */
        {"stack_attention_queries", 0, 1.03}, /* scale */
        {"stack_attention_keys", 0, 1.03},
        {"stack_attention_keys", 4, 0.5},         /* length */
        {"stack_gate_backward", SWAP, 0.0},       /* what is gated, and the gate */
        {"stack_clear", 0, 0.0},                  /* elements */
        {"embedding_backward_tokens", 1, 0.9},    /* tokens that occur */
        {"embedding_backward_positions", 1, 0.5}, /* positions */
        {"cross_entropy_backward", 1, 1.03},      /* scale */
        {"norm_backward", 0, 0.0},
        {"experts_inputs_backward", 4, 0.5},  /* experts of a row */
        {"experts_combine_backward", 1, 0.5}, /* the same */
        {"experts_gates_backward", 0, 0.5},   /* elements */
        {"experts_weights_backward", 5, 0.9}, /* rows of an expert */
        {"column_sum", 2, 0.5},               /* rows */
        {"adamw", 0, 0.0},                    /* decay */
        {"adamw_mixed", 1, 0.0},
        {"adamw_mixed", 6, 1.01}, /* 1 - beta1 */
    };
    uint64_t told[sizeof(all) / sizeof(all[0])] = {0};

    if (!device)
        skip();
    for (size_t i = 0; i < LIED_STACKS; i++) {
        for (size_t p = 0; p < 2; p++) {
            struct model_running running;

            model_running_start(&running, device, stacks[i], precisions[p]);
            ASSERT_OK(workload_verify(running.base, pass_fixture_note, NULL, err));
            for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
                told[k] += check_lie(running.base, &all[k]);
            reset(running.base);
            check(running.base);
            model_running_stop(&running);
        }
    }
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
        assert_true(told[k] > 0 ||
                    (LIED_STACKS < STACKS - 1 && !strncmp(all[k].kernel, "experts_", 8)));
}

/* ---- what is refused, and what it costs ---- */

TEST(refused)
{
    static const char block[] = "  width: 32\n" RMS "    - of: [{embedding: {vocabulary: 9}}";
    static const struct {
        const char *head, *rest, *words;
    } rows[] = {
        {USUAL, ", {norm: {}}]\n", "ends in a head of at least 9 tokens"},
        {USUAL, ", {head: {vocabulary: 8}}]\n", "ends in a head of at least 9 tokens"},
        {HEAD("1", "1", "fp32"), ", {head: {vocabulary: 9}}]\n", "write at least 2"},
        {HEAD("1", "2", "fp16"), ", {head: {vocabulary: 9}}]\n", "train in fp32 or bf16"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char yaml[1024];

        snprintf(yaml, sizeof(yaml), "%s%s%s", rows[i].head, block, rows[i].rest);
        model_fixture_refuse(yaml, rows[i].words);
    }
}

TEST(frameworks)
{
    struct workload workload;
    struct workload_case work = {.workload = &workload,
                                 .precision = PRECISION_FP32,
                                 .batch = 3,
                                 .framework = (struct framework *)&workload};
    struct workload_instance *instance = NULL;
    struct error refusal = ERROR_INIT;

    if (!device)
        skip();
    ASSERT_OK(workload_parse("test.yaml", LLAMA, strlen(LLAMA), &workload, err));
    assert_int_equal(workload_instance_create(&work, device, &instance, &refusal),
                     STATUS_UNSUPPORTED);
    assert_non_null(strstr(refusal.message, "frameworks run a stack forward"));
    workload_finish(&workload);
}

int main(void)
{
    return model_fixture_run(&device);
}
