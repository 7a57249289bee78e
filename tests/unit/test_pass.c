/*
 * Declared stacks on a device: an honest one agrees with the graph in fp64, whatever the number of
 * lanes, and one that leaves a launch out does not.
 */
#include "model_fixture.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

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
#define GPT2                                                                                       \
    HEAD "  width: 32\n  norm: {kind: layer, epsilon: 1.0e-5}\n  stack:\n"                         \
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

static void note_check(void *context, const struct workload_check *check)
{
    (void)context;
    assert_true(check->compared > 0);
}

static void check(struct model_running *running)
{
    struct workload_recheck first = {0}, again = {0};

    ASSERT_OK(workload_verify(running->base, note_check, NULL, err));
    ASSERT_OK(workload_recheck(running->base, NULL, &first, err));
    for (uint64_t secret = 1; secret <= 3; secret++)
        ASSERT_OK(workload_spot_check(running->base, secret, note_check, NULL, err));
    ASSERT_OK(workload_recheck(running->base, first.text, &again, err));
    assert_true(again.same);
    free(first.text);
    free(again.text);
}

TEST(honest)
{
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16, PRECISION_FP16};

    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        for (size_t p = 0; p < 3; p++) {
            struct model_running running;

            model_running_start(&running, device, stacks[i], precisions[p]);
            check(&running);
            model_running_stop(&running);
        }
    }
}

/* The texts for several lanes differ; a device that chose one must still run them. */
TEST(lanes)
{
    uint32_t lanes[8];
    size_t count;

    if (!device)
        skip();
    count = device_lane_candidates(device, lanes, 8);
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        for (size_t k = 0; k < count; k++) {
            struct model_running running, other;
            struct workload_case work;
            json_t *choices;

            model_running_start(&running, device, stacks[i], PRECISION_FP32);
            choices = running.workload.kind->choices(running.base);
            json_object_set_new(json_object_get(choices, "rows"), "lanes",
                                json_integer((json_int_t)lanes[k]));
            work = running.base->work;
            work.choices = choices;
            ASSERT_OK(workload_instance_create(&work, device, &other.base, err));
            check(&other);
            workload_instance_destroy(other.base);
            model_running_stop(&running);
            json_decref(choices);
        }
    }
}

/* ---- devices that do less ---- */

static struct {
    const struct device_ops *kept;
    struct device_ops ops;
    uint64_t launches, drop; /* the launch that is left out */
    char dropped[64];
    float epsilon; /* of RMS norms; 0: theirs */
} lies;

static enum status lying_launch(struct device *target, const struct kernel_launch *launch,
                                struct error *err)
{
    if (lies.epsilon > 0.0f && !strcmp(launch->kernel, "stack_rms")) {
        struct kernel_launch other = *launch;
        struct kernel_arg args[32];

        memcpy(args, launch->args, launch->arg_count * sizeof(*args));
        args[launch->arg_count - 1].f32 = lies.epsilon;
        other.args = args;
        return lies.kept->kernel_launch(target, &other, err);
    }
    if (lies.launches++ != lies.drop)
        return lies.kept->kernel_launch(target, launch, err);
    snprintf(lies.dropped, sizeof(lies.dropped), "%s", launch->kernel);
    return STATUS_OK;
}

static void begin_lies(uint64_t drop)
{
    memset(&lies, 0, sizeof(lies));
    lies.kept = device->ops;
    lies.ops = *device->ops;
    lies.ops.kernel_launch = lying_launch;
    lies.drop = drop;
    device->ops = &lies.ops;
}

TEST(one_launch)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        struct model_running running;
        uint64_t count;

        model_running_start(&running, device, stacks[i], PRECISION_BF16);
        check(&running);
        begin_lies(UINT64_MAX);
        ASSERT_OK(running.workload.kind->iterate(running.base, err));
        device->ops = lies.kept;
        count = lies.launches;
        assert_true(count >= 10);
        for (uint64_t k = 0; k < count; k++) {
            struct error failure = ERROR_INIT;
            enum status status;

            begin_lies(k);
            status = workload_spot_check(running.base, k, note_check, NULL, &failure);
            device->ops = lies.kept;
            if (status != STATUS_CHECK_FAILED)
                fail_msg("stack %zu: launch %llu, %s, was not missed: %s", i, (unsigned long long)k,
                         lies.dropped, status_name(status));
        }
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
    check(&running);
    begin_lies(UINT64_MAX);
    lies.epsilon = 6e-4f;
    assert_int_equal(workload_spot_check(running.base, 5, note_check, NULL, &failure),
                     STATUS_CHECK_FAILED);
    device->ops = lies.kept;
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct workload workload;
        struct workload_case work = {.workload = &workload,
                                     .precision = PRECISION_FP32,
                                     .batch = 3,
                                     .implementation = IMPLEMENTATION_PORTABLE};
        struct workload_instance *instance = NULL;
        struct error refusal = ERROR_INIT;

        ASSERT_OK(workload_parse("test.yaml", rows[i].yaml, strlen(rows[i].yaml), &workload, err));
        assert_int_equal(workload_instance_create(&work, device, &instance, &refusal),
                         rows[i].status);
        if (!strstr(refusal.message, rows[i].words))
            fail_msg("no \"%s\" in: %s", rows[i].words, refusal.message);
        workload_finish(&workload);
    }
}

int main(void)
{
    int failed;

    device = model_fixture_open();
    failed = unit_run(NULL, NULL);
    model_fixture_close(device);
    return failed;
}
