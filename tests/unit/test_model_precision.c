/*
 * Training in bf16 and fp16: gradients against the fp64 reference on odd shapes, losses against
 * fp32's, the loss scale's rules, and that verification detects faults.
 */
#include "model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/kernel_text.h"
#include "workloads/ops/internal.h"
#include "workloads/storage.h"
#include "workloads/training_step/training_step.h"

#define HEAD "workload: narrow\nversion: 1\nkind: training_step\ndescription: test\n"
#define USUAL                                                                                      \
    HEAD "precisions: [fp32, bf16, fp16]\nbatches: [3]\n"                                          \
         "model: {layers: 2, heads: 2, width: 32, vocabulary: 256}\nsequence_length: 20\n"
#define ODD                                                                                        \
    HEAD "precisions: [bf16, fp16]\nbatches: [2]\n"                                                \
         "model: {layers: 3, heads: 3, width: 57, vocabulary: 31}\nsequence_length: 33\n"

static struct device *device;

static struct training_instance *training_of(const struct model_running *running)
{
    return (struct training_instance *)running->base;
}

static void iterate(struct model_running *running, int steps)
{
    for (int i = 0; i < steps; i++)
        ASSERT_OK(running->workload.kind->iterate(running->base, err));
}

struct checks {
    int count, failed;
    bool fp32, copy;
    uint64_t fp32_compared;
    char first_failed[64];
};

static void note_check(void *context, const struct workload_check *check)
{
    struct checks *checks = context;

    checks->count++;
    if (strcmp(check->output, "loss.fp32") == 0) {
        checks->fp32 = true;
        checks->fp32_compared = check->compared;
    }
    checks->copy |= strcmp(check->output, "adamw.copy") == 0;
    if (!check->passed && checks->failed++ == 0)
        snprintf(checks->first_failed, sizeof(checks->first_failed), "%s", check->output);
}

static struct checks verify(struct model_running *running)
{
    struct checks checks = {0};

    ASSERT_OK(workload_verify(running->base, note_check, &checks, err));
    assert_int_equal(checks.failed, 0);
    return checks;
}

static const enum precision narrow[] = {PRECISION_BF16, PRECISION_FP16};

TEST(against_reference)
{
    static const char *const yaml[] = {USUAL, ODD};

    if (!device)
        skip();
    for (size_t y = 0; y < 2; y++)
        for (size_t p = 0; p < 2; p++) {
            struct model_running running;
            struct checks checks;

            model_running_start(&running, device, yaml[y], narrow[p]);
            checks = verify(&running);
            assert_true(checks.fp32 && checks.copy);
            iterate(&running, 30);
            verify(&running);
            model_running_stop(&running);
        }
}

/* The declared bound of each of 50 steps is checked by verify; here it must be far below fp32's own
 * decrease, and the facts must report it. */
TEST(follows_fp32)
{
    if (!device)
        skip();
    for (size_t p = 0; p < 2; p++) {
        struct model_running running;
        struct checks checks;
        json_t *facts, *fp32;

        model_running_start(&running, device, USUAL "verify: {fp32_steps: 50}\n", narrow[p]);
        verify(&running);
        iterate(&running, 60);
        checks = verify(&running);
        assert_int_equal(checks.fp32_compared, 50);
        facts = running.workload.kind->facts(running.base);
        fp32 = json_object_get(json_object_get(facts, "loss"), "fp32");
        assert_int_equal(json_integer_value(json_object_get(fp32, "compared")), 50);
        assert_int_equal(json_array_size(json_object_get(fp32, "curve")), 50);
        assert_true(json_real_value(json_object_get(fp32, "largest_difference_nats")) < 0.05);
        assert_true(training_of(&running)->fp32_losses[49] <
                    training_of(&running)->fp32_losses[0] - 0.5f);
        assert_non_null(json_object_get(facts, "recipe"));
        json_decref(facts);
        model_running_stop(&running);
    }
}

/* Steps that do not begin with the check's own are not those that fp32 took. */
TEST(not_the_same_steps)
{
    struct model_running running;
    struct checks checks;

    if (!device)
        skip();
    model_running_start(&running, device, USUAL, PRECISION_BF16);
    iterate(&running, 2);
    checks = verify(&running);
    assert_false(checks.fp32);
    model_running_stop(&running);
}

static struct op_scaling_state scaling(struct model_running *running)
{
    struct op_scaling_state ret;

    ASSERT_OK(trained_scaling(&running->gpt2->model->trained, &ret, err));
    return ret;
}

static float *weights(struct model_running *running)
{
    const uint64_t count = gpt2_array_length(&running->gpt2->model->plan.shape);
    float *ret = malloc(count * sizeof(*ret));

    ASSERT_OK(gpt2_device_fetch(running->gpt2->model, GPT2_MASTER, 0, count, ret, err));
    return ret;
}

/* 2^24 / 60 tokens is beyond f16: the first step must be skipped whole, and halve the scale. */
TEST(overflow_skips)
{
    struct model_running running;
    struct op_scaling_state now;
    float *before, *after;
    size_t bytes;

    if (!device)
        skip();
    model_running_start(&running, device, USUAL "loss_scaling: {initial: 16777216}\n",
                        PRECISION_FP16);
    bytes = gpt2_array_length(&running.gpt2->model->plan.shape) * sizeof(*before);
    before = weights(&running);
    iterate(&running, 1);
    after = weights(&running);
    now = scaling(&running);
    assert_memory_equal(before, after, bytes);
    assert_true(now.scale == 8388608.0f && now.skipped == 1 && now.taken == 0 && now.good == 0);
    assert_int_equal(now.first_skipped, 0);
    assert_true(now.rest1 == 0.0f && now.rest2 == 0.0f);
    free(after);
    ASSERT_OK(gpt2_device_fetch(running.gpt2->model, GPT2_MOMENT2, 0, bytes / sizeof(*before),
                                before, err));
    for (size_t i = 0; i < bytes / sizeof(*before); i++)
        assert_true(before[i] == 0.0f);
    free(before);
    iterate(&running, 20); /* until it fits; then it trains */
    now = scaling(&running);
    assert_true(now.skipped >= 2 && now.taken > 0 && now.skipped + now.taken == 21);
    assert_true(now.scale == 16777216.0f / (float)(1u << now.skipped));
    verify(&running);
    model_running_stop(&running);
}

/* verify itself backs off; the loss of the first skipped step compares, and none after it. */
TEST(overflow_in_the_check)
{
    struct model_running running;
    struct checks checks;
    json_t *facts, *fp32;

    if (!device)
        skip();
    model_running_start(&running, device, USUAL "loss_scaling: {initial: 16777216}\n",
                        PRECISION_FP16);
    checks = verify(&running);
    assert_true(checks.fp32);
    assert_true(scaling(&running).skipped > 0);
    facts = running.workload.kind->facts(running.base);
    assert_true(json_integer_value(
                    json_object_get(json_object_get(facts, "loss_scale"), "steps_skipped")) > 0);
    fp32 = json_object_get(json_object_get(facts, "loss"), "fp32");
    assert_int_equal(json_integer_value(json_object_get(fp32, "compared")), 1);
    assert_true(json_is_number(json_object_get(fp32, "largest_difference_nats")));
    json_decref(facts);
    model_running_stop(&running);
}

/* A single infinity, or NaN, anywhere is found. */
TEST(one_bad_gradient)
{
    static const uint16_t bad[] = {0x7c00, 0xfc00, 0x7e01};
    struct model_running running;
    uint64_t count;

    if (!device)
        skip();
    model_running_start(&running, device, USUAL, PRECISION_FP16);
    iterate(&running, 1);
    count = gpt2_array_length(&running.gpt2->model->plan.shape);
    for (uint64_t i = 0; i < 40; i++) {
        const uint64_t at = i < 17 ? i : i < 34 ? count - 1 - (i - 17) : count / 41 * i;
        const uint16_t fine = 0x7bff;
        bool finite = true;

        ASSERT_OK(device_upload(running.gpt2->model->buffers[GPT2_GRADIENTS], 2 * at, &bad[i % 3],
                                2, err));
        ASSERT_OK(trained_gradients_finite(&running.gpt2->model->trained, &finite, err));
        assert_false(finite);
        ASSERT_OK(
            device_upload(running.gpt2->model->buffers[GPT2_GRADIENTS], 2 * at, &fine, 2, err));
        ASSERT_OK(trained_gradients_finite(&running.gpt2->model->trained, &finite, err));
        assert_true(finite);
    }
    model_running_stop(&running);
}

TEST(growth)
{
    struct model_running running;
    struct op_scaling_state now;

    if (!device)
        skip();
    model_running_start(&running, device,
                        USUAL "loss_scaling: {initial: 256, growth_interval: 5}\n", PRECISION_FP16);
    iterate(&running, 4);
    now = scaling(&running);
    assert_true(now.scale == 256.0f && now.good == 4);
    iterate(&running, 1);
    now = scaling(&running);
    assert_true(now.scale == 512.0f && now.good == 0 && now.taken == 5);
    iterate(&running, 10);
    now = scaling(&running);
    assert_true(now.scale == 2048.0f && now.taken == 15 && now.skipped == 0);
    /* The bias corrections that the device carries on. */
    assert_true(fabs(now.rest1 - (1.0 - pow(0.9, 15.0))) < 1e-6);
    assert_true(fabs(now.rest2 - (1.0 - pow(0.95, 15.0))) < 1e-6);
    assert_true(now.inverse == 1.0f / 1024.0f);
    model_running_stop(&running);
}

static void check_break(enum precision precision, const char *from, const char *to,
                        const char *wanted)
{
    struct model_running running;
    struct checks checks = {0};
    struct error failure = ERROR_INIT;

    model_running_start(&running, device, USUAL, precision);
    verify(&running);
    iterate(&running, 20);
    model_fixture_break_kernel(device, running.gpt2->ops, from, to);
    iterate(&running, 1);
    if (workload_verify(running.base, note_check, &checks, &failure) != STATUS_CHECK_FAILED)
        fail_msg("\"%s\" for \"%s\" was not caught", to, from);
    if (strncmp(checks.first_failed, wanted, strlen(wanted)) != 0)
        fail_msg("\"%s\" for \"%s\": caught by %s", to, from, checks.first_failed);
    model_running_stop(&running);
}

TEST(verification_catches)
{
    if (!device)
        skip();
    /* The narrow copy is not written; the inverse scale, or a bias correction, is wrong. */
    check_break(PRECISION_BF16, "pack_store(copy + i, narrow);", "", "grad.");
    check_break(PRECISION_BF16, "STORE(narrow.part, j, weight.part[j]);",
                "STORE(narrow.part, j, 1.004f * weight.part[j]);", "adamw.copy");
    check_break(PRECISION_FP16, "LOAD(gradient.part, j) * inverse", "LOAD(gradient.part, j)",
                "adamw.");
    check_break(PRECISION_FP16, "second = 1.0f / scaling[SCALING_REST2];", "second = 1.0f;",
                "adamw.parameters");
    check_break(PRECISION_FP16, "scale *= scaling[SCALING_SCALE];", "", "grad.");
    check_break(PRECISION_BF16, "return (x - mean) * rstd;", "return x - mean;", "grad.");
    /* Too little for the tolerances of narrow storage; seen by checks without its roundings. */
    check_break(PRECISION_BF16, "(f32)width + epsilon", "(f32)width", "norm.statistics");
    check_break(PRECISION_BF16, "return (u64)list[r] * width;",
                "return (u64)list[r > 0 ? r - 1 : r] * width;", "grad.embedding");
}

/* Memory is counted by precision, and it is what is allocated. */
TEST(memory)
{
    if (!device)
        skip();
    for (size_t p = 0; p < 2; p++) {
        struct model_running running;
        struct workload_cost cost;
        uint64_t bytes = 0;

        model_running_start(&running, device, USUAL, narrow[p]);
        for (size_t i = 0; i < GPT2_BUFFERS; i++)
            bytes += running.gpt2->model->buffers[i] ? running.gpt2->model->buffers[i]->bytes : 0;
        ASSERT_OK(running.workload.kind->cost(&running.base->work, &cost, err));
        assert_int_equal(cost.device_memory_bytes, bytes);
        model_running_stop(&running);
    }
}

TEST(declarations)
{
    static const struct {
        const char *yaml, *message;
    } wrong[] = {
        {HEAD "precisions: [fp32, int8]\nmodel: {layers: 1, heads: 1, width: 8, vocabulary: 9}\n"
              "sequence_length: 4\n",
         "does not run in int8"},
        {USUAL "loss_scaling: {initial: 1000}\n", "power of two"},
        {USUAL "loss_scaling: {initial: 0.5}\n", "power of two"},
        {USUAL "loss_scaling: {growth_interval: 0}\n", "growth_interval"},
        {USUAL "verify: {fp32_steps: 65}\n", "0 (none) to 64"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        model_fixture_refuse(wrong[i].yaml, wrong[i].message);
}

int main(void)
{
    return model_fixture_run(&device);
}
