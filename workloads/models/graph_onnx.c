#include "workloads/models/graph_onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/graph/operators.h"
#include "workloads/onnx/model.h"
#include "workloads/onnx/write.h"

/* In names '@' stands for the node's output, $0 for an input of it, and %0 for one of `words`. */
struct writer {
    const struct graph_onnx *model;
    const char *output; /* what the last node's value is called */
    struct text *out;
    const struct graph_node *node;
    const char *words[3];
    uint64_t attentions; /* before the node */
    uint32_t chosen;     /* of which the one position is read from now on; GRAPH_NONE: none */
};

#define WITH(...) ((const struct onnx_attribute[]){__VA_ARGS__, {0}})
#define ALONG(dimension) WITH({"axis", ONNX_WHOLE, .whole = (dimension)})
#define ORDER(...) WITH({"perm", ONNX_LIST, .list = (const int64_t[]){__VA_ARGS__}, .count = 4})

static const char *name_of(const struct writer *writer, uint32_t value)
{
    return value == writer->model->out ? writer->output
           : value == writer->chosen   ? "last"
                                       : writer->model->graph->values[value].name;
}

static void append_names(const struct writer *writer, const char *pattern, struct text *ret)
{
    for (const char *c = pattern; *c; c++) {
        if (*c == '@')
            text_append(ret, name_of(writer, writer->node->out[0]));
        else if (*c == '$')
            text_append(ret, name_of(writer, writer->node->in[*++c - '0']));
        else if (*c == '%')
            append_names(writer, writer->words[*++c - '0'], ret);
        else
            text_append_char(ret, *c);
    }
}

static struct text names(const struct writer *writer, const char *pattern)
{
    struct text ret;

    text_init(&ret);
    append_names(writer, pattern, &ret);
    writer->out->failed |= !text_ok(&ret);
    return ret;
}

static void put(const struct writer *writer, const char *operator, const char * inputs,
                const char *outputs, const struct onnx_attribute *settings)
{
    CLEANUP(text_finish) struct text in = names(writer, inputs), out = names(writer, outputs);

    if (text_ok(writer->out))
        onnx_put_node(writer->out, operator, in.data, out.data, settings);
}

static void put_constant(const struct writer *writer, const char *pattern, enum dtype type,
                         size_t rank, const uint64_t *shape, const void *bytes, uint64_t length)
{
    CLEANUP(text_finish) struct text name = names(writer, pattern);

    writer->out->failed |= !bytes;
    if (text_ok(writer->out))
        onnx_put_tensor(writer->out, name.data, type, rank, shape, bytes, length);
}

/* Whole numbers: a shape, sizes of parts, or axes. */
static void put_numbers(const struct writer *writer, const char *pattern, const int64_t *numbers,
                        uint64_t count)
{
    put_constant(writer, pattern, DTYPE_I64, 1, &count, numbers, count * sizeof(*numbers));
}

#define NUMBERS(writer, pattern, ...)                                                              \
    put_numbers(writer, pattern, (const int64_t[]){__VA_ARGS__},                                   \
                sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void put_number(const struct writer *writer, const char *pattern, double number)
{
    const float value = (float)number;

    put_constant(writer, pattern, DTYPE_F32, 0, NULL, &value, sizeof(value));
}

/* ---- rows ---- */

static void put_add(struct writer *writer)
{
    put(writer, "Add", "$0 $1", "@", NULL);
}

static void put_embedding(struct writer *writer)
{
    const struct graph_value *out = &writer->model->graph->values[writer->node->out[0]];
    const bool positions = writer->node->in_count > 2;
    const bool step = writer->model->pass == GRAPH_ONNX_STEP;

    NUMBERS(writer, "@.shape", (int64_t)graph_size(out, 0), (int64_t)graph_size(out, 1));
    put(writer, "Gather", "$1 $0", "@.words", NULL);
    if (positions && step)
        put(writer, "Gather", "$2 " GRAPH_ONNX_POSITION, "@.place", NULL);
    if (positions)
        put(writer, "Add", step ? "@.words @.place" : "@.words $2", "@.embedded", NULL);
    put(writer, "Reshape", positions ? "@.embedded @.shape" : "@.words @.shape", "@", NULL);
}

static void put_linear(struct writer *writer)
{
    put(writer, "Gemm", writer->node->in_count > 2 ? "$0 $1 $2" : "$0 $1", "@",
        writer->node->attributes.transposed ? WITH({"transB", ONNX_WHOLE, .whole = 1}) : NULL);
}

static void put_gelu(struct writer *writer)
{
    put(writer, "Gelu", "$0", "@", WITH({"approximate", ONNX_WORD, .word = "tanh"}));
}

static void put_gate(struct writer *writer)
{
    put(writer, "Sigmoid", "$0", "@.sigmoid", NULL);
    put(writer, "Mul", "$0 @.sigmoid", "@.silu", NULL);
    put(writer, "Mul", "@.silu $1", "@", NULL);
}

static void put_layer_norm(struct writer *writer)
{
    const float epsilon = (float)writer->node->attributes.epsilon;

    put(writer, "LayerNormalization", "$0 $1 $2", "@",
        WITH({"axis", ONNX_WHOLE, .whole = -1}, {"epsilon", ONNX_NUMBER, .number = epsilon}));
}

/* %2 = %0 / sqrt(mean(%0^2) + epsilon) %1 along the last axis. */
static void put_rms(struct writer *writer, const char *x, const char *gain, const char *output)
{
    writer->words[0] = x;
    writer->words[1] = gain;
    writer->words[2] = output;
    put(writer, "Mul", "%0 %0", "%2.squares", NULL);
    put(writer, "ReduceMean", "%2.squares @.axes", "%2.mean", NULL);
    put(writer, "Add", "%2.mean @.epsilon", "%2.above", NULL);
    put(writer, "Sqrt", "%2.above", "%2.root", NULL);
    put(writer, "Div", "%0 %2.root", "%2.unit", NULL);
    put(writer, "Mul", "%2.unit %1", "%2", NULL);
}

static void put_rms_norm(struct writer *writer)
{
    NUMBERS(writer, "@.axes", -1);
    put_number(writer, "@.epsilon", writer->node->attributes.epsilon);
    put_rms(writer, "$0", "$1", "@");
}

/* ---- heads ---- */

/* Of an operator over q, k and v side by side: what it has, and how large. */
struct heads {
    int64_t rows, sequences, length, q, kv, size;
};

static struct heads heads_of(const struct writer *writer)
{
    const struct graph *graph = writer->model->graph;
    const int64_t rows = (int64_t)graph_size(graph_input(graph, writer->node, 0), 0);
    const int64_t length = (int64_t)writer->model->length;

    return (struct heads){.rows = rows,
                          .sequences = rows / length,
                          .length = length,
                          .q = (int64_t)writer->node->attributes.heads,
                          .kv = (int64_t)writer->node->attributes.kv_heads,
                          .size = (int64_t)graph_head_size(graph, writer->node, 0)};
}

static void put_head_norm(struct writer *writer)
{
    const struct heads heads = heads_of(writer);
    const int64_t all = heads.q + 2 * heads.kv;

    NUMBERS(writer, "@.axes", -1);
    put_number(writer, "@.epsilon", writer->node->attributes.epsilon);
    NUMBERS(writer, "@.heads", heads.rows, all, heads.size);
    NUMBERS(writer, "@.parts", heads.q, heads.kv, heads.kv);
    NUMBERS(writer, "@.rows", heads.rows, all * heads.size);
    put(writer, "Reshape", "$0 @.heads", "@.split", NULL);
    put(writer, "Split", "@.split @.parts", "@.q @.k @.v", ALONG(1));
    put_rms(writer, "@.q", "$1", "@.q_normed");
    put_rms(writer, "@.k", "$2", "@.k_normed");
    put(writer, "Concat", "@.q_normed @.k_normed @.v", "@.all", ALONG(1));
    put(writer, "Reshape", "@.all @.rows", "@", NULL);
}

/* Cosines or sines of all positions and pairs. */
static void put_angles(const struct writer *writer, const char *pattern, double (*function)(double),
                       const struct heads *heads)
{
    const uint64_t length = (uint64_t)heads->length, half = (uint64_t)heads->size / 2;
    const uint64_t shape[] = {1, length, 1, half};
    float *angles = malloc(length * half * sizeof(*angles));

    for (uint64_t i = 0; angles && i < length * half; i++)
        angles[i] = (float)function((double)(i / half) * pow(writer->node->attributes.rope,
                                                             -(double)(i % half) / (double)half));
    put_constant(writer, pattern, DTYPE_F32, 4, shape, angles, length * half * sizeof(*angles));
    free(angles);
}

static void put_rope(struct writer *writer)
{
    const struct heads heads = heads_of(writer);
    const int64_t all = heads.q + 2 * heads.kv;

    put_angles(writer, "@.cos", cos, &heads);
    put_angles(writer, "@.sin", sin, &heads);
    NUMBERS(writer, "@.heads", heads.sequences, heads.length, all, heads.size);
    NUMBERS(writer, "@.parts", heads.q + heads.kv, heads.kv);
    NUMBERS(writer, "@.halves", heads.size / 2, heads.size / 2);
    NUMBERS(writer, "@.rows", heads.rows, all * heads.size);
    put(writer, "Reshape", "$0 @.heads", "@.split", NULL);
    put(writer, "Split", "@.split @.parts", "@.qk @.v", ALONG(2));
    put(writer, "Split", "@.qk @.halves", "@.first @.second", ALONG(3));
    put(writer, "Mul", "@.first @.cos", "@.ac", NULL);
    put(writer, "Mul", "@.second @.sin", "@.bs", NULL);
    put(writer, "Mul", "@.second @.cos", "@.bc", NULL);
    put(writer, "Mul", "@.first @.sin", "@.as", NULL);
    put(writer, "Sub", "@.ac @.bs", "@.left", NULL);
    put(writer, "Add", "@.bc @.as", "@.right", NULL);
    put(writer, "Concat", "@.left @.right", "@.turned", ALONG(3));
    put(writer, "Concat", "@.turned @.v", "@.all", ALONG(2));
    put(writer, "Reshape", "@.all @.rows", "@", NULL);
}

/* ---- keys and values ---- */

void graph_onnx_cache_name(bool past, int which, uint64_t attention,
                           char ret[GRAPH_ONNX_CACHE_NAME_MAX])
{
    snprintf(ret, GRAPH_ONNX_CACHE_NAME_MAX, "%s%c%llu", past ? "past." : "", which ? 'v' : 'k',
             (unsigned long long)attention);
}

/* From an array in f32 to the output that is kept of this attention. */
static void keep(struct writer *writer, const char *from, int which)
{
    const bool pads = writer->model->pass == GRAPH_ONNX_PREFILL;
    char output[GRAPH_ONNX_CACHE_NAME_MAX];

    graph_onnx_cache_name(false, which, writer->attentions, output);
    writer->words[0] = output;
    writer->words[1] = from;
    if (writer->model->cache == DTYPE_BF16) {
        writer->words[1] = which ? "@.v_narrow" : "@.k_narrow";
        put(writer, "Cast", from, pads ? "%1" : "%0",
            WITH({"to", ONNX_WHOLE, .whole = ONNX_BFLOAT16}));
    }
    if (pads)
        put(writer, "Pad", "%1 padding", "%0", NULL);
}

/* Those of earlier positions, as f32. */
static const char *recall(const struct writer *writer, int which,
                          char input[GRAPH_ONNX_CACHE_NAME_MAX])
{
    const char *const widened = which ? "@.v_past" : "@.k_past";

    graph_onnx_cache_name(true, which, writer->attentions, input);
    if (writer->model->cache == DTYPE_F32)
        return input;
    put(writer, "Cast", input, widened, WITH({"to", ONNX_WHOLE, .whole = ONNX_FLOAT}));
    return widened;
}

/* What values are weighted by, of the products of queries and keys. */
static void put_softmax(const struct writer *writer)
{
    put(writer, "Mul", "@.products @.scale", "@.scaled", NULL);
    put(writer, "Add", "@.scaled mask", "@.scores", NULL);
    put(writer, "Softmax", "@.scores", "@.weights", ALONG(-1));
}

/* Queries, keys and values of one token lie as (sequences, heads, 1, size) already. */
static void put_step_heads(struct writer *writer, const struct heads *heads)
{
    const bool narrow = writer->model->cache == DTYPE_BF16;
    char k[GRAPH_ONNX_CACHE_NAME_MAX] = "@.k_heads", v[GRAPH_ONNX_CACHE_NAME_MAX] = "@.v";
    char input[GRAPH_ONNX_CACHE_NAME_MAX];

    if (!narrow) { /* they are the outputs */
        graph_onnx_cache_name(false, 0, writer->attentions, k);
        graph_onnx_cache_name(false, 1, writer->attentions, v);
    }
    NUMBERS(writer, "@.heads", heads->sequences, heads->q, 1, heads->size);
    NUMBERS(writer, "@.keys", heads->sequences, heads->q, heads->size, 1);
    NUMBERS(writer, "@.parts", (int64_t)writer->model->room, 1);
    put(writer, "Reshape", "@.q_rows @.heads", "@.q", NULL);
    put(writer, "Reshape", "@.k_rows @.heads", k, NULL);
    put(writer, "Reshape", "@.v_rows @.heads", v, NULL);
    if (narrow) {
        keep(writer, k, 0);
        keep(writer, v, 1);
    }
    put(writer, "Transpose", recall(writer, 0, input), "@.k_all", ORDER(0, 1, 3, 2));
    put(writer, "MatMul", "@.q @.k_all", "@.products_past", NULL);
    put(writer, "Reshape", "@.k_rows @.keys", "@.k", NULL);
    put(writer, "MatMul", "@.q @.k", "@.products_own", NULL);
    put(writer, "Concat", "@.products_past @.products_own", "@.products", ALONG(-1));
    put_softmax(writer);
    put(writer, "Split", "@.weights @.parts", "@.weights_past @.weights_own", ALONG(-1));
    writer->words[0] = recall(writer, 1, input);
    writer->words[1] = v;
    put(writer, "MatMul", "@.weights_past %0", "@.values_past", NULL);
    put(writer, "Mul", "@.weights_own %1", "@.values_own", NULL);
    put(writer, "Add", "@.values_past @.values_own", "@.values_split", NULL);
}

/* Heads of keys and values once for each of queries. */
static void put_shared(const struct writer *writer, const struct heads *heads)
{
    int64_t *of = malloc((size_t)heads->q * sizeof(*of));

    for (int64_t i = 0; of && i < heads->q; i++)
        of[i] = i / (heads->q / heads->kv);
    put_numbers(writer, "@.of", of, (uint64_t)heads->q);
    free(of);
    put(writer, "Gather", "@.k_split @.of", "@.k_all", ALONG(2));
    put(writer, "Gather", "@.v_split @.of", "@.v_all", ALONG(2));
}

static void put_heads(struct writer *writer, const struct heads *heads)
{
    const bool shared = heads->kv != heads->q;

    NUMBERS(writer, "@.heads", heads->sequences, heads->length, heads->q, heads->size);
    NUMBERS(writer, "@.kv_heads", heads->sequences, heads->length, heads->kv, heads->size);
    put(writer, "Reshape", "@.q_rows @.heads", "@.q_split", NULL);
    put(writer, "Reshape", "@.k_rows @.kv_heads", "@.k_split", NULL);
    put(writer, "Reshape", "@.v_rows @.kv_heads", "@.v_split", NULL);
    if (shared)
        put_shared(writer, heads);
    put(writer, "Transpose", "@.q_split", "@.q", ORDER(0, 2, 1, 3));
    put(writer, "Transpose", shared ? "@.v_all" : "@.v_split", "@.v", ORDER(0, 2, 1, 3));
    if (writer->model->pass == GRAPH_ONNX_PREFILL) {
        put(writer, "Transpose", "@.k_split", "@.k_heads", ORDER(0, 2, 1, 3));
        put(writer, "Transpose", "@.k_heads", "@.k", ORDER(0, 1, 3, 2));
        keep(writer, "@.k_heads", 0);
        keep(writer, "@.v", 1);
    } else {
        put(writer, "Transpose", shared ? "@.k_all" : "@.k_split", "@.k", ORDER(0, 2, 3, 1));
    }
    put(writer, "MatMul", "@.q @.k", "@.products", NULL);
    put_softmax(writer);
    put(writer, "MatMul", "@.weights @.v", "@.values", NULL);
    put(writer, "Transpose", "@.values", "@.values_split", ORDER(0, 2, 1, 3));
}

static void put_attention(struct writer *writer)
{
    const struct heads heads = heads_of(writer);

    NUMBERS(writer, "@.sizes", heads.q * heads.size, heads.kv * heads.size, heads.kv * heads.size);
    NUMBERS(writer, "@.rows", heads.rows, heads.q * heads.size);
    put_number(writer, "@.scale", 1.0 / sqrt((double)heads.size));
    put(writer, "Split", "$0 @.sizes", "@.q_rows @.k_rows @.v_rows", ALONG(1));
    if (writer->model->pass == GRAPH_ONNX_STEP)
        put_step_heads(writer, &heads);
    else
        put_heads(writer, &heads);
    put(writer, "Reshape", "@.values_split @.rows", "@", NULL);
    writer->attentions++;
}

/* Of every operator that a model's pass forward is made of. */
static const struct form {
    const struct graph_op *op;
    void (*put)(struct writer *writer);
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

static const struct form *form_of(const struct graph_node *node)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].op == node->op)
            return &forms[i];
    return NULL;
}

/* ---- the model ---- */

static uint64_t sequences_of(const struct graph_onnx *model)
{
    return graph_input(model->graph, &model->graph->nodes[0], 0)->count / model->length;
}

/* Of embedded positions those that the model is asked for. */
static uint64_t positions_of(const struct graph_onnx *model)
{
    const struct graph_node *first = &model->graph->nodes[0];
    const uint64_t most = model->pass == GRAPH_ONNX_STEP ? model->room : model->length;
    const uint64_t embedded =
        first->in_count > 2 ? graph_size(graph_input(model->graph, first, 2), 0) : most;

    return most < embedded ? most : embedded;
}

static void put_weights(const struct writer *writer)
{
    const struct graph_onnx *model = writer->model;
    const struct graph_node *first = &model->graph->nodes[0];
    const struct stack_layout *layout = model->layout;
    uint64_t offset = 0;

    for (uint32_t i = 0; i < model->graph->value_count; i++) {
        const struct graph_value *value = &model->graph->values[i];
        struct graph_shape shape = value->shape;
        uint64_t count = value->count;

        if (value->role != GRAPH_PARAMETER)
            continue;
        for (size_t k = 0; layout && k < layout->count; k++)
            offset = layout->parameters[k].value == i ? layout->parameters[k].offset : offset;
        if (first->in_count > 2 && i == first->in[2]) {
            shape.of[0] = positions_of(model);
            count = shape.of[0] * shape.of[1];
        }
        onnx_put_tensor(writer->out, value->name, DTYPE_F32, shape.rank, shape.of,
                        model->weights + offset, count * sizeof(float));
        offset += value->count;
    }
}

/*
 * Row i is added to the scores of position i: -inf where a column's position is not to be seen. Of
 * a step, the position's own score is the last column, and the others' are those before it.
 */
static void put_mask(struct writer *writer)
{
    const struct graph_onnx *model = writer->model;
    const bool step = model->pass == GRAPH_ONNX_STEP;
    const uint64_t positions = positions_of(model), columns = step ? model->room + 1 : positions,
                   count = positions * columns;
    float *mask = malloc(count * sizeof(*mask));

    for (uint64_t i = 0; mask && i < count; i++) {
        const uint64_t row = i / columns, column = i % columns;

        mask[i] = (step ? column >= row && column < model->room : column > row) ? -INFINITY : 0.0f;
    }
    put_constant(writer, step ? "masks" : "mask", DTYPE_F32, 2,
                 (const uint64_t[]){positions, columns}, mask, count * sizeof(*mask));
    free(mask);
    if (step)
        put(writer, "Gather", "masks " GRAPH_ONNX_POSITION, "mask", NULL);
}

/* Of the node's first input the rows of the one position, for it and those behind it. */
static void put_last(struct writer *writer)
{
    const struct graph_onnx *model = writer->model;
    const int64_t s = (int64_t)sequences_of(model), t = (int64_t)model->length;
    const int64_t width = (int64_t)graph_size(graph_input(model->graph, writer->node, 0), 1);

    NUMBERS(writer, "last.sequences", s, t, width);
    NUMBERS(writer, "last.rows", s, width);
    put(writer, "Reshape", "$0 last.sequences", "last.all", NULL);
    put(writer, "Gather", "last.all " GRAPH_ONNX_POSITION, "last.one", ALONG(1));
    put(writer, "Reshape", "last.one last.rows", "last", NULL);
    writer->chosen = writer->node->in[0];
}

enum status graph_onnx_check(const struct graph_onnx *model, struct error *err)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < model->nodes; i++)
        if (!form_of(&model->graph->nodes[i]))
            return error_set(err, STATUS_UNSUPPORTED, "%s (%s) has no form in ONNX",
                             model->graph->values[model->graph->nodes[i].out[0]].name,
                             model->graph->nodes[i].op->name);
    for (size_t i = 0; i < model->graph->value_count; i++)
        if (model->graph->values[i].role == GRAPH_PARAMETER)
            bytes += model->graph->values[i].count * sizeof(float);
    return onnx_write_check(bytes, err);
}

enum status graph_onnx_write(const struct graph_onnx *model, const struct framework_model *arrays,
                             struct text *ret, struct error *err)
{
    const int64_t behind = (int64_t)(model->room - model->length);
    struct text out;
    struct writer writer = {model, arrays->outputs[0].name, &out, .chosen = GRAPH_NONE};

    TRY(graph_onnx_check(model, err));
    text_init(&out);
    onnx_put_arrays(&out, arrays);
    put_weights(&writer);
    put_mask(&writer);
    if (model->pass == GRAPH_ONNX_PREFILL)
        NUMBERS(&writer, "padding", 0, 0, 0, 0, 0, 0, behind, 0);
    for (size_t i = 0; i < model->nodes; i++) {
        writer.node = &model->graph->nodes[i];
        if (model->pass == GRAPH_ONNX_PREFILL && i == model->head)
            put_last(&writer);
        form_of(writer.node)->put(&writer);
    }
    return onnx_write(&out, model->name, ret, err);
}
