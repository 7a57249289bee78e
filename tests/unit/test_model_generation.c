/*
 * Generation: tokens and logits over the paged cache against the fp64 reference, in each measure
 * and precision; what a device that does less, or a cache that is damaged, is found by; cost by
 * hand; declarations.
 */
#include "model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/generation/generation.h"

#define HEAD "workload: made\nversion: 1\nkind: generation\ndescription: test\nbatches: [3]\n"
#define SHAPE                                                                                      \
    HEAD "precisions: [fp32, bf16, fp16, int8]\n"                                                  \
         "model: {layers: 2, heads: 2, width: 32, vocabulary: 256}\n"
#define REQUEST SHAPE "generation: {prompt: 13, output: 9, page: 4}\n"
#define PREFILL SHAPE "generation: {prompt: 13, output: 9, page: 4, measure: prefill}\n"
#define DECODE SHAPE "generation: {prompt: 13, output: 9, page: 4, measure: decode}\n"
/* Too large for the whole reference in a spot check; of other sizes than multiples of anything. */
#define LARGE                                                                                      \
    HEAD "precisions: [fp32]\nmodel: {layers: 2, heads: 3, width: 48, vocabulary: 7001}\n"         \
         "generation: {prompt: 37, output: 5, measure: decode}\n"

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

static void iterate(struct model_running *running, int count)
{
    for (int i = 0; i < count; i++)
        ASSERT_OK(running->workload.kind->iterate(running->base, err));
    ASSERT_OK(device_synchronize(device, err));
}

static void expect_failure(struct model_running *running, const char *wanted)
{
    struct checks checks = {0};
    struct error failure = ERROR_INIT;

    if (workload_verify(running->base, note_check, &checks, &failure) != STATUS_CHECK_FAILED)
        fail_msg("not found: %s", wanted);
    if (!strstr(checks.first_failed, wanted))
        fail_msg("found by %s, not by %s", checks.first_failed, wanted);
}

static const struct {
    const char *yaml;
    enum precision precision;
} honest[] = {
    {REQUEST, PRECISION_FP32}, {REQUEST, PRECISION_BF16}, {REQUEST, PRECISION_FP16},
    {REQUEST, PRECISION_INT8}, {PREFILL, PRECISION_FP32}, {DECODE, PRECISION_FP32},
    {DECODE, PRECISION_INT8},  {LARGE, PRECISION_FP32},
};

TEST(honest)
{
    if (!device)
        skip();
    for (size_t i = 0; i < sizeof(honest) / sizeof(honest[0]); i++) {
        struct workload_recheck first = {0}, found = {0};
        struct model_running running;
        struct checks checks = {0};
        json_t *facts;

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        ASSERT_OK(workload_recheck(running.base, NULL, &first, err));
        assert_false(first.same);
        ASSERT_OK(workload_verify(running.base, note_check, &checks, err));
        assert_non_null(strstr(checks.outputs, "logits.last"));
        assert_non_null(strstr(checks.outputs, "logits.top1"));
        assert_non_null(strstr(checks.outputs, "tokens.greedy"));
        for (uint64_t secret = 1; secret <= 4; secret++) {
            iterate(&running, 3);
            checks = (struct checks){0};
            ASSERT_OK(workload_spot_check(running.base, secret * 0x9e3779b97f4a7c15u, note_check,
                                          &checks, err));
            assert_non_null(strstr(checks.outputs, "logits.live"));
            assert_non_null(strstr(checks.outputs, "tokens.greedy"));
        }
        iterate(&running, 2);
        ASSERT_OK(workload_verify(running.base, note_check, &checks, err));
        assert_int_equal(checks.failed, 0);
        facts = running.workload.kind->facts(running.base);
        assert_true(json_real_value(json_object_get(json_object_get(facts, "top1"), "agreement")) >
                    0.5);
        assert_non_null(json_object_get(json_object_get(facts, "cache"), "bytes"));
        json_decref(facts);
        /* The same bits as at first, after all of that. */
        ASSERT_OK(workload_recheck(running.base, first.text, &found, err));
        assert_true(found.same);
        free(first.text);
        free(found.text);
        model_running_stop(&running);
    }
}

/* A key and value of a prompt that are not what prefill wrote, or those of another sequence. */
TEST(damaged_cache)
{
    if (!device)
        skip();
    for (int damage = 0; damage < 3; damage++) {
        struct generation_instance *instance;
        struct model_running running;
        const struct gpt2_device *model;
        static float values[64];
        int32_t swapped;

        model_running_start(&running, device, DECODE, PRECISION_FP32);
        instance = (struct generation_instance *)running.base;
        model = running.gpt2->model;
        iterate(&running, 3);
        for (int i = 0; i < 64; i++)
            values[i] = damage == 0 ? 0.0f : NAN;
        /* Block 1 of the last sequence, whose positions 4 to 7 are prompt. */
        if (damage < 2)
            ASSERT_OK(device_upload(model->buffers[GPT2_CACHE],
                                    (uint64_t)instance->blocks[2 * model->plan.pages + 1] * 4 * 64 *
                                        sizeof(float),
                                    values, sizeof(values), err));
        swapped = instance->blocks[1];
        if (damage == 2)
            instance->blocks[2 * model->plan.pages + 1] = swapped;
        iterate(&running, 1);
        expect_failure(&running, "logits.");
        model_running_stop(&running);
    }
}

/* ---- as a server ---- */

#define SERVER                                                                                     \
    "workload: made\nversion: 1\nkind: generation\ndescription: test\nscenario: server\n"          \
    "precisions: [fp32, int8]\nmodel: {layers: 2, heads: 2, width: 32, vocabulary: 256}\n"         \
    "load: {arrivals: {process: poisson}, rates: [1], lengths: {prompt: {law: uniform, min: 3, "   \
    "max: 13}, output: {law: uniform, min: 1, max: 9}}}\nslo: {ttft: 1s}\n"
#define BATCHING "batching: {policy: continuous, max_batch: 3, max_tokens: 10, chunk: 5}\n"
#define ROOM "generation: {page: 4, blocks: 13}\n" /* the longest takes 6 */

enum { REQUESTS = 14 };

static uint32_t prompt_of(uint32_t request)
{
    return request % 3 == 0 ? 13 : 3 + request % 7;
}

static uint32_t output_of(uint32_t request)
{
    return request % 5 == 0 ? 1 : 1 + request % 9;
}

/* Requests as they come, until all have their outputs; how full the cache was at most. */
static uint32_t serve_all(struct model_running *running, uint64_t *ret_refused)
{
    const struct workload_kind *kind = running->workload.kind;
    uint32_t next = 0, over = 0, most = 0, made[REQUESTS] = {0};
    struct workload_served served;
    struct workload_step step = {.served = &served};

    *ret_refused = 0;
    while (over < REQUESTS) {
        uint32_t prefill = 0;
        bool room = true;

        while (next < REQUESTS && room) {
            ASSERT_OK(
                kind->admit(running->base, next, prompt_of(next), output_of(next), &room, err));
            next += room;
            *ret_refused += !room;
        }
        ASSERT_OK(kind->serve(running->base, &step, err));
        prefill = served.prefill_tokens;
        assert_true(prefill + served.put_out_count > 0 && prefill <= 10 && served.kv_used <= 13);
        most = served.kv_used > most ? served.kv_used : most;
        for (uint32_t i = 0; i < served.put_out_count; i++)
            over += ++made[served.put_out[i]] == output_of(served.put_out[i]);
        step.number++;
        assert_true(step.number < 200);
    }
    for (uint32_t i = 0; i < REQUESTS; i++)
        assert_int_equal(made[i], output_of(i));
    return most;
}

TEST(server)
{
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_INT8};

    if (!device)
        skip();
    for (size_t i = 0; i < 2; i++) {
        struct model_running running;
        struct checks checks = {0};
        struct workload_served served;
        struct workload_step warm = {.at_ns = -1, .served = &served};
        uint64_t refused;

        model_running_start(&running, device, SERVER BATCHING ROOM, precisions[i]);
        ASSERT_OK(workload_verify(running.base, note_check, &checks, err));
        for (; warm.number < 5; warm.number++)
            ASSERT_OK(running.workload.kind->serve(running.base, &warm, err));
        assert_true(serve_all(&running, &refused) > 8);
        assert_true(refused > 0);
        ASSERT_OK(workload_spot_check(running.base, 7, note_check, &checks, err));
        ASSERT_OK(workload_verify(running.base, note_check, &checks, err));
        assert_int_equal(checks.failed, 0);
        model_running_stop(&running);
    }
}

/* Requests that share a block, and a spot check among requests that must not notice it. */
TEST(served_tokens)
{
    if (!device)
        skip();
    for (int shared = 0; shared < 2; shared++) {
        struct generation_instance *instance;
        struct model_running running;
        struct checks checks = {0};
        struct workload_served served;
        struct workload_step step = {.served = &served};
        uint64_t pages;
        bool room;

        model_running_start(&running, device, SERVER BATCHING "verify: {sequences: 8}\n",
                            PRECISION_FP32);
        instance = (struct generation_instance *)running.base;
        ASSERT_OK(workload_verify(running.base, note_check, &checks, err));
        for (uint32_t r = 0; r < 3; r++) {
            ASSERT_OK(running.workload.kind->admit(running.base, r, 13, 9, &room, err));
            assert_true(room);
        }
        pages = generation_model(instance)->plan.pages;
        if (shared) /* the last request's first keys become those of another's 4th output and on */
            instance->blocks[2 * pages] = instance->blocks[pages + 4];
        for (int i = 0; !instance->left[0].prompt || !instance->left[2].prompt; i++) {
            ASSERT_OK(running.workload.kind->serve(running.base, &step, err));
            if (i == 2 || i == 5)
                ASSERT_OK(workload_spot_check(running.base, (uint64_t)i, note_check, &checks, err));
        }
        if (shared)
            expect_failure(&running, "logits.sampled");
        else
            ASSERT_OK(workload_verify(running.base, note_check, &checks, err));
        model_running_stop(&running);
    }
}

/* ---- devices that do less ---- */

static struct {
    const struct device_ops *kept;
    struct device_ops ops;
    uint64_t launches, drop; /* the launch that is left out */
    const char *name;        /* only those of that name count; NULL: any */
    char dropped[64];
} lies;

static enum status lying_launch(struct device *target, const struct kernel_launch *launch,
                                struct error *err)
{
    const bool named = !lies.name || strcmp(launch->kernel, lies.name) == 0;

    if (!named || lies.launches++ != lies.drop)
        return lies.kept->kernel_launch(target, launch, err);
    snprintf(lies.dropped, sizeof(lies.dropped), "%s", launch->kernel);
    return STATUS_OK;
}

static void begin_lies(const char *name, uint64_t drop)
{
    memset(&lies, 0, sizeof(lies));
    lies.kept = device->ops;
    lies.ops = *device->ops;
    lies.ops.kernel_launch = lying_launch;
    lies.name = name;
    lies.drop = drop;
    device->ops = &lies.ops;
}

/* Each launch of a prefill and of a step by itself is missed, in f32 and bf16. */
TEST(one_launch)
{
    if (!device)
        skip();
    for (size_t i = 1; i <= 5; i += 4) {
        struct model_running running;
        uint64_t count;

        model_running_start(&running, device, honest[i].yaml, honest[i].precision);
        iterate(&running, 2);
        begin_lies(NULL, UINT64_MAX);
        ASSERT_OK(generation_replay((struct generation_instance *)running.base, 2, err));
        count = lies.launches;
        device->ops = lies.kept;
        assert_true(count > 40);
        for (uint64_t k = 0; k < count; k++) {
            struct checks checks = {0};
            struct error failure = ERROR_INIT;
            enum status status;

            begin_lies(NULL, k);
            status = workload_spot_check(running.base, k, note_check, &checks, &failure);
            device->ops = lies.kept;
            if (status != STATUS_CHECK_FAILED)
                fail_msg("case %zu: launch %llu, %s, was not missed: %s", i, (unsigned long long)k,
                         lies.dropped, status_name(status));
        }
        model_running_stop(&running);
    }
}

/* A token that is not the largest logit's. */
TEST(other_choice)
{
    struct model_running running;

    if (!device)
        skip();
    model_running_start(&running, device, REQUEST, PRECISION_FP32);
    model_fixture_break_kernel(device, running.gpt2->ops, "(i32)-index : 0", "3 : 0");
    iterate(&running, 1);
    expect_failure(&running, "top1");
    model_running_stop(&running);
}

/* ---- without a device ---- */

static struct workload_cost cost_of(const char *yaml, enum precision precision)
{
    struct workload workload = {0};
    struct workload_cost ret;

    ASSERT_OK(workload_parse("test", yaml, strlen(yaml), &workload, err));
    ASSERT_OK(workload.kind->cost(
        &(struct workload_case){.workload = &workload, .precision = precision, .batch = 3}, &ret,
        err));
    workload_finish(&workload);
    return ret;
}

TEST(cost)
{
    /* Width 32, MLP 128: 12 * 32^2 a layer; the head 256 * 32. */
    const uint64_t matrices = 2 * 12 * 32 * 32, head = 256 * 32;
    const uint64_t vectors = 2 * (96 + 32 + 128 + 32 + 4 * 32) + 2 * 32, row = 2 * 2 * 32;
    uint64_t decode_bytes = 0, decode_flops = 0;
    struct workload_cost cost;

    for (uint64_t keys = 14; keys <= 21; keys++) {
        decode_bytes += 4 * (matrices + head + vectors + 3 * (keys + 1) * row);
        decode_flops += 2 * 3 * (matrices + head + 2 * keys * 32 * 2);
    }
    cost = cost_of(DECODE, PRECISION_FP32);
    assert_int_equal(cost.bytes, decode_bytes / 8);
    assert_int_equal(cost.flops, decode_flops / 8);
    assert_int_equal(cost.items, 3);
    cost = cost_of(PREFILL, PRECISION_FP32);
    assert_int_equal(cost.bytes, 4 * (matrices + head + vectors + 3 * (13 + 13) * row));
    assert_int_equal(cost.flops, 2 * 3 * (13 * matrices + head + 2 * (13 * 14 / 2) * 32 * 2));
    assert_int_equal(cost.items, 39);
    assert_int_equal(cost_of(REQUEST, PRECISION_FP32).bytes, cost.bytes + decode_bytes);
    assert_int_equal(cost_of(REQUEST, PRECISION_FP32).flops, cost.flops + decode_flops);
    assert_int_equal(cost_of(REQUEST, PRECISION_FP32).items, 27);
    cost = cost_of(PREFILL, PRECISION_BF16);
    assert_int_equal(cost.bytes, 2 * (matrices + head + vectors + 3 * (13 + 13) * row));
    /* Scales: one an output channel, the head's 256 among them. */
    cost = cost_of(PREFILL, PRECISION_INT8);
    assert_int_equal(cost.bytes, matrices + head + 2 * vectors +
                                     4 * (256 + 2 * (96 + 32 + 128 + 32)) +
                                     2 * 3 * (13 + 13) * row);
}

TEST(declarations)
{
    static const struct {
        const char *yaml, *message;
    } wrong[] = {
        {SHAPE, "generation"},
        {SHAPE "generation: {prompt: 0, output: 4}\n", "`generation.prompt` is 0"},
        {SHAPE "generation: {prompt: 4, output: 1, measure: decode}\n", "needs 2 or more"},
        {SHAPE "generation: {prompt: 4, output: 2, page: 0}\n", "`generation.page` is 0"},
        {SHAPE "generation: {prompt: 4, output: 2, measure: all}\n", "measure"},
        {HEAD "model: {layers: 1, heads: 1, width: 16, vocabulary: 9, context: 8}\n"
              "generation: {prompt: 6, output: 3}\n",
         "prompt and output are 9 tokens, but the model embeds 8"},
        {HEAD "precisions: [fp64]\nmodel: {layers: 1, heads: 1, width: 16, vocabulary: 9}\n"
              "generation: {prompt: 6, output: 3}\n",
         "does not run in fp64"},
        {REQUEST "int8: {percentile: 50}\n", "above 50"},
        {SHAPE "generation: {prompt: 6, output: 3, blocks: 4}\n", "only a server's"},
        {SERVER BATCHING "generation: {prompt: 6}\n", "remove `generation.prompt`"},
        {SERVER BATCHING "generation: {page: 4, blocks: 5}\n", "cache has: 6"},
        {SERVER "batching: {policy: deadline, max_batch: 3}\n", "write continuous"},
        {SERVER "batching: {policy: continuous, max_batch: 3, max_tokens: 3, chunk: 2}\n",
         "more than `max_batch`"},
        {SERVER "batching: {policy: continuous, max_batch: 3, max_tokens: 9, chunk: 10}\n",
         "1 to `max_tokens`, which is 9"},
        {"workload: made\nversion: 1\nkind: synthetic\ndescription: test\nscenario: server\n"
         "synthetic: {launches: 1, elements: 64}\nload: {arrivals: {process: poisson}, rates: "
         "[1]}\n"
         "batching: {policy: deadline, max_batch: 1, chunk: 3}\nslo: {e2e: 1s}\n",
         "have no prompts"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        model_fixture_refuse(wrong[i].yaml, wrong[i].message);
}

int main(void)
{
    return model_fixture_run(&device);
}
