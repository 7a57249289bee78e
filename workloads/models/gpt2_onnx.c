#include "workloads/models/gpt2_onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/onnx/model.h"
#include "workloads/onnx/write.h"

/* One layer's nodes; their arrays are named "h3.q" and so on, and `x` is the stream's name. */
struct layer {
    const struct gpt2_onnx *model;
    struct text *graph;
    unsigned long long number;
    char x[GPT2_TENSOR_NAME_MAX];
};

/* In names '%' stands for the layer's lead, "h3.", and '~' for the stream. */
static void node(struct layer *layer, const char *operator, const char * inputs,
                 const char *outputs, const struct onnx_setting *attributes)
{
    const char *const sides[2] = {inputs, outputs};
    struct text names[2];

    for (int i = 0; i < 2; i++) {
        text_init(&names[i]);
        for (const char *c = sides[i]; *c; c++)
            if (*c == '%')
                text_append_format(&names[i], "h%llu.", layer->number);
            else if (*c == '~')
                text_append(&names[i], layer->x);
            else
                text_append_char(&names[i], *c);
    }
    if (text_ok(&names[0]) && text_ok(&names[1]))
        onnx_put_node(layer->graph, operator, names[0].data, names[1].data, attributes);
    text_finish(&names[0]);
    text_finish(&names[1]);
}

static void follow(struct layer *layer, const char *name)
{
    snprintf(layer->x, sizeof(layer->x), "h%llu.%s", layer->number, name);
}

static const struct onnx_setting norm[] = {
    {"axis", ONNX_WHOLE, .i = -1}, {"epsilon", ONNX_FLOATING, .f = (float)GPT2_NORM_EPSILON}, {0}};

static const int64_t heads_first[4] = {0, 2, 1, 3}, keys_last[4] = {0, 2, 3, 1};
static const int64_t sides_swapped[4] = {0, 1, 3, 2};
static const struct onnx_setting to_heads[] = {{"perm", ONNX_LIST, .ints = heads_first, .count = 4},
                                               {0}};
static const struct onnx_setting to_keys[] = {{"perm", ONNX_LIST, .ints = keys_last, .count = 4},
                                              {0}};
static const struct onnx_setting swapped[] = {
    {"perm", ONNX_LIST, .ints = sides_swapped, .count = 4}, {0}};
static const struct onnx_setting last_axis[] = {{"axis", ONNX_WHOLE, .i = -1}, {0}};

/* From an array in f32 to the output that is kept of this layer. */
static void keep(struct layer *layer, const char *from, int which)
{
    const struct onnx_setting narrow[] = {{"to", ONNX_WHOLE, .i = ONNX_BFLOAT16}, {0}};
    const bool pads = layer->model->pass == GPT2_ONNX_PREFILL;
    const char *const narrowed = which ? "%v_narrow" : "%k_narrow";
    char output[GPT2_TENSOR_NAME_MAX], inputs[2 * GPT2_TENSOR_NAME_MAX];

    gpt2_onnx_cache_name(false, which, layer->number, output);
    if (layer->model->cache == DTYPE_BF16) {
        node(layer, "Cast", from, pads ? narrowed : output, narrow);
        from = narrowed;
    }
    snprintf(inputs, sizeof(inputs), "%s padding", from);
    if (pads)
        node(layer, "Pad", inputs, output, NULL);
}

/* Those of earlier positions, as f32. */
static const char *recall(struct layer *layer, int which, char input[GPT2_TENSOR_NAME_MAX])
{
    const struct onnx_setting wide[] = {{"to", ONNX_WHOLE, .i = ONNX_FLOAT}, {0}};
    const char *const widened = which ? "%v_past" : "%k_past";

    gpt2_onnx_cache_name(true, which, layer->number, input);
    if (layer->model->cache == DTYPE_F32)
        return input;
    node(layer, "Cast", input, widened, wide);
    return widened;
}

/* What values are weighted by, of the products of queries and keys. */
static void put_softmax(struct layer *layer)
{
    node(layer, "Mul", "%products scale", "%scaled", NULL);
    node(layer, "Add", "%scaled mask", "%scores", NULL);
    node(layer, "Softmax", "%scores", "%weights", last_axis);
}

/* Queries, keys and values of one token lie as (sequences, heads, 1, size) already. */
static void put_step_attention(struct layer *layer)
{
    const bool narrow = layer->model->cache == DTYPE_BF16;
    char k[GPT2_TENSOR_NAME_MAX] = "%k_heads", v[GPT2_TENSOR_NAME_MAX] = "%v";
    char input[GPT2_TENSOR_NAME_MAX], inputs[2 * GPT2_TENSOR_NAME_MAX];

    if (!narrow) { /* they are the outputs */
        gpt2_onnx_cache_name(false, 0, layer->number, k);
        gpt2_onnx_cache_name(false, 1, layer->number, v);
    }
    node(layer, "Reshape", "%q_rows shape.heads", "%q", NULL);
    node(layer, "Reshape", "%k_rows shape.heads", k, NULL);
    node(layer, "Reshape", "%v_rows shape.heads", v, NULL);
    if (narrow) {
        keep(layer, k, 0);
        keep(layer, v, 1);
    }
    node(layer, "Transpose", recall(layer, 0, input), "%keys", swapped);
    node(layer, "MatMul", "%q %keys", "%products_past", NULL);
    node(layer, "Reshape", "%k_rows shape.keys", "%k", NULL);
    node(layer, "MatMul", "%q %k", "%products_own", NULL);
    node(layer, "Concat", "%products_past %products_own", "%products", last_axis);
    put_softmax(layer);
    node(layer, "Split", "%weights shape.parts", "%weights_past %weights_own", last_axis);
    snprintf(inputs, sizeof(inputs), "%%weights_past %s", recall(layer, 1, input));
    node(layer, "MatMul", inputs, "%values_past", NULL);
    snprintf(inputs, sizeof(inputs), "%%weights_own %s", v);
    node(layer, "Mul", inputs, "%values_own", NULL);
    node(layer, "Add", "%values_past %values_own", "%values_split", NULL);
}

static void put_attention(struct layer *layer)
{
    node(layer, "Reshape", "%q_rows shape.heads", "%q_split", NULL);
    node(layer, "Reshape", "%k_rows shape.heads", "%k_split", NULL);
    node(layer, "Reshape", "%v_rows shape.heads", "%v_split", NULL);
    node(layer, "Transpose", "%q_split", "%q", to_heads);
    node(layer, "Transpose", "%v_split", "%v", to_heads);
    if (layer->model->pass == GPT2_ONNX_PREFILL) {
        node(layer, "Transpose", "%k_split", "%k_heads", to_heads);
        node(layer, "Transpose", "%k_heads", "%k", swapped);
        keep(layer, "%k_heads", 0);
        keep(layer, "%v", 1);
    } else {
        node(layer, "Transpose", "%k_split", "%k", to_keys);
    }
    node(layer, "MatMul", "%q %k", "%products", NULL);
    put_softmax(layer);
    node(layer, "MatMul", "%weights %v", "%values", NULL);
    node(layer, "Transpose", "%values", "%values_split", to_heads);
}

static void put_layer(struct layer *layer)
{
    const struct onnx_setting split[] = {
        {"axis", ONNX_WHOLE, .i = 1}, {"num_outputs", ONNX_WHOLE, .i = 3}, {0}};
    const struct onnx_setting tanh_form[] = {{"approximate", ONNX_WORD, .text = "tanh"}, {0}};

    node(layer, "LayerNormalization", "~ %ln1.g %ln1.b", "%norm1", norm);
    node(layer, "Gemm", "%norm1 %attn.w %attn.b", "%qkv", NULL);
    node(layer, "Split", "%qkv", "%q_rows %k_rows %v_rows", split);
    if (layer->model->pass == GPT2_ONNX_STEP)
        put_step_attention(layer);
    else
        put_attention(layer);
    node(layer, "Reshape", "%values_split shape.rows", "%values_rows", NULL);
    node(layer, "Gemm", "%values_rows %attn_proj.w %attn_proj.b", "%attention", NULL);
    node(layer, "Add", "~ %attention", "%middle", NULL);
    follow(layer, "middle");
    node(layer, "LayerNormalization", "~ %ln2.g %ln2.b", "%norm2", norm);
    node(layer, "Gemm", "%norm2 %fc.w %fc.b", "%wide", NULL);
    node(layer, "Gelu", "%wide", "%gelu", tanh_form);
    node(layer, "Gemm", "%gelu %fc_proj.w %fc_proj.b", "%mlp", NULL);
    node(layer, "Add", "~ %mlp", "%end", NULL);
    follow(layer, "end");
}

/* A shape, as Reshape takes it. */
static void put_shape(struct text *graph, const char *name, const int64_t *shape, uint64_t count)
{
    onnx_put_tensor(graph, name, DTYPE_I64, 1, &count, shape, count * sizeof(*shape));
}

/* Those of gpt2.h by name; of the positions the first `positions`. */
static void put_weights(const struct gpt2_onnx *model, struct text *graph, uint64_t positions)
{
    for (size_t i = 0; i < gpt2_tensor_count(model->shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(model->shape, i);
        const bool vector = tensor.rows == 1;

        if (tensor.id == GPT2_WPE)
            tensor.rows = positions;
        onnx_put_tensor(graph, tensor.name, DTYPE_F32, vector ? 1 : 2,
                        (const uint64_t[]){vector ? tensor.columns : tensor.rows, tensor.columns},
                        model->parameters + tensor.offset,
                        tensor.rows * tensor.columns * sizeof(float));
    }
}

/*
 * Row i is added to the scores of position i: -inf where a column's position is not to be seen. Of
 * a step, the position's own score is the last column, and the others' are those before it.
 */
static void put_mask(const struct gpt2_onnx *model, struct text *graph, uint64_t positions)
{
    const bool step = model->pass == GPT2_ONNX_STEP;
    const uint64_t columns = step ? model->room + 1 : positions, count = positions * columns;
    float *mask = malloc(count * sizeof(*mask));

    for (uint64_t i = 0; mask && i < count; i++) {
        const uint64_t row = i / columns, column = i % columns;

        mask[i] = (step ? column >= row && column < model->room : column > row) ? -INFINITY : 0.0f;
    }
    graph->failed |= !mask;
    if (mask)
        onnx_put_tensor(graph, step ? "masks" : "mask", DTYPE_F32, 2,
                        (const uint64_t[]){positions, columns}, mask, count * sizeof(*mask));
    free(mask);
}

static void put_constants(const struct gpt2_onnx *model, struct text *graph)
{
    const struct gpt2_shape *shape = model->shape;
    const int64_t s = (int64_t)model->sequences, t = (int64_t)model->length;
    const int64_t width = (int64_t)shape->width, heads = (int64_t)shape->heads;
    const int64_t room = (int64_t)model->room;
    const float scale = 1.0f / sqrtf((float)(shape->width / shape->heads));

    onnx_put_tensor(graph, "scale", DTYPE_F32, 0, NULL, &scale, sizeof(scale));
    put_shape(graph, "shape.rows", (const int64_t[]){s * t, width}, 2);
    if (model->pass == GPT2_ONNX_STEP) {
        put_shape(graph, "shape.heads", (const int64_t[]){s, heads, 1, width / heads}, 4);
        put_shape(graph, "shape.keys", (const int64_t[]){s, heads, width / heads, 1}, 4);
        put_shape(graph, "shape.parts", (const int64_t[]){room, 1}, 2);
        return;
    }
    put_shape(graph, "shape.heads", (const int64_t[]){s, t, heads, width / heads}, 4);
    if (model->pass == GPT2_ONNX_PREFILL) {
        put_shape(graph, "shape.sequences", (const int64_t[]){s, t, width}, 3);
        put_shape(graph, "shape.last", (const int64_t[]){s, width}, 2);
        put_shape(graph, "padding", (const int64_t[]){0, 0, 0, 0, 0, 0, room - t, 0}, 8);
    }
}

void gpt2_onnx_cache_name(bool past, int which, uint64_t layer, char ret[GPT2_TENSOR_NAME_MAX])
{
    snprintf(ret, GPT2_TENSOR_NAME_MAX, "%s%c%llu", past ? "past." : "", which ? 'v' : 'k',
             (unsigned long long)layer);
}

static void put_arrays(const struct gpt2_onnx *model, struct text *graph)
{
    const struct gpt2_shape *shape = model->shape;
    const uint64_t s = model->sequences, size = shape->width / shape->heads;
    const bool whole = model->pass == GPT2_ONNX_WHOLE, step = model->pass == GPT2_ONNX_STEP;
    char name[GPT2_TENSOR_NAME_MAX];

    onnx_put_input(graph, GPT2_ONNX_TOKENS, DTYPE_I32, 2, (const uint64_t[]){s, model->length});
    onnx_put_output(graph, GPT2_ONNX_LOGITS, DTYPE_F32, 2,
                    (const uint64_t[]){whole ? s * model->length : s, shape->vocabulary});
    if (whole)
        return;
    onnx_put_input(graph, GPT2_ONNX_POSITION, DTYPE_I32, 1, (const uint64_t[]){1});
    for (uint64_t i = 0; i < 2 * shape->layers; i++) {
        const uint64_t kept[] = {s, shape->heads, step ? 1 : model->room, size};
        const uint64_t past[] = {s, shape->heads, model->room, size};

        gpt2_onnx_cache_name(false, i % 2, i / 2, name);
        onnx_put_output(graph, name, model->cache, 4, kept);
        gpt2_onnx_cache_name(true, i % 2, i / 2, name);
        if (step)
            onnx_put_input(graph, name, model->cache, 4, past);
    }
}

enum status gpt2_onnx_write(const struct gpt2_onnx *model, struct text *ret, struct error *err)
{
    const struct gpt2_shape *shape = model->shape;
    const struct onnx_setting tied[] = {{"transB", ONNX_WHOLE, .i = 1}, {0}};
    const struct onnx_setting second[] = {{"axis", ONNX_WHOLE, .i = 1}, {0}};
    const bool step = model->pass == GPT2_ONNX_STEP;
    const uint64_t positions = !step                          ? model->length
                               : model->room < shape->context ? model->room
                                                              : shape->context;
    struct text graph;
    struct layer layer = {.model = model, .graph = &graph, .x = "stream"};

    TRY(onnx_write_check(gpt2_array_length(shape) * sizeof(float), err));
    text_init(&graph);
    onnx_put_node(&graph, "Gather", "wte " GPT2_ONNX_TOKENS, "words", NULL);
    if (step) {
        onnx_put_node(&graph, "Gather", "wpe " GPT2_ONNX_POSITION, "place", NULL);
        onnx_put_node(&graph, "Gather", "masks " GPT2_ONNX_POSITION, "mask", NULL);
    }
    onnx_put_node(&graph, "Add", step ? "words place" : "words wpe", "embedded", NULL);
    onnx_put_node(&graph, "Reshape", "embedded shape.rows", "stream", NULL);
    for (; layer.number < shape->layers; layer.number++)
        put_layer(&layer);
    if (model->pass == GPT2_ONNX_PREFILL) {
        node(&layer, "Reshape", "~ shape.sequences", "all", NULL);
        onnx_put_node(&graph, "Gather", "all " GPT2_ONNX_POSITION, "one", second);
        onnx_put_node(&graph, "Reshape", "one shape.last", "last", NULL);
        snprintf(layer.x, sizeof(layer.x), "last");
    }
    node(&layer, "LayerNormalization", "~ lnf.g lnf.b", "final", norm);
    onnx_put_node(&graph, "Gemm", "final wte", GPT2_ONNX_LOGITS, tied);
    put_arrays(model, &graph);
    put_constants(model, &graph);
    put_mask(model, &graph, positions);
    put_weights(model, &graph, positions);
    return onnx_write(&graph, "gpt2", ret, err);
}
