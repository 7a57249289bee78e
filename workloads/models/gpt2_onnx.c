/*
 * ONNX is Protocol Buffers (protobuf.dev, "Encoding"): a field is its number and kind, then a
 * variable-length integer, four bytes, or a length and as many bytes. The numbers are those of
 * onnx.proto.
 */
#include "workloads/models/gpt2_onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IR_VERSION 9
#define OPERATORS 20
#define ONNX_FLOAT 1
#define ONNX_INT32 6
#define ONNX_INT64 7
#define FORMAT_MAX ((uint64_t)1 << 31)

enum { VARINT, BYTES = 2, FIXED32 = 5 };

/* ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPERATORS = 8 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OPERATOR = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_INT = 3, ATTRIBUTE_TEXT = 4 };
enum { ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_TEXT = 3, TYPE_INTS = 7 };
enum { TENSOR_DIMENSION = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };

/* ---- the format ---- */

static void put_varint(struct text *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        text_append_char(out, (char)(0x80 | (value & 0x7f)));
    text_append_char(out, (char)value);
}

static void put_key(struct text *out, int field, int kind)
{
    put_varint(out, (uint64_t)field << 3 | (uint64_t)kind);
}

static void put_int(struct text *out, int field, int64_t value)
{
    put_key(out, field, VARINT);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(struct text *out, int field, const void *bytes, size_t length)
{
    put_key(out, field, BYTES);
    put_varint(out, length);
    text_append_bytes(out, bytes, length);
}

static void put_text(struct text *out, int field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* A message inside another; frees it. */
static void put_message(struct text *out, int field, struct text *message)
{
    out->failed |= !text_ok(message);
    put_bytes(out, field, message->data, message->length);
    text_finish(message);
}

/* ---- tensors and nodes ---- */

/* A tensor of up to 4 dimensions (0 ends them). */
static void put_tensor(struct text *graph, const char *name, int type, const int64_t dimensions[4],
                       const void *bytes, size_t length)
{
    struct text head;

    text_init(&head);
    for (int i = 0; i < 4 && dimensions[i]; i++)
        put_int(&head, TENSOR_DIMENSION, dimensions[i]);
    put_int(&head, TENSOR_TYPE, type);
    put_text(&head, TENSOR_NAME, name);
    put_key(&head, TENSOR_BYTES, BYTES);
    put_varint(&head, length);
    put_key(graph, GRAPH_TENSOR, BYTES);
    put_varint(graph, head.length + length);
    text_append_bytes(graph, head.data, head.length);
    text_append_bytes(graph, bytes, length); /* not through `head`: weights are copied once */
    text_finish(&head);
}

static void put_float(struct text *graph, const char *name, float value)
{
    put_tensor(graph, name, ONNX_FLOAT, (const int64_t[4]){0}, &value, sizeof(value));
}

/* A shape, as Reshape takes it. */
static void put_shape(struct text *graph, const char *name, const int64_t *shape, int count)
{
    put_tensor(graph, name, ONNX_INT64, (const int64_t[4]){count}, shape,
               (size_t)count * sizeof(*shape));
}

static void put_array(struct text *graph, int field, const char *name, int type, int64_t rows,
                      int64_t columns)
{
    const int64_t shape[2] = {rows, columns};
    struct text value, of, tensor, dimensions, dimension;

    text_init(&value);
    text_init(&of);
    text_init(&tensor);
    text_init(&dimensions);
    for (int i = 0; i < 2; i++) {
        text_init(&dimension);
        put_int(&dimension, 1, shape[i]);
        put_message(&dimensions, 1, &dimension);
    }
    put_int(&tensor, 1, type);
    put_message(&tensor, 2, &dimensions);
    put_message(&of, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &of);
    put_message(graph, field, &value);
}

struct attribute {
    const char *name;
    int type;
    union {
        float f;
        int64_t i;
        const char *text;
        const int64_t *ints; /* 4 */
    };
};

static void put_attribute(struct text *node, const struct attribute *attribute)
{
    struct text out;

    text_init(&out);
    put_text(&out, ATTRIBUTE_NAME, attribute->name);
    switch (attribute->type) {
    case TYPE_FLOAT:
        put_key(&out, ATTRIBUTE_FLOAT, FIXED32);
        text_append_bytes(&out, &attribute->f, sizeof(attribute->f));
        break;
    case TYPE_INT:
        put_int(&out, ATTRIBUTE_INT, attribute->i);
        break;
    case TYPE_TEXT:
        put_text(&out, ATTRIBUTE_TEXT, attribute->text);
        break;
    default:
        for (int i = 0; i < 4; i++)
            put_int(&out, ATTRIBUTE_INTS, attribute->ints[i]);
    }
    put_int(&out, ATTRIBUTE_TYPE, attribute->type);
    put_message(node, NODE_ATTRIBUTE, &out);
}

/* Names separated by blanks. */
static void put_names(struct text *node, int field, const char *names)
{
    while (*names) {
        const size_t length = strcspn(names, " ");

        put_bytes(node, field, names, length);
        names += length + (names[length] == ' ');
    }
}

/* Attributes end with one without a name; NULL: none. A node is called by its first output. */
static void put_node(struct text *graph, const char *operator, const char * inputs,
                     const char *outputs, const struct attribute *attributes)
{
    struct text node;

    text_init(&node);
    put_names(&node, NODE_INPUT, inputs);
    put_names(&node, NODE_OUTPUT, outputs);
    put_bytes(&node, NODE_NAME, outputs, strcspn(outputs, " "));
    put_text(&node, NODE_OPERATOR, operator);
    for (; attributes && attributes->name; attributes++)
        put_attribute(&node, attributes);
    put_message(graph, GRAPH_NODE, &node);
}

/* ---- the model ---- */

/* One layer's nodes; their arrays are named "h3.q" and so on, and `x` is the stream's name. */
struct layer {
    struct text *graph;
    unsigned long long number;
    char x[GPT2_TENSOR_NAME_MAX];
};

/* In names '%' stands for the layer's lead, "h3.", and '~' for the stream. */
static void node(struct layer *layer, const char *operator, const char * inputs,
                 const char *outputs, const struct attribute *attributes)
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
        put_node(layer->graph, operator, names[0].data, names[1].data, attributes);
    text_finish(&names[0]);
    text_finish(&names[1]);
}

static void follow(struct layer *layer, const char *name)
{
    snprintf(layer->x, sizeof(layer->x), "h%llu.%s", layer->number, name);
}

static const struct attribute norm[] = {
    {"axis", TYPE_INT, .i = -1}, {"epsilon", TYPE_FLOAT, .f = (float)GPT2_NORM_EPSILON}, {0}};

static void put_layer(struct layer *layer)
{
    static const int64_t heads_first[4] = {0, 2, 1, 3}, keys_last[4] = {0, 2, 3, 1};
    const struct attribute split[] = {
        {"axis", TYPE_INT, .i = 1}, {"num_outputs", TYPE_INT, .i = 3}, {0}};
    const struct attribute to_heads[] = {{"perm", TYPE_INTS, .ints = heads_first}, {0}};
    const struct attribute to_keys[] = {{"perm", TYPE_INTS, .ints = keys_last}, {0}};
    const struct attribute rows[] = {{"axis", TYPE_INT, .i = -1}, {0}};
    const struct attribute tanh_form[] = {{"approximate", TYPE_TEXT, .text = "tanh"}, {0}};

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

/* Those of gpt2.h by name; of the positions the first `length`. */
static void put_weights(struct text *graph, const struct gpt2_shape *shape, const float *parameters,
                        uint64_t length)
{
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const bool vector = tensor.rows == 1;

        if (tensor.id == GPT2_WPE)
            tensor.rows = length;
        put_tensor(graph, tensor.name, ONNX_FLOAT,
                   (const int64_t[4]){(int64_t)(vector ? tensor.columns : tensor.rows),
                                      vector ? 0 : (int64_t)tensor.columns},
                   parameters + tensor.offset,
                   (size_t)(tensor.rows * tensor.columns) * sizeof(float));
    }
}

static void put_constants(struct text *graph, const struct gpt2_shape *shape, uint64_t sequences,
                          uint64_t length)
{
    const int64_t s = (int64_t)sequences, t = (int64_t)length, width = (int64_t)shape->width;
    const int64_t heads = (int64_t)shape->heads;
    float *mask = malloc(length * length * sizeof(*mask));

    for (uint64_t i = 0; mask && i < length * length; i++)
        mask[i] = i % length > i / length ? -INFINITY : 0.0f;
    graph->failed |= !mask;
    if (mask)
        put_tensor(graph, "mask", ONNX_FLOAT, (const int64_t[4]){t, t}, mask,
                   length * length * sizeof(*mask));
    free(mask);
    put_float(graph, "scale", 1.0f / sqrtf((float)(shape->width / shape->heads)));
    put_shape(graph, "shape.rows", (const int64_t[]){s * t, width}, 2);
    put_shape(graph, "shape.heads", (const int64_t[]){s, t, heads, width / heads}, 4);
}

enum status gpt2_onnx_write(const struct gpt2_shape *shape, const float *parameters,
                            uint64_t sequences, uint64_t length, struct text *ret,
                            struct error *err)
{
    const struct attribute tied[] = {{"transB", TYPE_INT, .i = 1}, {0}};
    struct text graph, operators;
    struct layer layer = {.graph = &graph, .x = "stream"};

    if (gpt2_array_length(shape) >= FORMAT_MAX / sizeof(float))
        return error_set(err, STATUS_INVALID,
                         "a model of more than 2 GiB does not fit into one file of ONNX: declare a "
                         "smaller one");
    text_init(&graph);
    text_init(&operators);
    put_text(&graph, GRAPH_NAME, "gpt2");
    put_node(&graph, "Gather", "wte " GPT2_ONNX_TOKENS, "words", NULL);
    put_node(&graph, "Add", "words wpe", "embedded", NULL);
    put_node(&graph, "Reshape", "embedded shape.rows", "stream", NULL);
    for (; layer.number < shape->layers; layer.number++)
        put_layer(&layer);
    node(&layer, "LayerNormalization", "~ lnf.g lnf.b", "final", norm);
    put_node(&graph, "Gemm", "final wte", GPT2_ONNX_LOGITS, tied);
    put_array(&graph, GRAPH_INPUT, GPT2_ONNX_TOKENS, ONNX_INT32, (int64_t)sequences,
              (int64_t)length);
    put_array(&graph, GRAPH_OUTPUT, GPT2_ONNX_LOGITS, ONNX_FLOAT, (int64_t)(sequences * length),
              (int64_t)shape->vocabulary);
    put_constants(&graph, shape, sequences, length);
    put_weights(&graph, shape, parameters, length);
    put_int(ret, MODEL_IR, IR_VERSION);
    put_text(ret, MODEL_PRODUCER, "assay");
    put_int(&operators, 2, OPERATORS);
    put_message(ret, MODEL_OPERATORS, &operators);
    put_message(ret, MODEL_GRAPH, &graph);
    return text_ok(ret) ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "no memory for the model");
}
