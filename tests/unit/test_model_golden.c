/*
 * The fp64 reference against an independent implementation: values that PyTorch computed in fp64
 * for a small GPT-2 (tests/golden/gpt2_values.py wrote them; PyTorch is not needed here).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/models/adamw.h"
#include "workloads/models/gpt2_graph.h"

#include "../golden/gpt2_values.h"

/* Both sides round in fp64, in different orders; parameters pass through fp32 once a step here. */
#define TOLERANCE 1e-11
#define TOLERANCE_AFTER_STEPS 2e-6

struct model {
    float *weights; /* what the reference reads */
    double *exact, *m, *v;
    int32_t tokens[GOLDEN_SEQUENCES * GOLDEN_LENGTH], targets[GOLDEN_SEQUENCES * GOLDEN_LENGTH];
    struct stack_reference *reference;
};

static void make(struct model *model)
{
    uint64_t length = gpt2_array_length(&golden_shape);

    model->weights = calloc(length, sizeof(float));
    model->exact = calloc(length, sizeof(double));
    model->m = calloc(length, sizeof(double));
    model->v = calloc(length, sizeof(double));
    for (size_t t = 0; t < gpt2_tensor_count(&golden_shape); t++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(&golden_shape, t);

        for (uint64_t i = 0; i < tensor.count; i++) {
            uint64_t word = ((i + 1) * 2654435761u + t * 40503) & 0xffffffffu;
            double value = ((double)word / 0x1p32 - 0.5) * 0.6;

            if (strstr(tensor.name, ".g"))
                value += 1.0;
            model->weights[tensor.offset + i] = (float)value;
            model->exact[tensor.offset + i] = (double)(float)value;
        }
    }
    for (int s = 0; s < GOLDEN_SEQUENCES; s++) {
        for (int t = 0; t < GOLDEN_LENGTH; t++) {
            int at = s * GOLDEN_LENGTH + t;

            model->tokens[at] = (7 * at * (s + 2) + 3) % (int32_t)golden_shape.vocabulary;
            model->targets[at] = (5 * at + 11) % (int32_t)golden_shape.vocabulary;
        }
    }
    assert_int_equal(gpt2_reference_create(&golden_shape, GOLDEN_SEQUENCES, GOLDEN_LENGTH, true,
                                           &model->reference, NULL),
                     STATUS_OK);
}

static void drop(struct model *model)
{
    stack_reference_destroy(model->reference);
    free(model->weights);
    free(model->exact);
    free(model->m);
    free(model->v);
}

static struct gpt2_tensor find(const char *name)
{
    for (size_t t = 0; t < gpt2_tensor_count(&golden_shape); t++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(&golden_shape, t);

        if (strcmp(tensor.name, name) == 0)
            return tensor;
    }
    fail_msg("no tensor %s", name);
    return (struct gpt2_tensor){0};
}

static size_t number_of(const struct gpt2_tensor *tensor)
{
    size_t ret = 0;

    while (gpt2_tensor_at(&golden_shape, ret).offset != tensor->offset)
        ret++;
    return ret;
}

static void check_value(const char *what, double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance * (1e-2 + fabs(expected))))
        fail_msg("%s: %.17g, PyTorch has %.17g", what, got, expected);
}

static void step(struct model *model, uint64_t number)
{
    for (size_t t = 0; t < gpt2_tensor_count(&golden_shape); t++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(&golden_shape, t);

        for (uint64_t i = tensor.offset; i < tensor.offset + tensor.count; i++) {
            model->exact[i] = adamw_reference(
                &golden_adamw, number, tensor.decay ? golden_adamw.decay : 0.0, model->exact[i],
                model->reference->gradients[t][i - tensor.offset], &model->m[i], &model->v[i]);
            model->weights[i] = (float)model->exact[i];
        }
    }
}

TEST(against_pytorch)
{
    const size_t count = sizeof(golden_values) / sizeof(golden_values[0]);
    struct model model = {0};

    make(&model);
    for (uint64_t s = 1; s <= GOLDEN_STEPS; s++) {
        assert_int_equal(stack_reference_forward(model.reference, model.weights, model.tokens,
                                                 model.targets, NULL),
                         STATUS_OK);
        check_value("loss", model.reference->loss, golden_losses[s - 1],
                    s == 1 ? TOLERANCE : TOLERANCE_AFTER_STEPS);
        for (size_t i = 0; s == 1 && i < sizeof(golden_logits) / sizeof(golden_logits[0]); i++)
            check_value("logit", model.reference->out[golden_logits[i].at], golden_logits[i].value,
                        TOLERANCE);
        assert_int_equal(stack_reference_backward(model.reference, NULL), STATUS_OK);
        for (size_t i = 0; s == 1 && i < count; i++) {
            struct gpt2_tensor tensor = find(golden_values[i].tensor);
            const double *gradient = model.reference->gradients[number_of(&tensor)];
            double squares = 0.0;

            for (uint64_t j = 0; j < tensor.count; j++)
                squares += gradient[j] * gradient[j];
            if (golden_values[i].what == 'g')
                check_value(tensor.name, gradient[golden_values[i].at], golden_values[i].value,
                            TOLERANCE);
            else if (golden_values[i].what == 'n')
                check_value(tensor.name, sqrt(squares), golden_values[i].value, TOLERANCE);
        }
        step(&model, s);
    }
    for (size_t i = 0; i < count; i++)
        if (golden_values[i].what == 'w')
            check_value(golden_values[i].tensor,
                        model.exact[find(golden_values[i].tensor).offset + golden_values[i].at],
                        golden_values[i].value, TOLERANCE_AFTER_STEPS);
    drop(&model);
}
