/* The shape's layout and counts, and the fp64 reference against finite differences. */
#include "workloads/models/gpt2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/support/unit.h"
#include "workloads/models/adamw.h"
#include "workloads/check/compare.h"
#include "workloads/models/gpt2_device.h"
#include "workloads/models/gpt2_int8.h"
#include "workloads/models/gpt2_graph.h"
#include "workloads/check/reference_math.h"

static const struct gpt2_shape published = {.layers = 12,
                                            .heads = 12,
                                            .width = 768,
                                            .context = 1024,
                                            .vocabulary = 50257,
                                            .mlp_width = 3072};

TEST(published_counts)
{
    struct gpt2_device_plan plan = {.shape = published};

    assert_int_equal(gpt2_logits_stride(&plan), 50304);
    plan.dense_logits = true;
    assert_int_equal(gpt2_logits_stride(&plan), 50257);
    assert_int_equal(gpt2_int8_head_rows(&published), 50260);
    assert_int_equal(gpt2_parameter_count(&published), 124439808);
    /* 2*m*n*k by hand: qkv, projection and MLP, causal scores and values, head. */
    assert_int_equal(gpt2_forward_flops(&published, 1, 1),
                     12ull * (2 * 768 * 768 * 12 + 4 * 768) + 2ull * 768 * 50257);
    assert_int_equal(gpt2_forward_flops(&published, 3, 4),
                     12ull * (12 * 2 * 768 * 768 * 12 + 3 * 4 * 768 * 10) +
                         12ull * 2 * 768 * 50257);
}

/* Tensors lie one after another, aligned, the decaying ones first, and fill the array. */
static void check_layout(const struct gpt2_shape *shape)
{
    uint64_t end = 0;
    bool decay = true;

    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

        assert_int_equal(tensor.offset, (end + GPT2_ALIGN - 1) / GPT2_ALIGN * GPT2_ALIGN);
        assert_int_equal(tensor.offset, gpt2_offset(shape, tensor.id, tensor.layer));
        if (decay && !tensor.decay)
            assert_int_equal(tensor.offset, gpt2_decay_length(shape));
        assert_true(decay || !tensor.decay);
        decay = tensor.decay;
        end = tensor.offset + tensor.count;
    }
    assert_int_equal((end + GPT2_ALIGN - 1) / GPT2_ALIGN * GPT2_ALIGN, gpt2_array_length(shape));
}

TEST(layout)
{
    const struct gpt2_shape odd = {3, 1, 13, 5, 257, 29};

    check_layout(&published);
    check_layout(&odd);
    assert_string_equal(gpt2_tensor_at(&odd, 0).name, "wte");
    assert_string_equal(gpt2_tensor_at(&odd, 2 + 4).name, "h1.attn.w");
    assert_string_equal(gpt2_tensor_at(&odd, gpt2_tensor_count(&odd) - 1).name, "lnf.b");
}

TEST(impossible_shapes)
{
    struct gpt2_shape shape = published;
    struct error err = ERROR_INIT;

    assert_int_equal(gpt2_shape_check(&shape, &err), STATUS_OK);
    shape.heads = 7;
    assert_int_equal(gpt2_shape_check(&shape, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "multiple of heads"));
    shape = published;
    shape.layers = 0;
    assert_int_equal(gpt2_shape_check(&shape, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "layers"));
    shape = published;
    shape.width = 12 << 20;
    shape.mlp_width = 1 << 24;
    assert_int_equal(gpt2_shape_check(&shape, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "2^48"));
}

TEST(initialisation)
{
    const struct gpt2_shape shape = {2, 2, 64, 32, 256, 256};
    uint64_t length = gpt2_array_length(&shape);
    float *a = malloc(length * sizeof(float)), *b = malloc(length * sizeof(float));

    gpt2_initialise(&shape, 7, a);
    gpt2_initialise(&shape, 7, b);
    assert_memory_equal(a, b, length * sizeof(float));
    gpt2_initialise(&shape, 8, b);
    assert_memory_not_equal(a, b, length * sizeof(float));
    for (size_t i = 0; i < gpt2_tensor_count(&shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(&shape, i);
        double sum = 0.0, square = 0.0, wanted = 0.0;

        for (uint64_t j = 0; j < tensor.count; j++) {
            sum += a[tensor.offset + j];
            square += (double)a[tensor.offset + j] * a[tensor.offset + j];
        }
        if (tensor.decay)
            wanted = tensor.id == GPT2_ATTN_PROJ_W || tensor.id == GPT2_FC_PROJ_W ? 0.01 : 0.02;
        if (strstr(tensor.name, ".g"))
            assert_true(sum == (double)tensor.count);
        else if (wanted == 0.0)
            assert_true(square == 0.0);
        else /* five standard errors of a sample deviation */
            assert_true(fabs(sqrt(square / (double)tensor.count) / wanted - 1.0) <
                        5.0 / sqrt(2.0 * (double)tensor.count));
    }
    free(a);
    free(b);
}

TEST(gemm_variants)
{
    const uint64_t sizes[][3] = {{1, 1, 1}, {5, 17, 3}, {4, 16, 300}, {67, 33, 129}, {3, 1030, 2}};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        uint64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        double *a = malloc(m * k * sizeof(double)), *c = malloc(m * n * sizeof(double));
        float *b = malloc(n * k * sizeof(float));

        for (uint64_t i = 0; i < m * k; i++)
            a[i] = random_unit(random_at(1, 1, i)) - 0.5;
        for (uint64_t i = 0; i < n * k; i++)
            b[i] = (float)random_unit(random_at(1, 2, i)) - 0.5f;
        for (int form = 0; form < 8; form++) {
            bool ta = form & 1, tb = form & 2, add = form & 4;
            struct reference_matrix am = {.f64 = a, .stride = ta ? m : k, .transpose = ta};
            struct reference_matrix bm = {.f32 = b, .stride = tb ? k : n, .transpose = tb};

            for (uint64_t i = 0; i < m * n; i++)
                c[i] = 1.0;
            assert_int_equal(reference_gemm(c, n, am, bm, m, n, k, add, NULL), STATUS_OK);
            for (uint64_t i = 0; i < m; i++) {
                for (uint64_t j = 0; j < n; j++) {
                    double sum = add ? 1.0 : 0.0;

                    for (uint64_t p = 0; p < k; p++)
                        sum +=
                            a[ta ? p * m + i : i * k + p] * (double)b[tb ? j * k + p : p * n + j];
                    assert_true(fabs(sum - c[i * n + j]) < 1e-13 * (double)(k + 1));
                }
            }
        }
        free(a);
        free(b);
        free(c);
    }
}

static double loss_at(struct stack_reference *ref, const float *w, const int32_t *tokens,
                      const int32_t *targets)
{
    assert_int_equal(stack_reference_forward(ref, w, tokens, targets, NULL), STATUS_OK);
    return ref->loss;
}

/*
 * Central differences over the fp32 parameters themselves: w +- h rounds to fp32, so the real
 * distance is used. With h = 2^-8 the truncation error is of the order h^2.
 */
static void check_gradients(const struct gpt2_shape *shape, uint64_t sequences, uint64_t length)
{
    uint64_t count = gpt2_array_length(shape), tokens_count = sequences * length;
    float *w = malloc(count * sizeof(float));
    int32_t *tokens = malloc(tokens_count * sizeof(*tokens));
    int32_t *targets = malloc(tokens_count * sizeof(*targets));
    double *gradients = malloc(count * sizeof(double));
    struct stack_reference *ref = NULL;
    struct random random;

    random_init(&random, 3, 0);
    for (uint64_t i = 0; i < count; i++) /* far from symmetric points, gains around one */
        w[i] = (float)(0.3 * random_next_normal(&random) + (i % 7 == 0 ? 1.0 : 0.0));
    for (uint64_t i = 0; i < tokens_count; i++) {
        tokens[i] = (int32_t)random_next_below(&random, shape->vocabulary);
        targets[i] = (int32_t)random_next_below(&random, shape->vocabulary);
    }
    assert_int_equal(gpt2_reference_create(shape, sequences, length, true, &ref, NULL), STATUS_OK);
    loss_at(ref, w, tokens, targets);
    assert_int_equal(stack_reference_backward(ref, NULL), STATUS_OK);
    for (size_t t = 0; t < gpt2_tensor_count(shape); t++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, t);

        memcpy(gradients + tensor.offset, ref->gradients[t], tensor.count * sizeof(double));
    }
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

        for (int probe = 0; probe < 6; probe++) {
            uint64_t at = tensor.offset + random_next_below(&random, tensor.count);
            float kept = w[at], up = kept + 0x1p-8f, down = kept - 0x1p-8f;
            double high, low, slope;

            w[at] = up;
            high = loss_at(ref, w, tokens, targets);
            w[at] = down;
            low = loss_at(ref, w, tokens, targets);
            w[at] = kept;
            slope = (high - low) / ((double)up - (double)down);
            if (fabs(slope - gradients[at]) > 1e-3 * fabs(slope) + 2e-5)
                fail_msg("%s[%llu]: gradient %.9g, difference quotient %.9g", tensor.name,
                         (unsigned long long)(at - tensor.offset), gradients[at], slope);
        }
    }
    stack_reference_destroy(ref);
    free(w);
    free(tokens);
    free(targets);
    free(gradients);
}

TEST(gradients_by_differences)
{
    const struct gpt2_shape usual = {2, 2, 8, 6, 11, 32};
    const struct gpt2_shape odd = {1, 1, 5, 4, 3, 7};

    check_gradients(&usual, 2, 6);
    check_gradients(&usual, 1, 4); /* shorter than the context */
    check_gradients(&odd, 3, 1);   /* a single position */
}

/* A position may depend on itself and earlier ones alone. */
TEST(causality)
{
    const struct gpt2_shape shape = {2, 2, 8, 6, 11, 32};
    int32_t tokens[6] = {1, 2, 3, 4, 5, 6};
    float *w = malloc(gpt2_array_length(&shape) * sizeof(float));
    struct stack_reference *ref = NULL;
    double kept[4 * 11];

    gpt2_initialise(&shape, 1, w);
    assert_int_equal(gpt2_reference_create(&shape, 1, 6, false, &ref, NULL), STATUS_OK);
    assert_int_equal(stack_reference_forward(ref, w, tokens, NULL, NULL), STATUS_OK);
    memcpy(kept, ref->out, sizeof(kept));
    tokens[4] = 9;
    assert_int_equal(stack_reference_forward(ref, w, tokens, NULL, NULL), STATUS_OK);
    assert_memory_equal(kept, ref->out, sizeof(kept));
    assert_true(ref->out[4 * 11] != 0.0);
    stack_reference_destroy(ref);
    free(w);
}

TEST(adamw_by_hand)
{
    const struct adamw adamw = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    double m = 0.0, v = 0.0, w;

    /* The first step moves by the rate, whatever the gradient's size; decay comes on top. */
    w = adamw_reference(&adamw, 1, 0.5, 2.0, -1e-3, &m, &v);
    assert_true(fabs(w - (2.0 + 0.1 - 0.1 * 0.5 * 2.0)) < 1e-5);
    /* Second step with gradient +1e-3: m = -1e-5, v = 1.99e-8 before correction. */
    w = adamw_reference(&adamw, 2, 0.0, 0.0, 1e-3, &m, &v);
    assert_true(fabs(m - 1e-5) < 1e-12);
    assert_true(fabs(v - 1.99e-8) < 1e-14);
    assert_true(fabs(w + 0.1 * (1e-5 / 0.19) / (1e-3 + 1e-8)) < 1e-9);
}

/* What a whole array's error does not show: one tile that was never written. */
TEST(worst_block)
{
    enum { COUNT = 65536 + 7 };
    double *expected = malloc(COUNT * sizeof(*expected));
    float *got = malloc(COUNT * sizeof(*got));
    struct block_finding finding = {0};
    struct comparison comparison = {0};
    uint64_t at = 0;

    for (uint64_t i = 0; i < COUNT; i++) {
        expected[i] = 2.0 * random_unit(random_at(1, 2, i)) - 1.0;
        got[i] = (float)(expected[i] * (1.0 + 0.01 * random_unit(random_at(1, 3, i))));
    }
    assert_true(comparison_worst_block(got, expected, COUNT, &at) < 0.01);
    memset(got + 640, 0, 64 * sizeof(*got));
    comparison_add(&comparison, got, expected, COUNT);
    assert_true(comparison_normalised_rms(&comparison) < 0.04);
    assert_true(comparison_worst_block(got, expected, COUNT, &at) > 0.6);
    assert_int_equal(at, 640);
    got[COUNT - 1] = NAN;
    assert_true(comparison_worst_block(got, expected, COUNT, &at) == (double)INFINITY);
    assert_int_equal(at, COUNT - 64); /* the last block is whole */
    block_finding_add(&finding, "small", got, expected, 5);
    block_finding_add(&finding, "large", got, expected, 65536);
    block_finding_add(&finding, "small", got, expected, 5);
    assert_string_equal(finding.name, "large");
    assert_int_equal(finding.at, 640);
    assert_int_equal(finding.compared, 65546);
    memset(expected, 0, 64 * sizeof(*expected));
    memset(got, 0, 64 * sizeof(*got));
    assert_true(comparison_worst_block(got, expected, 64, &at) == 0.0);
    got[3] = 8.0f;
    assert_true(comparison_worst_block(got, expected, 64, &at) == 1.0);
    free(expected);
    free(got);
}
