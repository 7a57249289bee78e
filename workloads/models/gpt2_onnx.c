#include "workloads/models/gpt2_onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/onnx/write.h"

/* One layer's nodes; their arrays are named "h3.q" and so on, and `x` is the stream's name. */
struct layer {
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

static void put_layer(struct layer *layer)
{
    static const int64_t heads_first[4] = {0, 2, 1, 3}, keys_last[4] = {0, 2, 3, 1};
    const struct onnx_setting split[] = {
        {"axis", ONNX_WHOLE, .i = 1}, {"num_outputs", ONNX_WHOLE, .i = 3}, {0}};
    const struct onnx_setting to_heads[] = {{"perm", ONNX_LIST, .ints = heads_first, .count = 4},
                                            {0}};
    const struct onnx_setting to_keys[] = {{"perm", ONNX_LIST, .ints = keys_last, .count = 4}, {0}};
    const struct onnx_setting rows[] = {{"axis", ONNX_WHOLE, .i = -1}, {0}};
    const struct onnx_setting tanh_form[] = {{"approximate", ONNX_WORD, .text = "tanh"}, {0}};

    node(layer, "LayerNormalization", "~ %ln1.g %ln1.b", "%norm1", norm);
    node(layer, "Gemm", "%norm1 %attn.w %attn.b", "%qkv", NULL);
    node(layer, "Split", "%qkv", "%q_rows %k_rows %v_rows", split);
    node(layer, "Reshape", "%q_rows shape.heads", "%q_split", NULL);
    node(layer, "Reshape", "%k_rows shape.heads", "%k_split", NULL);
    node(layer, "Reshape", "%v_rows shape.heads", "%v_split", NULL);
    node(layer, "Transpose", "%q_split", "%q", to_heads);
    node(layer, "Transpose", "%k_split", "%k", to_keys);
    node(layer, "Transpose", "%v_split", "%v", to_heads);
    node(layer, "MatMul", "%q %k", "%products", NULL);
    node(layer, "Mul", "%products scale", "%scaled", NULL);
    node(layer, "Add", "%scaled mask", "%scores", NULL);
    node(layer, "Softmax", "%scores", "%weights", rows);
    node(layer, "MatMul", "%weights %v", "%values", NULL);
    node(layer, "Transpose", "%values", "%values_split", to_heads);
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

/* Those of gpt2.h by name; of the positions the first `length`. */
static void put_weights(struct text *graph, const struct gpt2_shape *shape, const float *parameters,
                        uint64_t length)
{
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const bool vector = tensor.rows == 1;

        if (tensor.id == GPT2_WPE)
            tensor.rows = length;
        onnx_put_tensor(graph, tensor.name, DTYPE_F32, vector ? 1 : 2,
                        (const uint64_t[]){vector ? tensor.columns : tensor.rows, tensor.columns},
                        parameters + tensor.offset, tensor.rows * tensor.columns * sizeof(float));
    }
}

static void put_constants(struct text *graph, const struct gpt2_shape *shape, uint64_t sequences,
                          uint64_t length)
{
    const int64_t s = (int64_t)sequences, t = (int64_t)length, width = (int64_t)shape->width;
    const int64_t heads = (int64_t)shape->heads;
    const float scale = 1.0f / sqrtf((float)(shape->width / shape->heads));
    float *mask = malloc(length * length * sizeof(*mask));

    for (uint64_t i = 0; mask && i < length * length; i++)
        mask[i] = i % length > i / length ? -INFINITY : 0.0f;
    graph->failed |= !mask;
    if (mask)
        onnx_put_tensor(graph, "mask", DTYPE_F32, 2, (const uint64_t[]){length, length}, mask,
                        length * length * sizeof(*mask));
    free(mask);
    onnx_put_tensor(graph, "scale", DTYPE_F32, 0, NULL, &scale, sizeof(scale));
    put_shape(graph, "shape.rows", (const int64_t[]){s * t, width}, 2);
    put_shape(graph, "shape.heads", (const int64_t[]){s, t, heads, width / heads}, 4);
}

enum status gpt2_onnx_write(const struct gpt2_shape *shape, const float *parameters,
                            uint64_t sequences, uint64_t length, struct text *ret,
                            struct error *err)
{
    const struct onnx_setting tied[] = {{"transB", ONNX_WHOLE, .i = 1}, {0}};
    struct text graph;
    struct layer layer = {.graph = &graph, .x = "stream"};
    const enum status status = onnx_write_check(gpt2_array_length(shape) * sizeof(float), err);

    if (status != STATUS_OK)
        return status;
    text_init(&graph);
    onnx_put_node(&graph, "Gather", "wte " GPT2_ONNX_TOKENS, "words", NULL);
    onnx_put_node(&graph, "Add", "words wpe", "embedded", NULL);
    onnx_put_node(&graph, "Reshape", "embedded shape.rows", "stream", NULL);
    for (; layer.number < shape->layers; layer.number++)
        put_layer(&layer);
    node(&layer, "LayerNormalization", "~ lnf.g lnf.b", "final", norm);
    onnx_put_node(&graph, "Gemm", "final wte", GPT2_ONNX_LOGITS, tied);
    onnx_put_input(&graph, GPT2_ONNX_TOKENS, DTYPE_I32, 2, (const uint64_t[]){sequences, length});
    onnx_put_output(&graph, GPT2_ONNX_LOGITS, DTYPE_F32, 2,
                    (const uint64_t[]){sequences * length, shape->vocabulary});
    put_constants(&graph, shape, sequences, length);
    put_weights(&graph, shape, parameters, length);
    return onnx_write(&graph, "gpt2", ret, err);
}
