#include "workloads/models/stack_onnx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/graph/operators.h"
#include "workloads/onnx/write.h"

struct writer {
    const struct stack_graph *stack;
    uint64_t length;
    struct text *out;
};

/* A node of the graph that is written. */
struct part {
    struct writer *writer;
    const struct graph_node *node;
};

static const char *name_of(const struct writer *writer, uint32_t value)
{
    return value == writer->stack->out ? STACK_ONNX_OUTPUT
                                       : writer->stack->graph->values[value].name;
}

/* '@' is the node's output, $0 an input of it. */
static void append_names(const struct part *part, const char *pattern, struct text *ret)
{
    text_init(ret);
    for (const char *c = pattern; *c; c++) {
        if (*c == '@')
            text_append(ret, name_of(part->writer, part->node->out[0]));
        else if (*c == '$')
            text_append(ret, name_of(part->writer, part->node->in[*++c - '0']));
        else
            text_append_char(ret, *c);
    }
}

static void put(const struct part *part, const char *operator, const char * inputs,
                const char *outputs, const struct onnx_setting *settings)
{
    struct text in, out;

    append_names(part, inputs, &in);
    append_names(part, outputs, &out);
    if (text_ok(&in) && text_ok(&out))
        onnx_put_node(part->writer->out, operator, in.data, out.data, settings);
    else
        part->writer->out->failed = true;
    text_finish(&in);
    text_finish(&out);
}

static void put_constant(const struct part *part, const char *pattern, enum dtype type, size_t rank,
                         const uint64_t *shape, const void *bytes, uint64_t length)
{
    struct text name;

    append_names(part, pattern, &name);
    if (text_ok(&name))
        onnx_put_tensor(part->writer->out, name.data, type, rank, shape, bytes, length);
    else
        part->writer->out->failed = true;
    text_finish(&name);
}

/* Whole numbers: a shape, or where a slice begins, ends and along what. */
static void put_numbers(const struct part *part, const char *pattern, const int64_t *numbers,
                        uint64_t count)
{
    put_constant(part, pattern, DTYPE_I64, 1, &count, numbers, count * sizeof(*numbers));
}

#define NUMBERS(part, pattern, ...)                                                                \
    put_numbers(part, pattern, (const int64_t[]){__VA_ARGS__},                                     \
                sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void put_number(const struct part *part, const char *pattern, double number)
{
    const float value = (float)number;

    put_constant(part, pattern, DTYPE_F32, 0, NULL, &value, sizeof(value));
}

static const int64_t heads_first[] = {0, 2, 1, 3}, keys_last[] = {0, 2, 3, 1}, last[] = {-1};
static const struct onnx_setting to_heads[] = {{"perm", ONNX_LIST, .ints = heads_first, .count = 4},
                                               {0}};
static const struct onnx_setting to_keys[] = {{"perm", ONNX_LIST, .ints = keys_last, .count = 4},
                                              {0}};
static const struct onnx_setting along_last[] = {{"axis", ONNX_WHOLE, .i = -1}, {0}};
static const struct onnx_setting along_heads[] = {{"axis", ONNX_WHOLE, .i = 2}, {0}};

static void put_embedding(const struct part *part)
{
    const struct graph_value *out = &part->writer->stack->graph->values[part->node->out[0]];
    const bool positions = part->node->in_count > 2;

    NUMBERS(part, "@.shape", (int64_t)graph_size(out, 0), (int64_t)graph_size(out, 1));
    put(part, "Gather", "$1 $0", "@.words", NULL);
    if (positions)
        put(part, "Add", "@.words $2", "@.embedded", NULL);
    put(part, "Reshape", positions ? "@.embedded @.shape" : "@.words @.shape", "@", NULL);
}

static void put_linear(const struct part *part)
{
    const struct onnx_setting transposed[] = {{"transB", ONNX_WHOLE, .i = 1}, {0}};

    put(part, "Gemm", part->node->in_count > 2 ? "$0 $1 $2" : "$0 $1", "@",
        part->node->attributes.transposed ? transposed : NULL);
}

static void put_layer_norm(const struct part *part)
{
    const struct onnx_setting settings[] = {
        {"axis", ONNX_WHOLE, .i = -1},
        {"epsilon", ONNX_FLOATING, .f = (float)part->node->attributes.epsilon},
        {0}};

    put(part, "LayerNormalization", "$0 $1 $2", "@", settings);
}

/* x / sqrt(mean(x^2) + epsilon) gain along the last axis; names begin with `lead`. */
static void put_rms(const struct part *part, const char *lead, const char *x, const char *gain,
                    const char *output)
{
    static const char *const steps[][3] = {
        {"Mul", "%x %x", "%l.squares"},           {"ReduceMean", "%l.squares @.axes", "%l.mean"},
        {"Add", "%l.mean @.epsilon", "%l.above"}, {"Sqrt", "%l.above", "%l.root"},
        {"Div", "%x %l.root", "%l.unit"},         {"Mul", "%l.unit %g", "%o"}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        char names[2][96];

        for (size_t k = 0; k < 2; k++) {
            char *to = names[k];

            for (const char *c = steps[i][k + 1]; *c; c++) {
                if (*c == '%') {
                    c++;
                    to = stpcpy(to, *c == 'x' ? x : *c == 'g' ? gain : *c == 'l' ? lead : output);
                } else {
                    *to++ = *c;
                }
            }
            *to = '\0';
        }
        put(part, steps[i][0], names[0], names[1], NULL);
    }
}

static void put_rms_norm(const struct part *part)
{
    put_numbers(part, "@.axes", last, 1);
    put_number(part, "@.epsilon", part->node->attributes.epsilon);
    put_rms(part, "@", "$0", "$1", "@");
}

/* Columns [first, end) of the input as `output`; both have constants of these names. */
static void put_columns(const struct part *part, const char *first, const char *end,
                        const char *output)
{
    char inputs[64];

    snprintf(inputs, sizeof(inputs), "$0 %s %s @.along", first, end);
    put(part, "Slice", inputs, output, NULL);
}

static void put_head_norm(const struct part *part)
{
    const struct graph_value *x = graph_input(part->writer->stack->graph, part->node, 0);
    const int64_t heads = (int64_t)part->node->attributes.heads;
    const int64_t kv_heads = (int64_t)part->node->attributes.kv_heads;
    const int64_t columns = (int64_t)graph_size(x, 1), rows = (int64_t)graph_size(x, 0);
    const int64_t size = columns / (heads + 2 * kv_heads);

    put_numbers(part, "@.axes", last, 1);
    put_number(part, "@.epsilon", part->node->attributes.epsilon);
    NUMBERS(part, "@.along", 1);
    NUMBERS(part, "@.0", 0);
    NUMBERS(part, "@.keys", heads * size);
    NUMBERS(part, "@.values", (heads + kv_heads) * size);
    NUMBERS(part, "@.columns", columns);
    NUMBERS(part, "@.q_heads", rows, heads, size);
    NUMBERS(part, "@.k_heads", rows, kv_heads, size);
    NUMBERS(part, "@.q_rows", rows, heads * size);
    NUMBERS(part, "@.k_rows", rows, kv_heads * size);
    put_columns(part, "@.0", "@.keys", "@.q");
    put_columns(part, "@.keys", "@.values", "@.k");
    put_columns(part, "@.values", "@.columns", "@.v");
    put(part, "Reshape", "@.q @.q_heads", "@.q_split", NULL);
    put(part, "Reshape", "@.k @.k_heads", "@.k_split", NULL);
    put_rms(part, "@.q", "@.q_split", "$1", "@.q_normed");
    put_rms(part, "@.k", "@.k_split", "$2", "@.k_normed");
    put(part, "Reshape", "@.q_normed @.q_rows", "@.q_flat", NULL);
    put(part, "Reshape", "@.k_normed @.k_rows", "@.k_flat", NULL);
    put(part, "Concat", "@.q_flat @.k_flat @.v", "@", along_last);
}

/* Cosines or sines of all positions and pairs. */
static void put_angles(const struct part *part, const char *pattern, double (*function)(double),
                       uint64_t half)
{
    const uint64_t length = part->writer->length, shape[] = {1, length, 1, half};
    float *angles = malloc(length * half * sizeof(*angles));

    for (uint64_t i = 0; angles && i < length * half; i++)
        angles[i] = (float)function((double)(i / half) * pow(part->node->attributes.rope,
                                                             -(double)(i % half) / (double)half));
    part->writer->out->failed |= !angles;
    if (angles)
        put_constant(part, pattern, DTYPE_F32, 4, shape, angles, length * half * sizeof(*angles));
    free(angles);
}

static void put_rope(const struct part *part)
{
    const struct graph_value *x = graph_input(part->writer->stack->graph, part->node, 0);
    const struct graph_attributes *attributes = &part->node->attributes;
    const int64_t turned = (int64_t)(attributes->heads + attributes->kv_heads);
    const int64_t columns = (int64_t)graph_size(x, 1), rows = (int64_t)graph_size(x, 0);
    const int64_t size = columns / (turned + (int64_t)attributes->kv_heads);
    const int64_t length = (int64_t)part->writer->length;

    put_angles(part, "@.cos", cos, (uint64_t)size / 2);
    put_angles(part, "@.sin", sin, (uint64_t)size / 2);
    NUMBERS(part, "@.0", 0);
    NUMBERS(part, "@.turned", turned * size);
    NUMBERS(part, "@.columns", columns);
    NUMBERS(part, "@.along", 1);
    NUMBERS(part, "@.half", size / 2);
    NUMBERS(part, "@.size", size);
    NUMBERS(part, "@.across", 3);
    NUMBERS(part, "@.heads", rows / length, length, turned, size);
    NUMBERS(part, "@.rows", rows, turned * size);
    put_columns(part, "@.0", "@.turned", "@.qk");
    put_columns(part, "@.turned", "@.columns", "@.v");
    put(part, "Reshape", "@.qk @.heads", "@.split", NULL);
    put(part, "Slice", "@.split @.0 @.half @.across", "@.a", NULL);
    put(part, "Slice", "@.split @.half @.size @.across", "@.b", NULL);
    put(part, "Mul", "@.a @.cos", "@.ac", NULL);
    put(part, "Mul", "@.b @.sin", "@.bs", NULL);
    put(part, "Mul", "@.b @.cos", "@.bc", NULL);
    put(part, "Mul", "@.a @.sin", "@.as", NULL);
    put(part, "Sub", "@.ac @.bs", "@.left", NULL);
    put(part, "Add", "@.bc @.as", "@.right", NULL);
    put(part, "Concat", "@.left @.right", "@.both", along_last);
    put(part, "Reshape", "@.both @.rows", "@.flat", NULL);
    put(part, "Concat", "@.flat @.v", "@", along_last);
}

/* q, k or v of the input: columns from `first` to `end`, as (sequences, length, heads, size). */
static void put_heads(const struct part *part, char which, int64_t first, int64_t heads,
                      int64_t size)
{
    const int64_t length = (int64_t)part->writer->length;
    const int64_t rows =
        (int64_t)graph_size(graph_input(part->writer->stack->graph, part->node, 0), 0);
    char names[5][16];
    char reshape[32];

    for (size_t i = 0; i < 5; i++)
        snprintf(names[i], sizeof(names[i]), "@.%c_%s", which,
                 (const char *const[]){"first", "end", "shape", "rows", "heads"}[i]);
    NUMBERS(part, names[0], first);
    NUMBERS(part, names[1], first + heads * size);
    NUMBERS(part, names[2], rows / length, length, heads, size);
    snprintf(reshape, sizeof(reshape), "%s %s", names[3], names[2]);
    put_columns(part, names[0], names[1], names[3]);
    put(part, "Reshape", reshape, names[4], NULL);
}

/* Heads of keys and values once for each of queries. */
static void put_shared(const struct part *part)
{
    const uint64_t heads = part->node->attributes.heads;
    int64_t *of = malloc(heads * sizeof(*of));

    for (uint64_t i = 0; of && i < heads; i++)
        of[i] = (int64_t)(i / (heads / part->node->attributes.kv_heads));
    part->writer->out->failed |= !of;
    if (of)
        put_numbers(part, "@.of", of, heads);
    free(of);
    put(part, "Gather", "@.k_heads @.of", "@.k_all", along_heads);
    put(part, "Gather", "@.v_heads @.of", "@.v_all", along_heads);
}

static void put_attention(const struct part *part)
{
    const struct graph_value *qkv = graph_input(part->writer->stack->graph, part->node, 0);
    const int64_t heads = (int64_t)part->node->attributes.heads;
    const int64_t kv_heads = (int64_t)part->node->attributes.kv_heads;
    const int64_t size = (int64_t)graph_size(qkv, 1) / (heads + 2 * kv_heads);
    const bool shared = kv_heads != heads;

    NUMBERS(part, "@.along", 1);
    NUMBERS(part, "@.rows", (int64_t)graph_size(qkv, 0), heads * size);
    put_number(part, "@.scale", 1.0 / sqrt((double)size));
    put_heads(part, 'q', 0, heads, size);
    put_heads(part, 'k', heads * size, kv_heads, size);
    put_heads(part, 'v', (heads + kv_heads) * size, kv_heads, size);
    if (shared)
        put_shared(part);
    put(part, "Transpose", "@.q_heads", "@.q", to_heads);
    put(part, "Transpose", shared ? "@.k_all" : "@.k_heads", "@.k", to_keys);
    put(part, "Transpose", shared ? "@.v_all" : "@.v_heads", "@.v", to_heads);
    put(part, "MatMul", "@.q @.k", "@.products", NULL);
    put(part, "Mul", "@.products @.scale", "@.scaled", NULL);
    put(part, "Add", "@.scaled mask", "@.scores", NULL);
    put(part, "Softmax", "@.scores", "@.weights", along_last);
    put(part, "MatMul", "@.weights @.v", "@.values", NULL);
    put(part, "Transpose", "@.values", "@.split", to_heads);
    put(part, "Reshape", "@.split @.rows", "@", NULL);
}

static void put_gelu(const struct part *part)
{
    const struct onnx_setting tanh_form[] = {{"approximate", ONNX_WORD, .text = "tanh"}, {0}};

    put(part, "Gelu", "$0", "@", tanh_form);
}

static void put_gate(const struct part *part)
{
    put(part, "Sigmoid", "$0", "@.sigmoid", NULL);
    put(part, "Mul", "$0 @.sigmoid", "@.silu", NULL);
    put(part, "Mul", "@.silu $1", "@", NULL);
}

static void put_add(const struct part *part)
{
    put(part, "Add", "$0 $1", "@", NULL);
}

/* Of every operator that a stack expands to. */
static const struct form {
    const struct graph_op *op;
    void (*put)(const struct part *part);
} forms[] = {
    {&graph_op_add, put_add},
    {&graph_op_attention, put_attention},
    {&graph_op_embedding, put_embedding},
    {&graph_op_gate, put_gate},
    {&graph_op_gelu, put_gelu},
    {&graph_op_head_norm, put_head_norm},
    {&graph_op_layer_norm, put_layer_norm},
    {&graph_op_linear, put_linear},
    {&graph_op_rms_norm, put_rms_norm},
    {&graph_op_rope, put_rope},
};

/* -inf where a column's position is behind the row's. */
static void put_mask(const struct writer *writer)
{
    const uint64_t length = writer->length, count = length * length;
    float *mask = malloc(count * sizeof(*mask));

    for (uint64_t i = 0; mask && i < count; i++)
        mask[i] = i % length > i / length ? -INFINITY : 0.0f;
    writer->out->failed |= !mask;
    if (mask)
        onnx_put_tensor(writer->out, "mask", DTYPE_F32, 2, (const uint64_t[]){length, length}, mask,
                        count * sizeof(*mask));
    free(mask);
}

/* Of embedded positions those that there are. */
static void put_weights(const struct writer *writer, const float *weights)
{
    const struct graph *graph = writer->stack->graph;
    const struct graph_node *first = &graph->nodes[0];

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct graph_value *value = &graph->values[i];
        const bool positions = first->in_count > 2 && i == first->in[2];
        struct graph_shape shape = value->shape;

        if (value->role != GRAPH_PARAMETER)
            continue;
        if (positions)
            shape.of[0] = writer->length;
        onnx_put_tensor(writer->out, value->name, DTYPE_F32, shape.rank, shape.of, weights,
                        (positions ? shape.of[0] * shape.of[1] : value->count) * sizeof(*weights));
        weights += value->count;
    }
}

static const struct form *form_of(const struct graph_node *node)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].op == node->op)
            return &forms[i];
    return NULL;
}

enum status stack_onnx_check(const struct stack_graph *stack, struct error *err)
{
    for (size_t i = 0; i < stack->graph->node_count; i++)
        if (!form_of(&stack->graph->nodes[i]))
            return error_set(err, STATUS_UNSUPPORTED, "%s (%s) has no form in ONNX",
                             stack->graph->values[stack->graph->nodes[i].out[0]].name,
                             stack->graph->nodes[i].op->name);
    return onnx_write_check(stack_parameter_count(stack) * sizeof(float), err);
}

enum status stack_onnx_write(const struct stack_graph *stack, uint64_t length, const float *weights,
                             struct text *ret, struct error *err)
{
    const struct graph *graph = stack->graph;
    const struct graph_value *tokens = &graph->values[stack->tokens];
    struct text out;
    struct writer writer = {stack, length, &out};

    text_init(&out);
    for (size_t i = 0; i < graph->node_count; i++)
        form_of(&graph->nodes[i])->put(&(struct part){&writer, &graph->nodes[i]});
    onnx_put_input(&out, STACK_ONNX_TOKENS, DTYPE_I32, 2,
                   (const uint64_t[]){tokens->count / length, length});
    onnx_put_output(&out, STACK_ONNX_OUTPUT, DTYPE_F32, 2, graph->values[stack->out].shape.of);
    put_mask(&writer);
    put_weights(&writer, weights);
    return onnx_write(&out, "stack", ret, err);
}
