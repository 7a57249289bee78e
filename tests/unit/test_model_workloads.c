/*
 * training_step and batched_inference through the interface of workload.h: declarations and their
 * errors, costs, learning, verification that catches broken kernels, the same bytes from one seed.
 */
#include "model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/kernel_text.h"
#include "workloads/ops/internal.h"
#include "workloads/ops/gemm_internal.h"
#include "workloads/storage.h"
#include "workloads/training_step/training_step.h"
#include "workloads/workload.h"

#define MODEL(vocabulary)                                                                          \
    "precisions: [fp32]\nbatches: [3]\n"                                                           \
    "model:\n  layers: 2\n  heads: 2\n  width: 32\n  vocabulary: " vocabulary "\n"                 \
    "sequence_length: 20\n"
#define TRAINING_OF(vocabulary)                                                                    \
    "workload: test_training\nversion: 1\nkind: training_step\ndescription: test\n" MODEL(         \
        vocabulary)
#define TRAINING TRAINING_OF("256")
#define INFERENCE                                                                                  \
    "workload: test_inference\nversion: 1\nkind: batched_inference\ndescription: test\n" MODEL(    \
        "256")

static struct device *device;

struct checks {
    int count, failed;
    bool loss_fall;
    char first_failed[64];
};

static void note_check(void *context, const struct workload_check *check)
{
    struct checks *checks = context;

    checks->count++;
    assert_true(check->compared > 0);
    assert_non_null(check->reason);
    if (strcmp(check->output, "loss.fall") == 0)
        checks->loss_fall = true;
    if (!check->passed && checks->failed++ == 0)
        snprintf(checks->first_failed, sizeof(checks->first_failed), "%s", check->output);
}

static struct workload parse(const char *yaml)
{
    struct workload workload;

    ASSERT_OK(workload_parse("test.yaml", yaml, strlen(yaml), &workload, err));
    return workload;
}

static struct workload_instance *create(const struct workload *workload, uint64_t seed)
{
    const struct workload_case work = {.workload = workload,
                                       .precision = PRECISION_FP32,
                                       .batch = workload->batches[0],
                                       .scenario = workload->scenario,
                                       .implementation = IMPLEMENTATION_PORTABLE,
                                       .seed = seed};
    struct workload_instance *instance = NULL;

    ASSERT_OK(workload_instance_create(&work, device, &instance, err));
    return instance;
}

static void run(struct workload_instance *instance, int iterations)
{
    for (int i = 0; i < iterations; i++)
        ASSERT_OK(instance->kind->iterate(instance, err));
    ASSERT_OK(device_synchronize(device, err));
}

static double real_at(const json_t *json, const char *outer, const char *inner)
{
    const json_t *value = json_object_get(json_object_get(json, outer), inner);

    assert_true(json_is_real(value));
    return json_real_value(value);
}

static void test_training_learns(void **state)
{
    struct workload workload = parse(TRAINING "optimizer:\n  learning_rate: 0.003\n");
    struct workload_instance *instance;
    struct workload_stages stages;
    struct checks before = {0}, after = {0};
    json_t *facts;

    (void)state;
    if (!device)
        skip();
    instance = create(&workload, 1);
    ASSERT_OK(workload_verify(instance, note_check, &before, err));
    assert_false(before.loss_fall);
    /* The check used one of three sequences, but everything later is prepared. */
    assert_true(((struct gpt2_instance *)instance)->ops->gemms->sealed);
    facts = workload.kind->facts(instance);
    assert_non_null(json_object_get(json_object_get(facts, "loss"), "fall")); /* not judged yet */
    json_decref(facts);
    run(instance, 600);
    ASSERT_OK(workload.kind->stages(instance, &stages, err));
    assert_int_equal(stages.count, 5);
    for (size_t i = 0; i < stages.count; i++) {
        assert_true(stages.ns[i] >= 0);
        assert_true(stages.host[i] == (i < 2 || !device_has_events(device)));
    }
    ASSERT_OK(workload_verify(instance, note_check, &after, err));
    assert_true(after.loss_fall);
    assert_int_equal(after.failed, 0);
    /* loss, gradients of 2 + 2 * 12 + 2 tensors, their worst block, norms, logits, embedding, three
     * arrays of the update and what stood still, the fall */
    assert_int_equal(after.count, 1 + 28 + 1 + 3 + 4 + 1);
    facts = workload.kind->facts(instance);
    assert_true(real_at(facts, "loss", "first_nats") >
                real_at(facts, "data", "unigram_entropy_nats"));
    assert_true(real_at(facts, "loss", "last_nats") <
                real_at(facts, "data", "entropy_rate_nats") + 1.0);
    assert_true(real_at(facts, "loss", "last_nats") >
                real_at(facts, "data", "entropy_rate_nats") - 0.2);
    assert_int_equal(json_array_size(json_object_get(json_object_get(facts, "loss"), "curve")), 64);
    json_decref(facts);
    workload_instance_destroy(instance);
    workload_finish(&workload);
}

/* Losses of 30 steps, and the group sizes that the instance chose, as text. */
static void losses_of(const struct workload *workload, uint64_t seed, char **ret_losses,
                      char **ret_lanes)
{
    struct workload_instance *instance = create(workload, seed);
    json_t *facts;

    run(instance, 30);
    facts = workload->kind->facts(instance);
    *ret_losses = json_dumps(json_object_get(facts, "loss"), JSON_REAL_PRECISION(17));
    *ret_lanes = json_dumps(json_object_get(facts, "lanes"), JSON_SORT_KEYS);
    assert_non_null(*ret_losses);
    assert_non_null(*ret_lanes);
    json_decref(facts);
    workload_instance_destroy(instance);
}

/* The choice of group sizes is a measurement, which a busy machine may distort: then repeat it. */
static void test_same_seed_same_bytes(void **state)
{
    struct workload workload = parse(TRAINING);
    char *losses, *lanes;
    bool compared = false;

    (void)state;
    if (!device)
        skip();
    losses_of(&workload, 7, &losses, &lanes);
    for (int attempt = 0; attempt < 10 && !compared; attempt++) {
        char *again, *again_lanes;

        losses_of(&workload, 7, &again, &again_lanes);
        compared = strcmp(lanes, again_lanes) == 0;
        if (compared)
            assert_string_equal(losses, again);
        free(again);
        free(again_lanes);
    }
    assert_true(compared);
    free(lanes);
    lanes = NULL;
    {
        char *other;

        losses_of(&workload, 8, &other, &lanes);
        assert_string_not_equal(losses, other);
        free(other);
    }
    free(losses);
    free(lanes);
    workload_finish(&workload);
}

static void check_break(const char *yaml, const char *from, const char *to, const char *wanted)
{
    struct workload workload = parse(yaml);
    struct workload_instance *instance = create(&workload, 3);
    struct checks checks = {0};
    struct error failure = ERROR_INIT;

    run(instance, 20); /* away from the start, where attention is nearly uniform */
    ASSERT_OK(workload_verify(instance, note_check, &checks, err));
    model_fixture_break_kernel(device, ((struct gpt2_instance *)instance)->ops, from, to);
    run(instance, 1);
    if (workload_verify(instance, note_check, &checks, &failure) != STATUS_CHECK_FAILED)
        fail_msg("\"%s\" for \"%s\" was not caught", to, from);
    if (strncmp(checks.first_failed, wanted, strlen(wanted)) != 0)
        fail_msg("\"%s\" for \"%s\": caught by %s", to, from, checks.first_failed);
    assert_non_null(strstr(failure.message, checks.first_failed));
    workload_instance_destroy(instance);
    workload_finish(&workload);
}

/* Each fault is small; each must be detected, first by the check that is meant for it. */
static void test_verification_catches(void **state)
{
    (void)state;
    if (!device)
        skip();
    check_break(TRAINING, "GELU_TWICE_SCALE 1.5957691216057308f", "GELU_TWICE_SCALE 1.59f", "");
    check_break(TRAINING, "* scale - scale;", "* scale - 0.999f * scale;", "grad.");
    check_break(TRAINING, "LOAD(in, i) * (LOAD(row, i) - dot)", "LOAD(in, i) * LOAD(row, i)",
                "grad.");
    check_break(TRAINING, "return (x - mean) * rstd;", "return x - mean;", "grad.");
    check_break(TRAINING, "return w - rate * F_FMA(decay, w, move);", "return w - rate * move;",
                "adamw.parameters");
    check_break(TRAINING, "F_SQRT(square * second)", "F_SQRT(square)", "adamw.parameters");
    check_break(TRAINING, "rest2 * gradient * gradient", "rest2 * gradient",
                "loss"); /* all becomes NaN */
    /* The end of an embedding that is larger than the checked part of a tensor. */
    check_break(TRAINING_OF("4096"), "floats_store(w + i, weight);",
                "if (i / 4096 != 31) floats_store(w + i, weight);", "adamw.parameters");
}

static void test_inference(void **state)
{
    struct workload workload = parse(INFERENCE "verify:\n  sequences: 3\n");
    struct workload_instance *instance;
    struct workload_stages stages;
    struct workload_cost cost;
    struct checks checks = {0};
    json_t *facts;

    (void)state;
    if (!device)
        skip();
    instance = create(&workload, 1);
    ASSERT_OK(workload.kind->cost(&instance->work, &cost, err));
    assert_int_equal(cost.items, 60);
    ASSERT_OK(workload_verify(instance, note_check, &checks, err));
    run(instance, 40); /* the pool wraps around */
    ASSERT_OK(workload.kind->stages(instance, &stages, err));
    assert_int_equal(stages.count, 2);
    assert_true(stages.ns[1] > 0);
    ASSERT_OK(workload_verify(instance, note_check, &checks, err));
    assert_int_equal(checks.count, 10);
    assert_int_equal(checks.failed, 0);
    facts = workload.kind->facts(instance);
    assert_true(json_integer_value(json_object_get(facts, "parameters")) > 0);
    json_decref(facts);
    workload_instance_destroy(instance);
    workload_finish(&workload);
}

static char *recheck(struct workload_instance *instance, const char *expected, bool same)
{
    struct workload_recheck found = {0};

    ASSERT_OK(workload_recheck(instance, expected, &found, err));
    assert_int_equal(found.same, same);
    return found.text;
}

/* Both moments of a verified instance against a later one, which needs no reference. */
static void test_recheck(void **state)
{
    static const char *const yaml[] = {TRAINING, INFERENCE "verify:\n  sequences: 3\n"};

    (void)state;
    if (!device)
        skip();
    for (int i = 0; i < 2; i++) {
        struct workload workload = parse(yaml[i]);
        struct workload_instance *first = create(&workload, 1), *later = create(&workload, 1);
        struct checks checks = {0};
        char *texts[2], *found;

        texts[0] = recheck(first, NULL, false);
        ASSERT_OK(workload_verify(first, note_check, &checks, err));
        run(first, 3);
        texts[1] = recheck(first, NULL, false);
        ASSERT_OK(workload_verify(first, note_check, &checks, err));
        assert_true(i == 0 || !texts[1]); /* inference goes back to its first batch */

        free(recheck(later, texts[0], true));
        assert_true(((struct gpt2_instance *)later)->ops->gemms->sealed);
        run(later, 5); /* another number of iterations */
        found = recheck(later, texts[i == 0], true);
        free(found);
        workload_instance_destroy(later);

        /* Another weight gives other bits, and the reference's verdict on them counts. */
        later = create(&workload, 1);
        {
            const float other = 3.0f;
            struct gpt2_device *model = ((struct gpt2_instance *)later)->model;

            ASSERT_OK(
                device_upload(model->buffers[GPT2_PARAMETERS], 0, &other, sizeof(other), err));
        }
        free(recheck(later, texts[0], false));
        free(texts[0]);
        free(texts[1]);
        workload_instance_destroy(later);
        workload_instance_destroy(first);
        workload_finish(&workload);
    }
}

/* A device without event times: the host waits at each boundary, and reports that. */
static void test_stages_without_events(void **state)
{
    static const char *const yaml[] = {TRAINING, INFERENCE};
    const struct device_ops *kept;
    struct device_ops without;

    (void)state;
    if (!device)
        skip();
    kept = device->ops;
    without = *kept;
    without.event_create = NULL;
    device->ops = &without;
    for (size_t i = 0; i < 2; i++) {
        struct workload workload = parse(yaml[i]);
        struct workload_instance *instance = create(&workload, 1);
        struct workload_stages stages;

        run(instance, 2);
        ASSERT_OK(workload.kind->stages(instance, &stages, err));
        for (size_t s = 0; s < stages.count; s++) {
            assert_true(stages.host[s]);
            assert_true(stages.ns[s] > 0);
        }
        workload_instance_destroy(instance);
        workload_finish(&workload);
    }
    device->ops = kept;
}

static void test_cost_is_what_is_allocated(void **state)
{
    struct workload workload = parse(TRAINING);
    struct workload_instance *instance;
    struct gpt2_device *model;
    struct workload_cost cost;
    uint64_t bytes = 0;

    (void)state;
    if (!device)
        skip();
    instance = create(&workload, 1);
    model = ((struct training_instance *)instance)->gpt2.model;
    ASSERT_OK(workload.kind->cost(&instance->work, &cost, err));
    for (size_t i = 0; i < GPT2_BUFFERS; i++)
        bytes += model->buffers[i] ? model->buffers[i]->bytes : 0;
    assert_int_equal(cost.device_memory_bytes, bytes);
    assert_int_equal(cost.items, 60);
    assert_int_equal(cost.flops, 3 * gpt2_forward_flops(&model->plan.shape, 3, 20));
    workload_instance_destroy(instance);
    workload_finish(&workload);
}

/* Sizes that a declaration may have one by one, and not all together. */
static void test_cost_too_large(void **state)
{
    static const char *const rows[] = {
        /* FLOPs; bytes, whose sum in 64 bits would be small; tokens */
        "batches: [1]\nsequence_length: 1048576\n"
        "model: {layers: 1024, heads: 1, width: 8192, vocabulary: 8388608}\n",
        "batches: [1048576]\nsequence_length: 1048576\n"
        "model: {layers: 1, heads: 1024, width: 1024, vocabulary: 2}\n",
        "batches: [1048576]\nsequence_length: 2048\n"
        "model: {layers: 1, heads: 1, width: 1, vocabulary: 2}\n",
    };
    static const char *const kinds[] = {"training_step", "batched_inference"};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        char *yaml = text_format("workload: w\nversion: 1\nkind: %s\ndescription: d\n"
                                 "data: {source: markov}\n%s",
                                 kinds[i % 2], rows[i / 2]);
        struct workload workload = parse(yaml);
        struct workload_case work = {.workload = &workload, .batch = workload.batches[0]};
        struct workload_cost cost = {.items = 7};
        struct error failure = ERROR_INIT;

        work.precision = PRECISION_FP32;
        assert_int_equal(workload.kind->cost(&work, &cost, &failure), STATUS_INVALID);
        assert_non_null(strstr(failure.message, "declare a smaller batch"));
        assert_int_equal(cost.items, 7);
        workload_finish(&workload);
        free(yaml);
    }
}

static void test_unsupported(void **state)
{
    struct workload workload = parse(TRAINING);
    struct workload_case work = {.workload = &workload, .precision = PRECISION_BF16, .batch = 1};
    struct workload_instance *instance = NULL;
    struct error failure = ERROR_INIT;

    (void)state;
    if (!device)
        skip();
    assert_int_equal(workload_instance_create(&work, device, &instance, &failure),
                     STATUS_UNSUPPORTED);
    assert_non_null(strstr(failure.message, "bf16"));
    work.precision = PRECISION_FP32;
    work.implementation = IMPLEMENTATION_VENDOR;
    if (!device_has_operation(device, OPERATION_GEMM))
        assert_int_equal(workload_instance_create(&work, device, &instance, &failure),
                         STATUS_UNSUPPORTED);
    work.implementation = IMPLEMENTATION_PORTABLE;
    work.batch = 1 << 20;
    assert_int_equal(workload_instance_create(&work, device, &instance, &failure),
                     STATUS_DEVICE_MEMORY);
    assert_null(instance);
    workload_finish(&workload);
}

static void test_declaration_errors(void **state)
{
    static const struct {
        const char *yaml, *message;
    } wrong[] = {
        {TRAINING "optimizer:\n  learning_rate: -1\n", "test.yaml:14: "},
        {TRAINING "optimizer:\n  beta1: 1\n", "0 to 0.9999"},
        {TRAINING "verify:\n  sequences: 0\n", "verify.sequences"},
        {TRAINING "data:\n  source: text\n", "path: FILE"},
        {TRAINING "data:\n  source: text\n  path: no_such_file\n", "test.yaml:15: "},
        {TRAINING "data:\n  source: markov\n  path: x\n", "source: text"},
        {TRAINING "data:\n  source: markov\n  successors: 65\n", "up to 64"},
        {"workload: t\nversion: 1\nkind: training_step\ndescription: d\nmodel:\n  layers: 1\n"
         "  heads: 3\n  width: 32\n  vocabulary: 9\nsequence_length: 4\n",
         "test.yaml:8: "},
        {"workload: t\nversion: 1\nkind: training_step\ndescription: d\nmodel:\n  layers: 1\n"
         "  heads: 1\n  width: 32\n  vocabulary: 9\n  context: 3\nsequence_length: 4\n",
         "test.yaml:11: "},
        {"workload: t\nversion: 1\nkind: batched_inference\ndescription: d\nmodel:\n  layers: 0\n"
         "  heads: 1\n  width: 32\n  vocabulary: 9\nsequence_length: 4\n",
         "test.yaml:6: "},
        {"workload: t\nversion: 1\nkind: batched_inference\ndescription: d\nmodel:\n  layers: 1\n"
         "  heads: 1\n  width: 32\n  vocabulary: 1\nsequence_length: 4\n",
         "vocabulary"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        model_fixture_refuse(wrong[i].yaml, wrong[i].message);
}

/* A text next to the declaration: found, hashed, kept in the JSON, and refused when it changes. */
static void test_text_source(void **state)
{
    char folder[] = "/tmp/assay_model_XXXXXX", text[64], origin[64];
    const char *yaml = TRAINING "data:\n  source: text\n  path: story.txt\n";
    struct workload workload, again;
    struct error failure = ERROR_INIT;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(text, sizeof(text), "%s/story.txt", folder);
    snprintf(origin, sizeof(origin), "%s/decl.yaml", folder);
    file = fopen(text, "w");
    for (int i = 0; i < 100; i++)
        fprintf(file, "the quick brown fox %d jumps over the lazy dog\n", i % 7);
    fclose(file);
    ASSERT_OK(workload_parse(origin, yaml, strlen(yaml), &workload, err));
    assert_int_equal(strlen(json_string_value(
                         json_object_get(json_object_get(workload.json, "data"), "sha256"))),
                     64);
    ASSERT_OK(workload_from_json(workload.json, &again, err));
    assert_true(digest_equal(&workload.digest, &again.digest));
    if (device) {
        struct workload_instance *instance = create(&again, 1);
        json_t *facts;

        run(instance, 60);
        facts = again.kind->facts(instance);
        assert_true(real_at(facts, "loss", "last_nats") < real_at(facts, "loss", "first_nats"));
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(facts, "data"), "source")), "text");
        json_decref(facts);
        workload_instance_destroy(instance);
    }
    workload_finish(&again);
    file = fopen(text, "a");
    fputc('x', file);
    fclose(file);
    assert_int_equal(workload_from_json(workload.json, &again, &failure), STATUS_INVALID);
    assert_non_null(strstr(failure.message, "SHA-256"));
    unlink(text);
    rmdir(folder);
    workload_finish(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declaration_errors),
        cmocka_unit_test(test_text_source),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_cost_is_what_is_allocated),
        cmocka_unit_test(test_cost_too_large),
        cmocka_unit_test(test_training_learns),
        cmocka_unit_test(test_same_seed_same_bytes),
        cmocka_unit_test(test_verification_catches),
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_recheck),
        cmocka_unit_test(test_stages_without_events),
    };
    int failed;

    device = model_fixture_open();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    model_fixture_close(device);
    return failed;
}
