/*
 * The graph: GPT-2's against the same passes written by hand, bit for bit; the derivative of every
 * operator against differences; what does not fit is refused; no place is used twice at a time.
 */
#include "workloads/graph/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2_witness.h"
#include "harness/core/random.h"
#include "tests/support/unit.h"
#include "workloads/graph/cached.h"
#include "workloads/graph/interpreter.h"
#include "workloads/graph/operators.h"
#include "workloads/graph/plan.h"
#include "workloads/models/gpt2_graph.h"

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        struct error err_ = ERROR_INIT;                                                            \
        struct error *err = &err_;                                                                 \
                                                                                                   \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, err->message);                               \
    } while (0)

/* ---- the model ---- */

static void check_bits(const char *what, const double *got, const double *expected, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("%s[%llu]: %.17g, by hand %.17g", what, (unsigned long long)i, got[i],
                     expected[i]);
}

static void check_model(const struct gpt2_shape *shape, uint64_t sequences, uint64_t length,
                        bool training)
{
    const uint64_t rows = sequences * length, logits = rows * shape->vocabulary;
    float *weights = malloc(gpt2_array_length(shape) * sizeof(*weights));
    int32_t *tokens = malloc(2 * rows * sizeof(*tokens));
    struct stack_reference *graph = NULL;
    struct gpt2_witness *hand = NULL;

    ASSERT_OK(gpt2_reference_create(shape, sequences, length, training, &graph, err));
    ASSERT_OK(gpt2_witness_create(shape, sequences, length, training, &hand, err));
    for (uint64_t pass = 0; pass < 2; pass++) { /* the second over what the first left */
        gpt2_initialise(shape, 5 + pass, weights);
        for (uint64_t i = 0; i < 2 * rows; i++)
            tokens[i] = (int32_t)(random_at(1, pass, i) % shape->vocabulary);
        ASSERT_OK(stack_reference_forward(graph, weights, tokens, tokens + rows, err));
        ASSERT_OK(gpt2_witness_forward(hand, weights, tokens, tokens + rows, err));
        check_bits("loss", &graph->loss, &hand->loss, 1);
        check_bits("logits", graph->out, hand->logits, logits);
        if (!training)
            continue;
        ASSERT_OK(stack_reference_backward(graph, err));
        ASSERT_OK(gpt2_witness_backward(hand, weights, tokens, tokens + rows, err));
        for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
            const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

            check_bits(tensor.name, graph->gradients[i], hand->gradients + tensor.offset,
                       tensor.count);
        }
    }
    stack_reference_destroy(graph);
    gpt2_witness_destroy(hand);
    free(weights);
    free(tokens);
}

TEST(model_by_hand)
{
    const struct gpt2_shape usual = {3, 2, 16, 9, 37, 48}, odd = {1, 1, 5, 4, 3, 7};
    const struct gpt2_shape wide = {2, 4, 64, 64, 300, 256}; /* several threads */

    check_model(&usual, 2, 9, true);
    check_model(&usual, 3, 4, false); /* shorter than the context */
    check_model(&odd, 3, 1, true);
    check_model(&odd, 1, 4, false);
    check_model(&wide, 2, 64, true);
    check_model(&wide, 1, 64, false);
}

/* In the order and at the places that gpt2.h gives them. */
TEST(layout)
{
    const struct gpt2_shape shape = {3, 2, 10, 9, 37, 28};
    struct stack_graph model;
    struct stack_layout layout;

    ASSERT_OK(gpt2_graph_init(&model, &shape, 1, 9, false, err));
    ASSERT_OK(stack_layout_init(&layout, model.graph, GPT2_ALIGN, err));
    assert_int_equal(layout.count, gpt2_tensor_count(&shape));
    assert_int_equal(layout.elements, gpt2_array_length(&shape));
    assert_int_equal(layout.decayed, gpt2_decay_length(&shape));
    assert_int_equal(stack_arrays(&model), 14 * shape.layers + 5);
    for (size_t i = 0; i < layout.count; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&shape, i);
        const struct graph_value *value = &model.graph->values[layout.parameters[i].value];

        assert_int_equal(layout.parameters[i].offset, tensor.offset);
        assert_int_equal(layout.parameters[i].decay, tensor.decay);
        assert_int_equal(value->count, tensor.count);
        assert_int_equal(graph_size(value, -1), tensor.columns);
        assert_string_equal(value->name, tensor.name);
    }
    stack_layout_finish(&layout);
    stack_graph_finish(&model);
}

/* ---- the planner ---- */

static bool shares(const struct graph_plan *plan, uint32_t a, uint32_t b)
{
    const struct graph_place *x = &plan->places[plan->place_of[a]];
    const struct graph_place *y = &plan->places[plan->place_of[b]];

    return !x->lent && !y->lent && x->offset < y->offset + y->count &&
           y->offset < x->offset + x->count;
}

static uint32_t last_reader(const struct graph *graph, uint32_t value)
{
    uint32_t last = graph->values[value].writer;

    for (uint32_t i = 0; i < graph->node_count; i++)
        for (size_t k = 0; k < graph->nodes[i].in_count; k++)
            if (graph->nodes[i].in[k] == value || graph->nodes[i].onto == value)
                last = i;
    return last;
}

/* Of two values in the same memory, the first has been read before the second is written. */
static void check_places(const struct graph *graph, const struct graph_plan *plan)
{
    for (uint32_t a = 0; a < graph->value_count; a++) {
        for (uint32_t b = a + 1; b < graph->value_count; b++) {
            const struct graph_value *first = &graph->values[a], *second = &graph->values[b];
            const struct graph_node *writer;

            if (first->role != GRAPH_COMPUTED || second->role != GRAPH_COMPUTED ||
                !shares(plan, a, b))
                continue;
            writer = &graph->nodes[second->writer];
            assert_true(last_reader(graph, a) <= second->writer);
            assert_true(first->writer < second->writer);
            if (last_reader(graph, a) == second->writer && writer->onto != a)
                assert_true(writer->op->in_place && writer->in[0] == a && writer->out[0] == b);
        }
    }
}

/* What the reference has in memory of its own. */
static void lend(struct stack_graph *model)
{
    graph_lend(model->graph, model->out);
    graph_lend(model->graph, model->loss);
    for (uint32_t i = 0; i < model->graph->value_count; i++)
        if (model->graph->values[i].role == GRAPH_PARAMETER &&
            model->graph->values[i].gradient != GRAPH_NONE)
            graph_lend(model->graph, model->graph->values[i].gradient);
}

TEST(places)
{
    const struct gpt2_shape shape = {6, 2, 16, 8, 37, 64};
    const uint64_t rows = 16, wide = rows * 64, narrow = rows * 16, scores = 4 * 8 * 8;

    for (int training = 0; training < 2; training++) {
        struct stack_graph model;
        struct graph_plan plan;

        ASSERT_OK(gpt2_graph_init(&model, &shape, 2, 8, training, err));
        lend(&model);
        ASSERT_OK(graph_plan_init(&plan, model.graph, err));
        check_places(model.graph, &plan);
        /* Without gradients, what the largest operator needs, besides the residual stream. */
        if (!training)
            assert_true(plan.pool <= 2 * narrow + 4 * narrow + scores + 2 * wide + 64);
        else /* what each layer keeps, and the gradients of one */
            assert_true(plan.pool <=
                        6 * (9 * narrow + 2 * wide + scores) + 8 * narrow + 2 * wide + scores);
        graph_plan_finish(&plan);
        stack_graph_finish(&model);
    }
}

/* ---- operators ---- */

#define INPUTS 4
#define ROWS 6

/* An operator, the shapes of its inputs, and what they are. */
struct trial {
    const struct graph_op *op;
    struct graph_attributes attributes;
    struct graph_shape shapes[INPUTS];
    enum graph_role roles[INPUTS];
    size_t count;
};

#define MATRIX(rows, columns)                                                                      \
    {                                                                                              \
        {rows, columns}, 2                                                                         \
    }
#define VECTOR(count)                                                                              \
    {                                                                                              \
        {count}, 1                                                                                 \
    }

static const struct trial trials[] = {
    {&graph_op_add, {0}, {MATRIX(ROWS, 5), MATRIX(ROWS, 5)}, {GRAPH_INPUT, GRAPH_INPUT}, 2},
    {&graph_op_attention,
     {.length = 3, .heads = 2, .kv_heads = 2},
     {MATRIX(ROWS, 12)},
     {GRAPH_INPUT},
     1},
    {&graph_op_attention, /* two heads of queries to each of keys */
     {.length = 3, .heads = 4, .kv_heads = 2},
     {MATRIX(ROWS, 24)},
     {GRAPH_INPUT},
     1},
    {&graph_op_choose_experts, {.top = 2}, {MATRIX(ROWS, 5)}, {GRAPH_INPUT}, 1},
    {&graph_op_combine_experts, /* by the first two of the gates: all are others than 0 */
     {.top = 2},
     {MATRIX(ROWS, 6), MATRIX(ROWS, 5)},
     {GRAPH_INPUT, GRAPH_INPUT},
     2},
    {&graph_op_cross_entropy,
     {0},
     {MATRIX(ROWS, 7), VECTOR(ROWS)},
     {GRAPH_INPUT, GRAPH_INDICES},
     2},
    {&graph_op_embedding,
     {.length = 3},
     {VECTOR(ROWS), MATRIX(4, 5), MATRIX(3, 5)},
     {GRAPH_INDICES, GRAPH_PARAMETER, GRAPH_PARAMETER},
     3},
    {&graph_op_embedding,
     {.length = 3},
     {VECTOR(ROWS), MATRIX(4, 5)},
     {GRAPH_INDICES, GRAPH_PARAMETER},
     2},
    {&graph_op_expert_product, /* all experts of a row on the row */
     {.top = 2},
     {MATRIX(ROWS, 3), {{3, 3, 2}, 3}, MATRIX(ROWS, 3)},
     {GRAPH_INPUT, GRAPH_PARAMETER, GRAPH_INPUT},
     3},
    {&graph_op_expert_product, /* each on its part */
     {.top = 2},
     {MATRIX(ROWS, 6), {{3, 3, 2}, 3}, MATRIX(ROWS, 3)},
     {GRAPH_INPUT, GRAPH_PARAMETER, GRAPH_INPUT},
     3},
    {&graph_op_gate, {0}, {MATRIX(ROWS, 5), MATRIX(ROWS, 5)}, {GRAPH_INPUT, GRAPH_INPUT}, 2},
    {&graph_op_gelu, {0}, {MATRIX(ROWS, 5)}, {GRAPH_INPUT}, 1},
    {&graph_op_head_norm,
     {.epsilon = 1e-5, .heads = 4, .kv_heads = 2},
     {MATRIX(ROWS, 24), VECTOR(3), VECTOR(3)},
     {GRAPH_INPUT, GRAPH_PARAMETER, GRAPH_PARAMETER},
     3},
    {&graph_op_layer_norm,
     {.epsilon = 1e-5},
     {MATRIX(ROWS, 5), VECTOR(5), VECTOR(5)},
     {GRAPH_INPUT, GRAPH_PARAMETER, GRAPH_PARAMETER},
     3},
    {&graph_op_linear,
     {0},
     {MATRIX(ROWS, 5), MATRIX(5, 4), VECTOR(4)},
     {GRAPH_INPUT, GRAPH_PARAMETER, GRAPH_PARAMETER},
     3},
    {&graph_op_linear,
     {.transposed = true},
     {MATRIX(ROWS, 5), MATRIX(4, 5)},
     {GRAPH_INPUT, GRAPH_PARAMETER},
     2},
    {&graph_op_rms_norm,
     {.epsilon = 1e-5},
     {MATRIX(ROWS, 5), VECTOR(5)},
     {GRAPH_INPUT, GRAPH_PARAMETER},
     2},
    {&graph_op_rope,
     {.length = 3, .heads = 2, .kv_heads = 1, .rope = 100.0},
     {MATRIX(ROWS, 16)},
     {GRAPH_INPUT},
     1},
};

/* The trial as a graph: its inputs, and a sum of its first output, weighted by a seed. */
struct bench {
    struct graph *graph;
    struct graph_interpreter *interpreter;
    uint32_t in[INPUTS], out, seed;
    size_t forward; /* nodes */
    double *inputs[INPUTS], *gradients[INPUTS], *output, *weights;
    float *parameters[INPUTS];
    int32_t *indices[INPUTS];
};

/* That of a sum is its terms', as it is. */
static bool is_computed(const struct graph *graph, uint32_t value)
{
    return value != GRAPH_NONE && graph->values[value].role == GRAPH_COMPUTED;
}

static void fill(struct bench *bench, const struct trial *trial, size_t i)
{
    const struct graph_value *value = &bench->graph->values[bench->in[i]];

    bench->inputs[i] = calloc(value->count, sizeof(double));
    bench->parameters[i] = calloc(value->count, sizeof(float));
    bench->indices[i] = calloc(value->count, sizeof(int32_t));
    for (uint64_t k = 0; k < value->count; k++) {
        const double x = 2.0 * random_unit(random_at(9, i, k)) - 1.0;

        bench->inputs[i][k] = x;
        bench->parameters[i][k] = (float)x;
        bench->indices[i][k] = (int32_t)(random_at(8, i, k) % 4);
    }
    graph_interpreter_give(
        bench->interpreter, bench->in[i],
        trial->roles[i] == GRAPH_INPUT       ? (struct graph_array){.f64 = bench->inputs[i]}
        : trial->roles[i] == GRAPH_PARAMETER ? (struct graph_array){.f32 = bench->parameters[i]}
                                             : (struct graph_array){.i32 = bench->indices[i]});
    bench->gradients[i] = calloc(value->count, sizeof(double));
    if (is_computed(bench->graph, value->gradient))
        graph_interpreter_lend(bench->interpreter, value->gradient, bench->gradients[i]);
}

static void bench_init(struct bench *bench, const struct trial *trial)
{
    const struct graph_value *out;

    *bench = (struct bench){.seed = GRAPH_NONE};
    ASSERT_OK(graph_create(&bench->graph, err));
    for (size_t i = 0; i < trial->count; i++)
        ASSERT_OK(
            graph_give(bench->graph, trial->roles[i], "in", trial->shapes[i], &bench->in[i], err));
    ASSERT_OK(graph_add(bench->graph, trial->op, trial->attributes, "out", bench->in, trial->count,
                        &bench->out, err));
    bench->forward = bench->graph->node_count;
    if (trial->op != &graph_op_cross_entropy)
        ASSERT_OK(graph_give(bench->graph, GRAPH_INPUT, "seed",
                             bench->graph->values[bench->out].shape, &bench->seed, err));
    ASSERT_OK(graph_backward(bench->graph, bench->out, bench->seed, err));
    graph_lend(bench->graph, bench->out);
    for (size_t i = 0; i < trial->count; i++)
        if (is_computed(bench->graph, bench->graph->values[bench->in[i]].gradient))
            graph_lend(bench->graph, bench->graph->values[bench->in[i]].gradient);
    ASSERT_OK(graph_interpreter_create(bench->graph, &bench->interpreter, err));
    for (size_t i = 0; i < trial->count; i++)
        fill(bench, trial, i);
    out = &bench->graph->values[bench->out];
    bench->output = calloc(out->count, sizeof(double));
    bench->weights = calloc(out->count, sizeof(double));
    for (uint64_t k = 0; k < out->count; k++)
        bench->weights[k] =
            bench->seed == GRAPH_NONE ? 1.0 : 2.0 * random_unit(random_at(7, 0, k)) - 1.0;
    graph_interpreter_lend(bench->interpreter, bench->out, bench->output);
    if (bench->seed != GRAPH_NONE)
        graph_interpreter_give(bench->interpreter, bench->seed,
                               (struct graph_array){.f64 = bench->weights});
}

static void bench_finish(struct bench *bench)
{
    for (size_t i = 0; i < INPUTS; i++) {
        free(bench->inputs[i]);
        free(bench->parameters[i]);
        free(bench->indices[i]);
        free(bench->gradients[i]);
    }
    free(bench->output);
    free(bench->weights);
    graph_interpreter_destroy(bench->interpreter);
    graph_destroy(bench->graph);
}

static double weighted(struct bench *bench)
{
    double sum = 0.0;

    ASSERT_OK(graph_interpreter_run(bench->interpreter, 0, bench->forward, err));
    for (uint64_t k = 0; k < bench->graph->values[bench->out].count; k++)
        sum += bench->weights[k] * bench->output[k];
    return sum;
}

/* The slope at element k of input i, by a central difference; f32 parameters move by 2^-12. */
static double slope_of(struct bench *bench, const struct trial *trial, size_t i, uint64_t k)
{
    const double step = 0x1p-12;
    double high, low;

    if (trial->roles[i] == GRAPH_INPUT) {
        const double kept = bench->inputs[i][k];

        bench->inputs[i][k] = kept + step;
        high = weighted(bench);
        bench->inputs[i][k] = kept - step;
        low = weighted(bench);
        bench->inputs[i][k] = kept;
        return (high - low) / (2.0 * step);
    }
    {
        const float kept = bench->parameters[i][k];
        const float up = kept + (float)step, down = kept - (float)step;

        bench->parameters[i][k] = up;
        high = weighted(bench);
        bench->parameters[i][k] = down;
        low = weighted(bench);
        bench->parameters[i][k] = kept;
        return (high - low) / ((double)up - (double)down);
    }
}

TEST(derivatives)
{
    for (size_t t = 0; t < sizeof(trials) / sizeof(trials[0]); t++) {
        const struct trial *trial = &trials[t];
        struct bench bench;

        bench_init(&bench, trial);
        weighted(&bench);
        ASSERT_OK(
            graph_interpreter_run(bench.interpreter, bench.forward, bench.graph->node_count, err));
        for (size_t i = 0; i < trial->count; i++) {
            const struct graph_value *value = &bench.graph->values[bench.in[i]];
            const double *gradients =
                value->gradient == bench.seed ? bench.weights : bench.gradients[i];

            for (uint64_t k = 0; value->role != GRAPH_INDICES && k < value->count; k++) {
                const double slope = slope_of(&bench, trial, i, k);

                if (fabs(slope - gradients[k]) > 2e-6 * (1.0 + fabs(slope)))
                    fail_msg("%s, input %zu[%llu]: gradient %.9g, difference quotient %.9g",
                             trial->op->name, i, (unsigned long long)k, gradients[k], slope);
            }
        }
        bench_finish(&bench);
    }
}

/* Every operator that has a derivative is in the trials. */
TEST(all_are_tried)
{
#define X(name) &graph_op_##name,
    static const struct graph_op *const all[] = {GRAPH_OPERATORS(X)};
#undef X

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        bool tried = all[i]->backward == NULL;

        for (size_t t = 0; t < sizeof(trials) / sizeof(trials[0]); t++)
            tried = tried || trials[t].op == all[i];
        if (!tried)
            fail_msg("no trial of %s", all[i]->name);
        assert_non_null(all[i]->formula);
    }
}

/* ---- what is read twice ---- */

/*
 * y = norm(x), z = y + y w, gelu(z + norm(z)): gradients are sums, of the norms' gain, too; that of
 * a sum is its terms', of which one's operator reads it to add to it.
 */
TEST(read_twice)
{
    enum { WIDTH = 3 };
    const struct graph_shape matrix = MATRIX(ROWS, WIDTH), square = MATRIX(WIDTH, WIDTH);
    const struct graph_shape vector = VECTOR(WIDTH);
    const struct graph_attributes norm = {.epsilon = 1e-5}, none = {0};
    double x[ROWS * WIDTH], up[ROWS * WIDTH], out[ROWS * WIDTH], dx[ROWS * WIDTH], dgain[WIDTH];
    float w[WIDTH * WIDTH], gain[WIDTH], bias[WIDTH] = {0};
    uint32_t in, weight, gains, biases, seed, a[3], y, z, last;
    struct graph_interpreter *interpreter;
    struct graph *graph;
    size_t forward;

    for (uint64_t i = 0; i < ROWS * WIDTH; i++) {
        x[i] = random_unit(random_at(1, 1, i)) - 0.5;
        up[i] = random_unit(random_at(1, 2, i)) - 0.5;
    }
    for (uint64_t i = 0; i < WIDTH * WIDTH; i++)
        w[i] = (float)random_unit(random_at(1, 3, i)) - 0.5f;
    for (uint64_t i = 0; i < WIDTH; i++)
        gain[i] = 1.0f + (float)i / 4.0f;
    ASSERT_OK(graph_create(&graph, err));
    ASSERT_OK(graph_give(graph, GRAPH_INPUT, "x", matrix, &in, err));
    ASSERT_OK(graph_give(graph, GRAPH_PARAMETER, "w", square, &weight, err));
    ASSERT_OK(graph_give(graph, GRAPH_PARAMETER, "gain", vector, &gains, err));
    ASSERT_OK(graph_give(graph, GRAPH_PARAMETER, "bias", vector, &biases, err));
    ASSERT_OK(graph_give(graph, GRAPH_INPUT, "up", matrix, &seed, err));
    memcpy(a, (uint32_t[]){in, gains, biases}, sizeof(a));
    ASSERT_OK(graph_add(graph, &graph_op_layer_norm, norm, "y", a, 3, &y, err));
    memcpy(a, (uint32_t[]){y, weight}, 2 * sizeof(*a));
    ASSERT_OK(graph_add(graph, &graph_op_linear, none, "wy", a, 2, &z, err));
    memcpy(a, (uint32_t[]){y, z}, 2 * sizeof(*a));
    ASSERT_OK(graph_add(graph, &graph_op_add, none, "z", a, 2, &z, err));
    memcpy(a, (uint32_t[]){z, gains, biases}, sizeof(a));
    ASSERT_OK(graph_add(graph, &graph_op_layer_norm, norm, "norm", a, 3, &last, err));
    memcpy(a, (uint32_t[]){z, last}, 2 * sizeof(*a));
    ASSERT_OK(graph_add(graph, &graph_op_add, none, "sum", a, 2, &last, err));
    ASSERT_OK(graph_add(graph, &graph_op_gelu, none, "last", &last, 1, &last, err));
    forward = graph->node_count;
    ASSERT_OK(graph_backward(graph, last, seed, err));
    graph_lend(graph, last);
    graph_lend(graph, graph->values[in].gradient);
    graph_lend(graph, graph->values[gains].gradient);
    ASSERT_OK(graph_interpreter_create(graph, &interpreter, err));
    graph_interpreter_give(interpreter, in, (struct graph_array){.f64 = x});
    graph_interpreter_give(interpreter, weight, (struct graph_array){.f32 = w});
    graph_interpreter_give(interpreter, gains, (struct graph_array){.f32 = gain});
    graph_interpreter_give(interpreter, biases, (struct graph_array){.f32 = bias});
    graph_interpreter_give(interpreter, seed, (struct graph_array){.f64 = up});
    graph_interpreter_lend(interpreter, last, out);
    graph_interpreter_lend(interpreter, graph->values[in].gradient, dx);
    graph_interpreter_lend(interpreter, graph->values[gains].gradient, dgain);
    ASSERT_OK(graph_interpreter_run(interpreter, 0, graph->node_count, err));
    for (size_t i = 0; i < ROWS * WIDTH + WIDTH; i++) {
        const bool is_gain = i >= ROWS * WIDTH;
        const float step = 0x1p-10f;
        double high = 0.0, low = 0.0, slope, kept_x = x[i % (ROWS * WIDTH)];
        float kept_gain = gain[i % WIDTH];

        for (int side = 0; side < 2; side++) {
            const float move = side ? -step : step;

            if (is_gain)
                gain[i - ROWS * WIDTH] = kept_gain + move;
            else
                x[i] = kept_x + (double)move;
            ASSERT_OK(graph_interpreter_run(interpreter, 0, forward, err));
            for (size_t k = 0; k < ROWS * WIDTH; k++)
                *(side ? &low : &high) += up[k] * out[k];
        }
        gain[i % WIDTH] = kept_gain;
        x[i % (ROWS * WIDTH)] = kept_x;
        slope = (high - low) / (2.0 * (double)step);
        assert_true(fabs(slope - (is_gain ? dgain[i - ROWS * WIDTH] : dx[i])) < 1e-4);
    }
    graph_interpreter_destroy(interpreter);
    graph_destroy(graph);
}

/* ---- a cache ---- */

/* q, k and v of a position: the last row is the token. */
static void fill_rows(double *x, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        x[i] = 4.0 * random_unit(random_at(2, 3, i)) - 2.0;
}

/*
 * The token behind a cache as the last row of attention over the whole sequence, for every number
 * of positions in its last block; what lies behind them is no number.
 */
static void check_cached(uint64_t first)
{
    enum { HEADS = 4, KV_HEADS = 2, SIZE = 3, PAGE = 4, ROW = (HEADS + 2 * KV_HEADS) * SIZE };
    const struct graph_cache at = {PAGE, KV_HEADS, SIZE};
    const uint64_t pages = graph_cache_pages(PAGE, first + 1), block = graph_cache_block(&at);
    const struct graph_attributes whole = {
        .length = first + 1, .heads = HEADS, .kv_heads = KV_HEADS};
    const struct graph_attributes token = {
        .first = first, .page = PAGE, .heads = HEADS, .kv_heads = KV_HEADS};
    const struct graph_shape shapes[] = {MATRIX(first + 1, ROW), MATRIX(1, ROW),
                                         MATRIX(pages, block), MATRIX(1, pages)};
    double *x = malloc((first + 1) * ROW * sizeof(*x)), *cache = malloc(pages * block * sizeof(*x));
    double *expected = malloc((first + 1) * HEADS * SIZE * sizeof(*x)), got[HEADS * SIZE];
    int32_t *blocks = malloc(pages * sizeof(*blocks));
    struct graph_interpreter *interpreter;
    struct graph *graph;
    uint32_t in[4], out[2];

    fill_rows(x, (first + 1) * ROW);
    for (uint64_t i = 0; i < pages; i++)
        blocks[i] = (int32_t)(pages - 1 - i);
    for (uint64_t i = 0; i < pages * block; i++)
        cache[i] = NAN;
    for (uint64_t s = 0; s < first; s++)
        for (uint64_t h = 0; h < KV_HEADS; h++)
            for (uint64_t i = 0; i < SIZE; i++) {
                double *to = cache + (uint64_t)blocks[s / PAGE] * block;
                const double *key = x + s * ROW + (HEADS + h) * SIZE + i;

                to[graph_cache_key(&at, h, s % PAGE, i)] = key[0];
                to[graph_cache_value(&at, h, s % PAGE, i)] = key[KV_HEADS * SIZE];
            }
    ASSERT_OK(graph_create(&graph, err));
    for (size_t i = 0; i < 4; i++)
        ASSERT_OK(
            graph_give(graph, i == 3 ? GRAPH_INDICES : GRAPH_INPUT, "in", shapes[i], &in[i], err));
    ASSERT_OK(graph_add(graph, &graph_op_attention, whole, "whole", &in[0], 1, &out[0], err));
    ASSERT_OK(
        graph_add(graph, &graph_op_attention_cached, token, "token", &in[1], 3, &out[1], err));
    assert_int_equal(graph_op_attention_cached.flops(graph, &graph->nodes[1]),
                     4 * HEADS * SIZE * (first + 1));
    graph_lend(graph, out[0]);
    graph_lend(graph, out[1]);
    ASSERT_OK(graph_interpreter_create(graph, &interpreter, err));
    graph_interpreter_give(interpreter, in[0], (struct graph_array){.f64 = x});
    graph_interpreter_give(interpreter, in[1], (struct graph_array){.f64 = x + first * ROW});
    graph_interpreter_give(interpreter, in[2], (struct graph_array){.f64 = cache});
    graph_interpreter_give(interpreter, in[3], (struct graph_array){.i32 = blocks});
    graph_interpreter_lend(interpreter, out[0], expected);
    graph_interpreter_lend(interpreter, out[1], got);
    ASSERT_OK(graph_interpreter_run(interpreter, 0, 2, err));
    for (size_t i = 0; i < HEADS * SIZE; i++)
        if (!(fabs(got[i] - expected[first * HEADS * SIZE + i]) < 1e-12))
            fail_msg("behind %llu, element %zu: %g, not %g", (unsigned long long)first, i, got[i],
                     expected[first * HEADS * SIZE + i]);
    graph_interpreter_destroy(interpreter);
    graph_destroy(graph);
    free(x);
    free(cache);
    free(expected);
    free(blocks);
}

TEST(cached)
{
    for (uint64_t first = 0; first < 14; first++)
        check_cached(first);
}

/* Angles and positions of a row that is not a sequence's first. */
TEST(first_position)
{
    enum { ROW = 8, LENGTH = 5, FIRST = 3 };
    const struct graph_attributes all = {
        .length = LENGTH, .heads = 2, .kv_heads = 1, .rope = 100.0};
    struct graph_attributes rest = all;
    const struct graph_shape shapes[] = {MATRIX(LENGTH, ROW), MATRIX(LENGTH - FIRST, ROW)};
    double x[LENGTH * ROW], expected[LENGTH * ROW], got[(LENGTH - FIRST) * ROW];
    struct graph_interpreter *interpreter;
    struct graph *graph;
    uint32_t in[2], out[2];

    fill_rows(x, LENGTH * ROW);
    rest.length = LENGTH - FIRST;
    rest.first = FIRST;
    ASSERT_OK(graph_create(&graph, err));
    for (size_t i = 0; i < 2; i++) {
        ASSERT_OK(graph_give(graph, GRAPH_INPUT, "in", shapes[i], &in[i], err));
        ASSERT_OK(graph_add(graph, &graph_op_rope, i ? rest : all, "out", &in[i], 1, &out[i], err));
        graph_lend(graph, out[i]);
    }
    ASSERT_OK(graph_interpreter_create(graph, &interpreter, err));
    graph_interpreter_give(interpreter, in[0], (struct graph_array){.f64 = x});
    graph_interpreter_give(interpreter, in[1], (struct graph_array){.f64 = x + FIRST * ROW});
    graph_interpreter_lend(interpreter, out[0], expected);
    graph_interpreter_lend(interpreter, out[1], got);
    ASSERT_OK(graph_interpreter_run(interpreter, 0, 2, err));
    assert_memory_equal(got, expected + FIRST * ROW, sizeof(got));
    graph_interpreter_destroy(interpreter);
    graph_destroy(graph);
}

/* ---- experts ---- */

/* Of equal scores the first is chosen; experts that are given keep the scores' weights. */
TEST(choice)
{
    enum { EXPERTS = 5, TOP = 3 };
    const struct graph_shape shapes[] = {MATRIX(1, EXPERTS), MATRIX(1, TOP)};
    const double scores[EXPERTS] = {1.0, 2.0, 1.0, 0.0, 1.0}, sum = 1.0 + 2.0 * exp(-1.0);
    const int32_t given[TOP] = {3, 1, 4};
    double gates[2][EXPERTS], chosen[2][TOP];
    struct graph_interpreter *interpreter;
    struct graph *graph;
    uint32_t in[2], out[2];

    ASSERT_OK(graph_create(&graph, err));
    ASSERT_OK(graph_give(graph, GRAPH_INPUT, "scores", shapes[0], &in[0], err));
    ASSERT_OK(graph_give(graph, GRAPH_INDICES, "given", shapes[1], &in[1], err));
    for (size_t i = 0; i < 2; i++) {
        ASSERT_OK(graph_add(graph, &graph_op_choose_experts, (struct graph_attributes){.top = TOP},
                            "choice", in, 1 + i, &out[i], err));
        graph_lend(graph, out[i]);
        graph_lend(graph, out[i] + 1);
    }
    ASSERT_OK(graph_interpreter_create(graph, &interpreter, err));
    graph_interpreter_give(interpreter, in[0], (struct graph_array){.f64 = scores});
    graph_interpreter_give(interpreter, in[1], (struct graph_array){.i32 = given});
    for (size_t i = 0; i < 2; i++) {
        graph_interpreter_lend(interpreter, out[i], gates[i]);
        graph_interpreter_lend(interpreter, out[i] + 1, chosen[i]);
    }
    ASSERT_OK(graph_interpreter_run(interpreter, 0, 2, err));
    assert_true(chosen[0][0] == 1.0 && chosen[0][1] == 0.0 && chosen[0][2] == 2.0);
    assert_true(fabs(gates[0][1] - 1.0 / sum) < 1e-15 &&
                fabs(gates[0][2] - exp(-1.0) / sum) < 1e-15);
    assert_true(gates[0][3] == 0.0 && gates[0][4] == 0.0);
    assert_true(fabs(gates[1][1] / gates[1][4] - exp(1.0)) < 1e-14 && gates[1][0] == 0.0);
    assert_true(fabs(gates[1][1] / gates[1][3] - exp(2.0)) < 1e-14);
    graph_interpreter_destroy(interpreter);
    graph_destroy(graph);
}

/* ---- refusals ---- */

static void refuse(const struct graph_op *op, struct graph_attributes attributes,
                   const struct graph_shape *shapes, size_t count, const char *words)
{
    static const char *const names[] = {"first", "second", "third"};
    struct error refusal = ERROR_INIT;
    struct graph *graph;
    uint32_t in[3], out;

    ASSERT_OK(graph_create(&graph, err));
    for (size_t i = 0; i < count; i++)
        ASSERT_OK(graph_give(graph, GRAPH_INPUT, names[i], shapes[i], &in[i], err));
    assert_int_equal(graph_add(graph, op, attributes, "h0.node", in, count, &out, &refusal),
                     STATUS_INVALID);
    if (!strstr(refusal.message, words) || !strstr(refusal.message, "h0.node") ||
        !strstr(refusal.message, op->name))
        fail_msg("no \"%s\" in: %s", words, refusal.message);
    graph_destroy(graph);
}

TEST(refusals)
{
    const struct graph_attributes none = {0}, three = {.heads = 3, .kv_heads = 3, .length = 2};
    const struct graph_attributes five = {.heads = 2, .kv_heads = 2, .length = 5};
    const struct graph_attributes shared = {.heads = 3, .kv_heads = 2, .length = 2};
    const struct graph_shape norm[] = {MATRIX(4, 8), VECTOR(6), VECTOR(8)};
    const struct graph_shape linear[] = {MATRIX(4, 8), MATRIX(6, 8), VECTOR(8)};
    const struct graph_shape bias[] = {MATRIX(4, 8), MATRIX(8, 6), VECTOR(8)};
    const struct graph_shape vector[] = {VECTOR(8), MATRIX(8, 6)}, qkv[] = {MATRIX(4, 24)};
    const struct graph_shape heads[] = {MATRIX(4, 24), VECTOR(6), VECTOR(4)};
    const struct graph_shape sum[] = {MATRIX(4, 8), MATRIX(8, 8)};
    const struct graph_attributes cached = {.heads = 2, .kv_heads = 2, .first = 8, .page = 4};
    const struct graph_shape block[] = {MATRIX(4, 12), MATRIX(9, 31), MATRIX(4, 3)};
    const struct graph_shape pages[] = {MATRIX(4, 12), MATRIX(9, 32), MATRIX(4, 2)};
    const struct graph_shape loss[] = {MATRIX(4, 8), VECTOR(5)};
    const struct graph_attributes nine = {.top = 9}, two = {.top = 2};
    const struct graph_shape experts[] = {MATRIX(4, 8), {{3, 7, 5}, 3}, MATRIX(4, 3)};
    const struct graph_shape given[] = {MATRIX(4, 8), MATRIX(4, 1)};
    const struct graph_shape others[] = {MATRIX(4, 7), {{3, 7, 5}, 3}, MATRIX(4, 6)};
    const struct graph_shape tables[] = {VECTOR(4), MATRIX(9, 8), MATRIX(4, 8)};
    struct error refusal = ERROR_INIT;
    struct graph *graph;
    uint32_t value;

    refuse(&graph_op_layer_norm, none, norm, 3, "second has 6 elements, a row of first has 8");
    refuse(&graph_op_linear, none, linear, 2, "a row of first has 8 elements, second takes 6");
    refuse(&graph_op_linear, none, bias, 3, "third has 8 elements, a row of the result 6");
    refuse(&graph_op_linear, none, vector, 2, "its input first has 1 dimensions, not 2");
    refuse(&graph_op_attention, three, qkv, 1, "first has 24 elements, no multiple of 9 heads");
    refuse(&graph_op_attention, shared, qkv, 1, "3 heads of queries cannot share 2");
    refuse(&graph_op_attention_cached, cached, block, 3,
           "a block of second has 31 elements, 4 pos");
    refuse(&graph_op_attention_cached, cached, pages, 3, "third has 2 blocks for each of 4 sequen");
    refuse(&graph_op_rope, three, qkv, 1, "24 elements, which are not 9 heads of an even size");
    refuse(&graph_op_head_norm, five, heads, 3, "second has 6 elements, a head of first 4");
    refuse(&graph_op_rms_norm, none, norm, 2, "second has 6 elements, a row of first has 8");
    refuse(&graph_op_gate, none, sum, 2, "first has 32 elements, second has 64");
    refuse(&graph_op_attention, five, qkv, 1, "first has 4 rows, no multiple of 5 positions");
    refuse(&graph_op_add, none, sum, 2, "first has 32 elements, second has 64");
    refuse(&graph_op_cross_entropy, none, loss, 2, "first has 4 rows, second 5 elements");
    refuse(&graph_op_embedding, five, tables, 3, "third has 4 positions, a sequence 5");
    refuse(&graph_op_choose_experts, nine, sum, 1, "9 of the 8 experts of first cannot be chosen");
    refuse(&graph_op_choose_experts, two, given, 2, "second has 4 rows of 1, not 4 of 2 experts");
    refuse(&graph_op_assign_experts, nine, sum, 1, "8 numbers, not those of 9 experts");
    refuse(&graph_op_expert_product, two, experts, 3, "8 elements, an expert of second takes 7");
    refuse(&graph_op_expert_product, two, others, 3, "of 3 experts and 4 rows, third of 6 and 4");
    refuse(&graph_op_combine_experts, two, sum, 2, "4 rows of 8 elements, not 8 of 2 experts");
    ASSERT_OK(graph_create(&graph, err));
    assert_int_equal(graph_give(graph, GRAPH_INPUT, "vast",
                                (struct graph_shape)MATRIX(UINT64_C(1) << 40, 1 << 20), &value,
                                &refusal),
                     STATUS_INVALID);
    assert_non_null(strstr(refusal.message, "vast has no or more than 2^48 elements"));
    graph_destroy(graph);
}
