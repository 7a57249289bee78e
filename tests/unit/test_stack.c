/*
 * Declared stacks: published numbers of parameters to the digit, GPT-2 as a stack with the bits and
 * FLOPs of GPT-2, the derivative of a small Llama against differences, and parameters that depend
 * on the seed and their place.
 */
#include "workloads/models/graph_onnx.h"
#include "workloads/models/stack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2_witness.h"
#include "harness/core/random.h"
#include "tests/support/unit.h"
#include "workloads/graph/interpreter.h"
#include "workloads/graph/operators.h"
#include "workloads/onnx/model.h"
#include "workloads/onnx/reference.h"

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        struct error err_ = ERROR_INIT;                                                            \
        struct error *err = &err_;                                                                 \
                                                                                                   \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, err->message);                               \
    } while (0)

#define LLAMA_8B                                                                                   \
    "model:\n"                                                                                     \
    "  width: 4096\n"                                                                              \
    "  norm: {kind: rms, epsilon: 1.0e-5}\n"                                                       \
    "  stack:\n"                                                                                   \
    "    - of: [{embedding: {vocabulary: 128256}}]\n"                                              \
    "    - times: 32\n"                                                                            \
    "      of: [{attention: {heads: 32, kv_heads: 8, rope: 500000}}, {mlp: {width: 14336, gate: "  \
    "silu}}]\n"                                                                                    \
    "    - of: [{norm: {}}, {head: {vocabulary: 128256, tied: false}}]\n"

/* Zhang et al. 2024; 1.1 G parameters. */
#define TINYLLAMA                                                                                  \
    "model:\n"                                                                                     \
    "  width: 2048\n"                                                                              \
    "  norm: {kind: rms, epsilon: 1.0e-5}\n"                                                       \
    "  stack:\n"                                                                                   \
    "    - of: [{embedding: {vocabulary: 32000}}]\n"                                               \
    "    - times: 22\n"                                                                            \
    "      of: [{attention: {heads: 32, kv_heads: 4, rope: 10000}}, {mlp: {width: 5632, gate: "    \
    "silu}}]\n"                                                                                    \
    "    - of: [{norm: {}}, {head: {vocabulary: 32000}}]\n"

/* Yang et al. 2025. */
#define QWEN3_06B                                                                                  \
    "model:\n"                                                                                     \
    "  width: 1024\n"                                                                              \
    "  norm: {kind: rms, epsilon: 1.0e-6}\n"                                                       \
    "  stack:\n"                                                                                   \
    "    - of: [{embedding: {vocabulary: 151936}}]\n"                                              \
    "    - times: 28\n"                                                                            \
    "      of: [{attention: {heads: 16, kv_heads: 8, head: 128, rope: 1000000, qk_norm: true}}, "  \
    "{mlp: {width: 3072, gate: silu}}]\n"                                                          \
    "    - of: [{norm: {}}, {head: {vocabulary: 151936, tied: true}}]\n"

/* A mixture of experts, the same. */
#define QWEN3_30B                                                                                  \
    "model:\n"                                                                                     \
    "  width: 2048\n"                                                                              \
    "  norm: {kind: rms, epsilon: 1.0e-6}\n"                                                       \
    "  stack:\n"                                                                                   \
    "    - of: [{embedding: {vocabulary: 151936}}]\n"                                              \
    "    - times: 48\n"                                                                            \
    "      of: [{attention: {heads: 32, kv_heads: 4, head: 128, rope: 1000000, qk_norm: true}}, "  \
    "{moe: {experts: 128, top: 8, width: 768, gate: silu, routing: {law: model}}}]\n"              \
    "    - of: [{norm: {}}, {head: {vocabulary: 151936, tied: false}}]\n"

#define GPT2(width, layers, heads, mlp, vocabulary, positions)                                     \
    "model:\n"                                                                                     \
    "  width: " width "\n"                                                                         \
    "  norm: {kind: layer, epsilon: 1.0e-5}\n"                                                     \
    "  stack:\n"                                                                                   \
    "    - of: [{embedding: {vocabulary: " vocabulary ", positions: " positions "}}]\n"            \
    "    - times: " layers "\n"                                                                    \
    "      of: [{attention: {heads: " heads ", bias: true}}, {mlp: {width: " mlp                   \
    ", bias: true}}]\n"                                                                            \
    "    - of: [{norm: {}}, {head: {vocabulary: " vocabulary ", tied: true}}]\n"

#define SMALL_LLAMA                                                                                \
    "model:\n"                                                                                     \
    "  width: 12\n"                                                                                \
    "  norm: {kind: rms, epsilon: 1.0e-5}\n"                                                       \
    "  stack:\n"                                                                                   \
    "    - of: [{embedding: {vocabulary: 7}}]\n"                                                   \
    "    - times: 2\n"                                                                             \
    "      of: [{attention: {heads: 4, kv_heads: 2, head: 6, rope: 100, qk_norm: true}}, {mlp: "   \
    "{width: 10, gate: silu}}]\n"                                                                  \
    "    - of: [{norm: {}}, {head: {vocabulary: 7}}]\n"

/* Routed by `routing`; one expert of a token and no gate, too. */
#define SMALL_MOE(routing)                                                                         \
    "model:\n"                                                                                     \
    "  width: 8\n"                                                                                 \
    "  norm: {kind: rms, epsilon: 1.0e-5}\n"                                                       \
    "  stack:\n"                                                                                   \
    "    - of: [{embedding: {vocabulary: 7}}]\n"                                                   \
    "    - of: [{attention: {heads: 2, kv_heads: 1, rope: 100}}, {moe: {experts: 5, top: 2, "      \
    "width: 6, gate: silu, routing: " routing                                                      \
    "}}, {moe: {experts: 3, top: 1, width: 5, routing: " routing                                   \
    "}}, {moe: {experts: 3, top: 3, width: 4, routing: " routing "}}]\n"                           \
    "    - of: [{norm: {}}, {head: {vocabulary: 7}}]\n"

struct written {
    struct stack model;
};

static const struct declaration_field fields[] = {
    FIELD_GROUP("model", FIELD_REQUIRED, struct written, model, stack_fields),
    FIELD_END,
};
static const struct declaration_schema schema = {ENTRY_GROUP(struct written, fields)};

static struct stack read(const char *yaml, int64_t length)
{
    struct declaration declaration;
    struct stack stack;

    ASSERT_OK(declaration_parse("test.yaml", yaml, strlen(yaml), &schema, &declaration, err));
    ASSERT_OK(stack_check(&declaration, &((struct written *)declaration.data)->model, length,
                          &stack, err));
    declaration_finish(&declaration);
    return stack;
}

static uint64_t flops_of(const struct graph *graph)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op->flops)
            sum += graph->nodes[i].op->flops(graph, &graph->nodes[i]);
    return sum;
}

TEST(published_counts)
{
    static const struct {
        const char *yaml;
        uint64_t parameters;
    } models[] = {
        {LLAMA_8B, UINT64_C(8030261248)},
        {QWEN3_06B, UINT64_C(596049920)},
        {QWEN3_30B, UINT64_C(30532122624)},
        {TINYLLAMA, UINT64_C(1100048384)},
        {GPT2("768", "12", "12", "3072", "50257", "1024"), UINT64_C(124439808)},
        {GPT2("1600", "48", "25", "6400", "50257", "1024"), UINT64_C(1557611200)},
    };

    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        struct stack stack = read(models[i].yaml, 8);
        struct stack_graph graph;

        ASSERT_OK(stack_graph_init(&graph, &stack, 1, 8, err));
        assert_int_equal(stack_parameter_count(&graph), models[i].parameters);
        stack_graph_finish(&graph);
        stack_finish(&stack);
    }
}

/* Forward, and with the loss's derivative three times that. */
TEST(flops)
{
    const struct gpt2_shape shape = {12, 12, 768, 1024, 50257, 3072};
    const uint64_t expected = gpt2_forward_flops(&shape, 3, 20);
    struct stack stack = read(GPT2("768", "12", "12", "3072", "50257", "1024"), 20);
    struct stack_graph graph;

    ASSERT_OK(stack_graph_init(&graph, &stack, 3, 20, err));
    assert_int_equal(flops_of(graph.graph), expected);
    ASSERT_OK(stack_graph_train(&graph, err));
    assert_int_equal(flops_of(graph.graph), 3 * expected);
    stack_graph_finish(&graph);
    stack_finish(&stack);
}

/* Packed, in the order of the graph. */
static void fill(const struct stack_graph *graph, uint64_t seed, float *ret)
{
    struct stack_layout layout;

    ASSERT_OK(stack_layout_init(&layout, graph->graph, 0, err));
    stack_fill(graph, &layout, seed, ret);
    stack_layout_finish(&layout);
}

/* A graph with its parameters, interpreted. */
struct running {
    bool trains;
    struct stack stack;
    struct stack_graph graph;
    struct graph_interpreter *interpreter;
    float *weights;
    double *out;
    uint64_t rows, columns;
};

static void give(struct running *running, const int32_t *tokens)
{
    const struct graph *graph = running->graph.graph;
    const float *weights = running->weights;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (graph->values[i].role == GRAPH_PARAMETER) {
            graph_interpreter_give(running->interpreter, i, (struct graph_array){.f32 = weights});
            weights += graph->values[i].count;
        }
    }
    graph_interpreter_give(running->interpreter, running->graph.tokens,
                           (struct graph_array){.i32 = tokens});
}

static void start(struct running *running, const char *yaml, uint64_t sequences, uint64_t length)
{
    running->stack = read(yaml, (int64_t)length);
    running->stack.trains = running->trains;
    ASSERT_OK(stack_graph_init(&running->graph, &running->stack, sequences, length, err));
    running->weights = malloc(stack_parameter_count(&running->graph) * sizeof(float));
    fill(&running->graph, 3, running->weights);
    running->rows = sequences * length;
    running->columns = graph_size(&running->graph.graph->values[running->graph.out], 1);
    running->out = calloc(running->rows * running->columns, sizeof(double));
}

static void stop(struct running *running)
{
    graph_interpreter_destroy(running->interpreter);
    stack_graph_finish(&running->graph);
    stack_finish(&running->stack);
    free(running->weights);
    free(running->out);
}

/* The parameters of a stack as those of GPT-2: they are the same in another order. */
static void as_gpt2(const struct gpt2_shape *shape, const float *from, float *ret)
{
    static const enum gpt2_tensor_id layer[] = {
        GPT2_LN1_G, GPT2_LN1_B, GPT2_ATTN_W, GPT2_ATTN_B, GPT2_ATTN_PROJ_W, GPT2_ATTN_PROJ_B,
        GPT2_LN2_G, GPT2_LN2_B, GPT2_FC_W,   GPT2_FC_B,   GPT2_FC_PROJ_W,   GPT2_FC_PROJ_B};
    const uint64_t inner = sizeof(layer) / sizeof(layer[0]) * shape->layers;

    for (uint64_t i = 0; i < gpt2_tensor_count(shape); i++) {
        const enum gpt2_tensor_id id = i < 2            ? (enum gpt2_tensor_id)i
                                       : i < 2 + inner  ? layer[(i - 2) % 12]
                                       : i == 2 + inner ? GPT2_LNF_G
                                                        : GPT2_LNF_B;
        const uint64_t offset = gpt2_offset(shape, id, i < 2 || i >= 2 + inner ? 0 : (i - 2) / 12);

        for (size_t t = 0; t < gpt2_tensor_count(shape); t++) {
            const struct gpt2_tensor tensor = gpt2_tensor_at(shape, t);

            if (tensor.offset == offset) {
                memcpy(ret + offset, from, tensor.count * sizeof(*from));
                from += tensor.count;
            }
        }
    }
}

TEST(gpt2_as_a_stack)
{
    const struct gpt2_shape shape = {2, 4, 32, 16, 61, 96};
    float *weights = calloc(gpt2_array_length(&shape), sizeof(*weights));
    struct gpt2_witness *witness = NULL;
    struct running running = {0};
    int32_t tokens[24];

    for (size_t i = 0; i < 24; i++)
        tokens[i] = (int32_t)(random_at(1, 2, i) % 61);
    start(&running, GPT2("32", "2", "4", "96", "61", "16"), 2, 12);
    graph_lend(running.graph.graph, running.graph.out);
    ASSERT_OK(graph_interpreter_create(running.graph.graph, &running.interpreter, err));
    give(&running, tokens);
    graph_interpreter_lend(running.interpreter, running.graph.out, running.out);
    ASSERT_OK(graph_interpreter_run(running.interpreter, 0, running.graph.graph->node_count, err));
    as_gpt2(&shape, running.weights, weights);
    ASSERT_OK(gpt2_witness_create(&shape, 2, 12, false, &witness, err));
    ASSERT_OK(gpt2_witness_forward(witness, weights, tokens, NULL, err));
    for (size_t i = 0; i < 24 * 61; i++)
        assert_true(running.out[i] == witness->logits[i]);
    assert_true(running.out[5] != running.out[6]);
    gpt2_witness_destroy(witness);
    stop(&running);
    free(weights);
}

/* The central difference of the loss by parameter `i`, which moves by `step`. */
static double slope_at(struct running *running, const double *loss, uint64_t i, float step)
{
    const size_t forward = running->graph.forward + 1; /* the loss, too */
    const float kept = running->weights[i], up = kept + step, down = kept - step;
    double high, low;

    running->weights[i] = up;
    ASSERT_OK(graph_interpreter_run(running->interpreter, 0, forward, err));
    high = *loss;
    running->weights[i] = down;
    ASSERT_OK(graph_interpreter_run(running->interpreter, 0, forward, err));
    low = *loss;
    running->weights[i] = kept;
    return (high - low) / ((double)up - (double)down);
}

/* The routing of each mixture that has a law; heap, one for each of `routed`. */
static int32_t **route(struct running *running)
{
    int32_t **ret = calloc(running->graph.routed_count + 1, sizeof(*ret));

    for (size_t i = 0; i < running->graph.routed_count; i++) {
        const struct stack_routed *routed = &running->graph.routed[i];

        if (routed->routing == GRAPH_NONE)
            continue;
        ret[i] = malloc(2 * running->rows * (uint64_t)routed->moe->top * sizeof(**ret));
        moe_route(routed->moe, 1, routed->block, running->rows, ret[i]);
        graph_interpreter_give(running->interpreter, routed->routing,
                               (struct graph_array){.i32 = ret[i]});
    }
    return ret;
}

/* The mean loss by every parameter. */
static void check_derivative(const char *yaml)
{
    enum { ROWS = 10 };
    struct running running = {.trains = true};
    const int32_t tokens[ROWS] = {1, 5, 2, 6, 0, 3, 3, 1, 4, 2};
    const int32_t targets[ROWS] = {2, 2, 5, 0, 1, 6, 4, 4, 3, 0};
    struct graph *graph;
    double loss = 0.0, *gradients;
    uint64_t count, at = 0;
    int32_t **routing;

    start(&running, yaml, 2, 5);
    graph = running.graph.graph;
    count = stack_parameter_count(&running.graph);
    gradients = calloc(count, sizeof(*gradients));
    ASSERT_OK(stack_graph_train(&running.graph, err));
    graph_lend(graph, running.graph.loss);
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == GRAPH_PARAMETER)
            graph_lend(graph, graph->values[i].gradient);
    ASSERT_OK(graph_interpreter_create(graph, &running.interpreter, err));
    give(&running, tokens);
    routing = route(&running);
    graph_interpreter_give(running.interpreter, running.graph.targets,
                           (struct graph_array){.i32 = targets});
    graph_interpreter_lend(running.interpreter, running.graph.loss, &loss);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (graph->values[i].role == GRAPH_PARAMETER) {
            graph_interpreter_lend(running.interpreter, graph->values[i].gradient, gradients + at);
            at += graph->values[i].count;
        }
    }
    ASSERT_OK(graph_interpreter_run(running.interpreter, 0, graph->node_count, err));
    for (uint64_t i = 0; i < count; i++) {
        const double wide = slope_at(&running, &loss, i, 0x1p-10f);
        const double narrow = slope_at(&running, &loss, i, 0x1p-11f);
        const double slope = narrow + (narrow - wide) / 3.0; /* without the error of h^2 */

        if (fabs(slope - gradients[i]) > 1e-6 * (1.0 + fabs(slope)))
            fail_msg("parameter %llu: gradient %.9g, difference quotient %.9g",
                     (unsigned long long)i, gradients[i], slope);
    }
    for (size_t i = 0; i < running.graph.routed_count; i++)
        free(routing[i]);
    free(routing);
    free(gradients);
    stop(&running);
}

TEST(derivative_of_a_llama)
{
    check_derivative(SMALL_LLAMA);
}

/* By a law and by the router, whose choice no step changes here. */
TEST(derivatives_of_mixtures)
{
    check_derivative(SMALL_MOE("{law: uniform}"));
    check_derivative(SMALL_MOE("{law: zipf, alpha: 1.0}"));
    check_derivative(SMALL_MOE("{law: model}"));
}

/* By a law, without `trains`, the router has no part in the loss. */
TEST(untrained_router)
{
    struct running running = {0};
    struct graph *graph;

    start(&running, SMALL_MOE("{law: uniform}"), 2, 5);
    graph = running.graph.graph;
    ASSERT_OK(stack_graph_train(&running.graph, err));
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i].role == GRAPH_PARAMETER)
            assert_int_equal(graph->values[i].gradient == GRAPH_NONE,
                             strstr(graph->values[i].name, ".router.w") != NULL);
    stop(&running);
}

static struct graph_onnx onnx_of(const struct stack_graph *graph, uint64_t length,
                                 const float *weights)
{
    return (struct graph_onnx){.graph = graph->graph,
                               .name = "stack",
                               .out = graph->out,
                               .nodes = graph->graph->node_count,
                               .weights = weights,
                               .length = length};
}

/* The ONNX model that frameworks run, by the reference of ONNX files, and the graph's own. */
static void check_onnx(const char *yaml, uint64_t sequences, uint64_t length)
{
    const uint64_t rows = sequences * length;
    struct onnx_array in = {.name = GRAPH_ONNX_TOKENS, .rank = 2, .shape = {sequences, length}};
    struct onnx_array out = {.name = "output", .rank = 2};
    struct onnx_reference *reference = NULL;
    struct onnx_model model = {0};
    struct running running = {0};
    const struct framework_array arrays_in = {.name = GRAPH_ONNX_TOKENS,
                                              .type = DTYPE_I32,
                                              .rank = 2,
                                              .shape = {(int64_t)sequences, (int64_t)length}};
    const struct framework_array arrays_out = {.name = "output", .type = DTYPE_F32, .rank = 2};
    const struct framework_model arrays = {
        .inputs = &arrays_in, .outputs = &arrays_out, .input_count = 1, .output_count = 1};
    struct graph_onnx onnx;
    struct text file;
    int32_t tokens[24];

    start(&running, yaml, sequences, length);
    text_init(&file);
    onnx = onnx_of(&running.graph, length, running.weights);
    ASSERT_OK(graph_onnx_write(&onnx, &arrays, &file, err));
    ASSERT_OK(onnx_model_read(file.data, file.length, &model, err));
    ASSERT_OK(onnx_reference_create(&model, &reference, err));
    in.elements = rows;
    in.whole = true;
    in.data = malloc(rows * sizeof(double));
    for (uint64_t i = 0; i < rows; i++) {
        tokens[i] = (int32_t)(random_at(1, 2, i) % 7);
        in.data[i] = tokens[i];
    }
    out.shape[0] = rows;
    out.shape[1] = running.columns;
    out.elements = rows * running.columns;
    ASSERT_OK(onnx_reference_run(reference, &in, 1, &out, 1, err));
    graph_lend(running.graph.graph, running.graph.out);
    ASSERT_OK(graph_interpreter_create(running.graph.graph, &running.interpreter, err));
    give(&running, tokens);
    graph_interpreter_lend(running.interpreter, running.graph.out, running.out);
    ASSERT_OK(graph_interpreter_run(running.interpreter, 0, running.graph.graph->node_count, err));
    for (uint64_t i = 0; i < out.elements; i++) /* its angles and epsilons are of f32 */
        assert_true(fabs(out.data[i] - running.out[i]) < 1e-6 * (1.0 + fabs(running.out[i])));
    onnx_reference_destroy(reference);
    onnx_model_finish(&model);
    text_finish(&file);
    free(in.data);
    stop(&running);
}

/* What the format does not hold, and an operator that is no part of a stack. */
static void refuse_onnx(void)
{
    struct stack large = read(TINYLLAMA, 8), small = read(SMALL_LLAMA, 8);
    struct error refusal = ERROR_INIT;
    struct stack_graph graph;
    struct graph_onnx onnx;
    uint32_t in[2];

    ASSERT_OK(stack_graph_init(&graph, &large, 1, 8, err));
    onnx = onnx_of(&graph, 8, NULL);
    assert_int_equal(graph_onnx_check(&onnx, &refusal), STATUS_INVALID);
    assert_non_null(strstr(refusal.message, "2 GiB"));
    stack_graph_finish(&graph);
    ASSERT_OK(stack_graph_init(&graph, &small, 1, 8, err));
    onnx = onnx_of(&graph, 8, NULL);
    ASSERT_OK(graph_onnx_check(&onnx, err));
    in[0] = graph.out;
    ASSERT_OK(graph_give(graph.graph, GRAPH_INDICES, "targets", (struct graph_shape){{8}, 1},
                         &in[1], err));
    ASSERT_OK(graph_add(graph.graph, &graph_op_cross_entropy, (struct graph_attributes){0}, "loss",
                        in, 2, &in[0], err));
    onnx.nodes = graph.graph->node_count;
    assert_int_equal(graph_onnx_check(&onnx, &refusal), STATUS_UNSUPPORTED);
    assert_non_null(strstr(refusal.message, "loss (cross_entropy) has no form in ONNX"));
    stack_graph_finish(&graph);
    stack_finish(&large);
    stack_finish(&small);
}

TEST(onnx_form)
{
    check_onnx(SMALL_LLAMA, 2, 5);
    check_onnx(SMALL_LLAMA, 1, 1);
    refuse_onnx();
    check_onnx(GPT2("32", "2", "4", "96", "61", "16"), 2, 12);
}

TEST(parameters)
{
    struct running one = {0}, other = {0};
    const float *weights;
    uint64_t count, gains = 0, matrices = 0;

    start(&one, GPT2("32", "2", "4", "96", "61", "16"), 1, 4);
    start(&other, GPT2("32", "2", "4", "96", "61", "16"), 1, 4);
    count = stack_parameter_count(&one.graph);
    assert_memory_equal(one.weights, other.weights, count * sizeof(float));
    fill(&other.graph, 4, other.weights);
    weights = one.weights;
    for (uint32_t v = 0; v < one.graph.graph->value_count; v++) {
        const struct graph_value *value = &one.graph.graph->values[v];
        const bool gain = strstr(value->name, ".gain") != NULL;
        double sum = 0.0, square = 0.0, n = (double)value->count, deviation;

        if (value->role != GRAPH_PARAMETER)
            continue;
        for (uint64_t i = 0; i < value->count; i++) {
            sum += (double)weights[i];
            square += (double)weights[i] * (double)weights[i];
        }
        deviation = sqrt(square / n - sum / n * (sum / n));
        gains += gain;
        matrices += value->shape.rank == 2;
        assert_true(fabs(sum / n - (gain ? 1.0 : 0.0)) < 5.0 * deviation / sqrt(n));
        if (value->shape.rank == 2 && value->shape.of[0] >= 32)
            assert_true(fabs(deviation * sqrt(32.0) - 1.0) < 5.0 / sqrt(2.0 * n));
        weights += value->count;
    }
    assert_int_equal(gains, 5);
    assert_int_equal(matrices, 2 + 2 * 4);
    stop(&one);
    stop(&other);
}
