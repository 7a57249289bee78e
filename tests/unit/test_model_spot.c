/*
 * Spot checks of training_step and batched_inference: they pass on an honest device and change
 * nothing there, and fail on one that leaves launches out, keeps results or invents losses.
 */
#include "model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "tests/support/unit.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/gpt2_spot.h"
#include "workloads/training_step/training_step.h"

#define SHAPE "model: {layers: 2, heads: 2, width: 32, vocabulary: 256}\nsequence_length: 20\n"
#define HEAD(kind) "workload: spot\nversion: 1\nkind: " kind "\ndescription: test\nbatches: [3]\n"
#define TRAINING HEAD("training_step") "precisions: [fp32, bf16, fp16]\nverify: {fp32_steps: 0}\n"
#define INFERENCE HEAD("batched_inference") "precisions: [fp32, bf16, fp16, int8]\n"
/* Too large for the whole reference; of other sizes than multiples of anything. */
#define LARGE "model: {layers: 2, heads: 3, width: 57, vocabulary: 7001}\nsequence_length: 37\n"

static struct device *device;

struct checks {
    int count, failed;
    char outputs[512], first_failed[64];
};

static void note_check(void *context, const struct workload_check *check)
{
    struct checks *checks = context;

    checks->count++;
    assert_true(check->compared > 0);
    assert_non_null(check->reason);
    if (strlen(checks->outputs) + strlen(check->output) + 2 < sizeof(checks->outputs))
        strcat(strcat(checks->outputs, " "), check->output);
    if (!check->passed && checks->failed++ == 0)
        snprintf(checks->first_failed, sizeof(checks->first_failed), "%s", check->output);
}

static enum status spot(struct model_running *running, uint64_t secret, struct checks *checks,
                        struct error *err)
{
    *checks = (struct checks){0};
    return workload_spot_check(running->base, secret, note_check, checks, err);
}

static void iterate(struct model_running *running, int count)
{
    for (int i = 0; i < count; i++)
        ASSERT_OK(running->workload.kind->iterate(running->base, err));
    ASSERT_OK(device_synchronize(device, err));
}

static void verify(struct model_running *running)
{
    struct checks checks = {0};

    ASSERT_OK(workload_verify(running->base, note_check, &checks, err));
}

/* ---- an honest device ---- */

static const struct {
    const char *yaml;
    enum precision precision;
} honest[] = {
    {TRAINING SHAPE, PRECISION_FP32},
    {TRAINING SHAPE, PRECISION_BF16},
    {TRAINING SHAPE, PRECISION_FP16},
    {TRAINING LARGE, PRECISION_FP32},
    {TRAINING LARGE, PRECISION_BF16},
    {TRAINING LARGE, PRECISION_FP16},
    {INFERENCE SHAPE, PRECISION_FP32},
    {INFERENCE SHAPE, PRECISION_BF16},
    {INFERENCE SHAPE, PRECISION_FP16},
    {INFERENCE SHAPE, PRECISION_INT8},
    {INFERENCE LARGE, PRECISION_FP32},
    {INFERENCE LARGE, PRECISION_BF16},
    {INFERENCE LARGE, PRECISION_INT8},
    {TRAINING SHAPE "loss_scaling: {initial: 16777216}\n", PRECISION_FP16}, /* skips steps */
};

TEST(honest)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(honest) / sizeof(honest[0]); i++) {
        struct model_running running;
        struct checks checks;
        char outputs[512] = "";

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        if (i % 2 == 0)
            verify(&running);
        for (uint64_t secret = 1; secret <= 5; secret++) {
            iterate(&running, 2);
            ASSERT_OK(spot(&running, secret * 0x9e3779b97f4a7c15u, &checks, err));
            assert_int_equal(checks.failed, 0);
            if (secret > 1)
                assert_string_equal(checks.outputs, outputs);
            memcpy(outputs, checks.outputs, sizeof(outputs));
        }
        iterate(&running, 3);
        verify(&running);
        model_running_stop(&running);
    }
}

/* The same outputs, bit for bit, as without spot checks. */
TEST(leaves_no_trace)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(honest) / sizeof(honest[0]); i++) {
        struct model_running plain, spotted;
        struct workload_recheck first = {0}, found = {0};
        struct checks checks;

        model_running_start(&plain, device, honest[i].yaml, honest[i].precision);
        model_running_start(&spotted, device, honest[i].yaml, honest[i].precision);
        iterate(&spotted, 2);
        ASSERT_OK(spot(&spotted, 7, &checks, err));
        iterate(&spotted, 2);
        ASSERT_OK(spot(&spotted, 8, &checks, err));
        iterate(&spotted, 1);
        if (plain.workload.kind == spotted.workload.kind && strstr(honest[i].yaml, "training"))
            iterate(&plain, (int)((struct training_instance *)spotted.base)->steps);
        ASSERT_OK(workload_recheck(plain.base, NULL, &first, err));
        ASSERT_OK(workload_recheck(spotted.base, first.text, &found, err));
        if (!found.same)
            fail_msg("case %zu: %s\n%s", i, first.text, found.text);
        free(first.text);
        free(found.text);
        model_running_stop(&spotted);
        model_running_stop(&plain);
    }
}

/* ---- devices that do less ---- */

static struct {
    const struct device_ops *kept;
    struct device_ops ops;
    uint64_t launches, from, period; /* drops launches from, from + period ... of those named */
    const char *name;                /* NULL: any */
    char dropped[64];                /* the latest one */
    struct buffer *zeros;            /* reads as zeros where it is not NULL */
    struct buffer *cached;           /* is given these bytes back when all has run */
    char *bytes;
} lies;

static enum status lying_launch(struct device *target, const struct kernel_launch *launch,
                                struct error *err)
{
    const bool named = !lies.name || strcmp(launch->kernel, lies.name) == 0;
    const uint64_t index = lies.launches;

    lies.launches += named;
    if (!named || index < lies.from || (index - lies.from) % lies.period != 0)
        return lies.kept->kernel_launch(target, launch, err);
    snprintf(lies.dropped, sizeof(lies.dropped), "%s", launch->kernel);
    return STATUS_OK;
}

static enum status lying_download(struct device *target, struct buffer *buffer, uint64_t offset,
                                  void *ret, uint64_t bytes, struct error *err)
{
    enum status status = lies.kept->download(target, buffer, offset, ret, bytes, err);

    if (buffer == lies.zeros)
        memset(ret, 0, bytes);
    return status;
}

static enum status lying_synchronize(struct device *target, struct error *err)
{
    enum status status = lies.kept->synchronize(target, err);

    if (status == STATUS_OK && lies.cached)
        status = lies.kept->upload(target, lies.cached, 0, lies.bytes, lies.cached->bytes, err);
    return status;
}

/* All that the device holds of a model, so that what a lie does to it can be undone. */
struct kept {
    char *bytes[GPT2_BUFFERS];
};

static struct kept keep(const struct gpt2_device *model)
{
    struct kept ret = {0};

    for (int i = 0; i < GPT2_BUFFERS; i++) {
        struct buffer *buffer = model->buffers[i];

        if (!buffer)
            continue;
        ret.bytes[i] = malloc(buffer->bytes);
        ASSERT_OK(device_download(buffer, 0, ret.bytes[i], buffer->bytes, err));
    }
    return ret;
}

static void restore(const struct gpt2_device *model, const struct kept *kept)
{
    for (int i = 0; i < GPT2_BUFFERS; i++)
        if (kept->bytes[i])
            ASSERT_OK(
                device_upload(model->buffers[i], 0, kept->bytes[i], model->buffers[i]->bytes, err));
}

static void release(struct kept *kept)
{
    for (int i = 0; i < GPT2_BUFFERS; i++)
        free(kept->bytes[i]);
}

static void begin_lies(const char *name, uint64_t from, uint64_t period)
{
    memset(&lies, 0, sizeof(lies));
    lies.kept = device->ops;
    lies.ops = *device->ops;
    lies.ops.kernel_launch = lying_launch;
    lies.ops.download = lying_download;
    lies.ops.synchronize = lying_synchronize;
    lies.name = name;
    lies.from = from;
    lies.period = period;
    device->ops = &lies.ops;
}

static void end_lies(void)
{
    device->ops = lies.kept;
}

static void refused(struct model_running *running, const char *what)
{
    struct error failure = ERROR_INIT;
    struct checks checks;
    const enum status status = spot(running, 99, &checks, &failure);

    end_lies();
    if (status != STATUS_CHECK_FAILED)
        fail_msg("%s in %s: %s", what, precision_name(running->base->work.precision),
                 status_name(status));
    assert_true(checks.failed > 0);
    assert_non_null(strstr(failure.message, checks.first_failed));
}

#define NEVER UINT64_MAX

TEST(dropped_launches)
{
    static const struct {
        const char *name;
        uint64_t from, period;
    } rows[] = {{NULL, 0, 2}, {NULL, 1, 2}, {NULL, 0, 1}, {"gemm", 0, 2}, {"gemm", 1, 2}};

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(honest) / sizeof(honest[0]) - 1; i++) {
        const bool training = strstr(honest[i].yaml, "training") != NULL;
        const char *adamw = honest[i].precision == PRECISION_FP32 ? "adamw" : "adamw_mixed";

        struct model_running running;
        struct kept kept;

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        iterate(&running, 3);
        kept = keep(running.gpt2->model);
        for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]) + (training ? 2 : 0); r++) {
            const bool update = r >= sizeof(rows) / sizeof(rows[0]);

            if (update) /* both parts, or one */
                begin_lies(adamw, 0, r - sizeof(rows) / sizeof(rows[0]) + 1);
            else
                begin_lies(rows[r].name, rows[r].from, rows[r].period);
            refused(&running, update ? adamw : "launches dropped");
            restore(running.gpt2->model, &kept);
        }
        release(&kept);
        model_running_stop(&running);
    }
}

/*
 * Each launch of an iteration by itself is missed. A large model lets pass what works in place
 * inside the layers, and nothing else.
 */
TEST(one_launch)
{
    static const char *const in_place[] = {"causal_softmax_forward", "causal_softmax_backward",
                                           "gelu_backward", "norm_backward"};
    static const size_t cases[] = {0, 2, 3, 6, 7};

    if (!device)
        skip();
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const size_t i = cases[c];
        const bool training = strstr(honest[i].yaml, "training") != NULL;
        const bool whole = strstr(honest[i].yaml, "vocabulary: 256") != NULL;
        struct model_running running;
        struct kept kept;
        uint64_t count;

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        iterate(&running, 3);
        kept = keep(running.gpt2->model);
        begin_lies(NULL, NEVER, 1);
        iterate(&running, 1);
        count = lies.launches;
        end_lies();
        for (uint64_t k = 0; k < count; k++) {
            struct checks checks;
            struct error failure = ERROR_INIT;
            enum status status;
            bool known = false;

            begin_lies(NULL, k, NEVER);
            status = spot(&running, k, &checks, &failure);
            end_lies();
            if (status != STATUS_OK && status != STATUS_CHECK_FAILED)
                fail_msg("%s", failure.message);
            for (size_t n = 0; n < sizeof(in_place) / sizeof(in_place[0]); n++)
                known |= strcmp(lies.dropped, in_place[n]) == 0;
            if (status == STATUS_OK && (whole || !training || !known))
                fail_msg("case %zu: launch %llu, %s, was not missed", i, (unsigned long long)k,
                         lies.dropped);
            restore(running.gpt2->model, &kept);
        }
        release(&kept);
        model_running_stop(&running);
    }
}

TEST(losses_of_zero)
{
    if (!device)
        skip();
    for (size_t i = 0; i < 6; i++) {
        struct model_running running;

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        iterate(&running, 3);
        begin_lies(NULL, NEVER, 1);
        lies.zeros = running.gpt2->model->buffers[GPT2_LOSSES];
        refused(&running, "losses of zero");
        model_running_stop(&running);
    }
}

/* All launches are dropped, and the logits of an earlier pass appear again. */
TEST(kept_logits)
{
    if (!device)
        skip();
    for (size_t i = 6; i < 13; i++) {
        struct model_running running;
        struct buffer *logits;
        char *bytes;

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        iterate(&running, 3);
        logits = running.gpt2->model->buffers[GPT2_LOGITS];
        bytes = malloc(logits->bytes);
        ASSERT_OK(device_download(logits, 0, bytes, logits->bytes, err));
        begin_lies(NULL, 0, 1);
        lies.cached = logits;
        lies.bytes = bytes;
        refused(&running, "kept logits");
        free(bytes);
        model_running_stop(&running);
    }
}

/* Norms without epsilon, which the outputs in bf16 do not show. */
TEST(no_epsilon)
{
    if (!device)
        skip();
    for (size_t i = 1; i <= 7; i += 6) {
        struct model_running running;

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        model_fixture_break_kernel(device, running.gpt2->ops, "(f32)width + epsilon", "(f32)width");
        begin_lies(NULL, NEVER, 1);
        refused(&running, "norms without epsilon");
        model_running_stop(&running);
    }
}

int main(void)
{
    return model_fixture_run(&device);
}
