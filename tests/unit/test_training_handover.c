/* A step of training that another program hands over: the right one passes, each changed array
 * fails. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "workloads/models/gpt2_handover.h"
#include "workloads/models/gpt2_graph.h"
#include "workloads/training_step/training_step.h"

#define ITERATION 5

static const char declaration[] =
    "workload: little\nversion: 1\nkind: training_step\ndescription: d\nprecisions: [fp32]\n"
    "batches: [2]\nscenario: offline\nsequence_length: 8\n"
    "model: {layers: 1, heads: 2, width: 16, context: 8, vocabulary: 32, mlp_ratio: 2}\n"
    "data: {source: markov, successors: 4}\noptimizer: {warmup_steps: 10}\n";
static const char *const prefixes[] = {"w.", "m.", "v.", "g.", "next.w.", "next.m.", "next.v."};
enum { W, M, V, G, NEXT_W, NEXT_M, NEXT_V, PREFIXES };

static void forget(void *context, const struct workload_check *check)
{
    *(bool *)context |= !check->passed;
}

/* The step in fp64, from the file of weights and tokens. */
static void compute(const struct workload_case *work, const struct tensors *in,
                    const struct tensors *out)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = training_plan(work);
    const size_t count = gpt2_tensor_count(&plan.shape);
    const uint64_t at = (ITERATION - 1) * plan.sequences * plan.length;
    const int32_t *tokens = (const int32_t *)in->items[0].data + at;
    const int32_t *targets = (const int32_t *)in->items[1].data + at;
    const struct adamw adamw = training_adamw(parameters, ITERATION);
    float *weights = calloc(gpt2_array_length(&plan.shape), sizeof(*weights));
    struct stack_reference *reference = NULL;

    for (size_t i = 0; i < count; i++)
        memcpy(weights + gpt2_tensor_at(&plan.shape, i).offset, in->items[2 + i].data,
               in->items[2 + i].bytes);
    assert_int_equal(
        gpt2_reference_create(&plan.shape, plan.sequences, plan.length, true, &reference, NULL),
        STATUS_OK);
    assert_int_equal(stack_reference_forward(reference, weights, tokens, targets, NULL), STATUS_OK);
    *(float *)out->items[PREFIXES * count].data = (float)reference->loss;
    assert_int_equal(stack_reference_backward(reference, NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&plan.shape, i);
        float *arrays[PREFIXES];

        for (size_t p = 0; p < PREFIXES; p++)
            arrays[p] = out->items[p * count + i].data;
        for (uint64_t j = 0; j < tensor.count; j++) {
            double m = 0.01f, v = 0.02f;

            arrays[W][j] = weights[tensor.offset + j];
            arrays[M][j] = (float)m;
            arrays[V][j] = (float)v;
            arrays[G][j] = (float)reference->gradients[i][j];
            arrays[NEXT_W][j] =
                (float)adamw_reference(&adamw, ITERATION, tensor.decay ? adamw.decay : 0.0,
                                       (double)arrays[W][j], (double)arrays[G][j], &m, &v);
            arrays[NEXT_M][j] = (float)m;
            arrays[NEXT_V][j] = (float)v;
        }
    }
    stack_reference_destroy(reference);
    free(weights);
}

static enum status judge(const struct workload_case *work, const char *path, int64_t iteration,
                         struct error *err)
{
    struct tensors outputs = {0};
    const struct workload_handed handed = {
        .work = work, .outputs = &outputs, .iteration = iteration, .whole = true};
    bool failed = false;
    enum status status = tensors_open(path, &outputs, err);

    if (status == STATUS_OK)
        status = workload_judge(&handed, forget, &failed, err);
    tensors_close(&outputs);
    assert_int_equal(failed, status == STATUS_CHECK_FAILED);
    return status;
}

TEST(every_array)
{
    char folder[] = "/tmp/assay-training-XXXXXX", *in_path, *out_path;
    struct workload workload;
    struct error err = ERROR_INIT;
    struct workload_case work = {
        .workload = &workload, .precision = PRECISION_FP32, .batch = 2, .seed = 7};
    struct tensors in, out;
    struct tensor *items;
    size_t count;

    assert_non_null(mkdtemp(folder));
    in_path = text_format("%s/in", folder);
    out_path = text_format("%s/out", folder);
    assert_int_equal(workload_parse("little", declaration, strlen(declaration), &workload, &err),
                     STATUS_OK);
    assert_int_equal(training_handover.write(&work, NULL, in_path, &err), STATUS_OK);
    assert_int_equal(tensors_open(in_path, &in, &err), STATUS_OK);
    count = in.count - 2;
    items = calloc(PREFIXES * count + 1, sizeof(*items));
    for (size_t i = 0; i < PREFIXES * count; i++) {
        const struct gpt2_device_plan plan = training_plan(&work);
        const struct gpt2_tensor tensor = gpt2_tensor_at(&plan.shape, i % count);

        items[i] = gpt2_handover_tensor(&tensor, prefixes[i / count]);
    }
    items[PREFIXES * count] = tensor_new("loss", DTYPE_F32, 1, (const uint64_t[]){1});
    assert_int_equal(tensors_create(out_path, items, PREFIXES * count + 1, &out, &err), STATUS_OK);
    compute(&work, &in, &out);
    if (judge(&work, out_path, ITERATION, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    /* Of another batch, or with another step's rate. */
    assert_int_equal(judge(&work, out_path, ITERATION + 1, &err), STATUS_CHECK_FAILED);
    assert_int_equal(judge(&work, out_path, ITERATION + 16, &err), STATUS_CHECK_FAILED);
    /* One element, in the first tensor and in the last. */
    for (size_t i = 0; i <= PREFIXES * count; i++) {
        float *element = out.items[i].data;
        const float kept = *element;

        if (i < PREFIXES * count && i % count != 0 && i % count != count - 1)
            continue;
        *element = kept + 0.05f;
        if (judge(&work, out_path, ITERATION, &err) != STATUS_CHECK_FAILED)
            fail_msg("%s was changed, and passes", out.items[i].name);
        *element = kept;
    }
    tensors_close(&out);
    tensors_close(&in);
    unlink(in_path);
    unlink(out_path);
    rmdir(folder);
    workload_finish(&workload);
    free(items);
    free(in_path);
    free(out_path);
}
