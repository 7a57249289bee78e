/*
 * ONNX is Protocol Buffers (protobuf.dev, "Encoding"): a field is its number and kind, then a
 * variable-length integer, four bytes, or a length and as many bytes. The numbers are those of
 * onnx.proto.
 */
#include "workloads/onnx/write.h"

#include <string.h>

#include "workloads/onnx/model.h"

#define IR_VERSION 9
#define OPERATORS 20
#define FORMAT_MAX (((uint64_t)1 << 31) - ((uint64_t)1 << 20)) /* of tensors, beside the nodes */

enum { VARINT, BYTES = 2, FIXED32 = 5 };

/* ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPERATORS = 8 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OPERATOR = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_INT = 3, ATTRIBUTE_TEXT = 4 };
enum { ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TENSOR_DIMENSION = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };

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

static int type_of(enum dtype type)
{
    switch (type) {
    case DTYPE_F64:
        return ONNX_DOUBLE;
    case DTYPE_BF16:
        return ONNX_BFLOAT16;
    case DTYPE_I32:
        return ONNX_INT32;
    case DTYPE_I64:
        return ONNX_INT64;
    default:
        return ONNX_FLOAT;
    }
}

void onnx_put_tensor(struct text *graph, const char *name, enum dtype type, size_t rank,
                     const uint64_t *shape, const void *bytes, uint64_t length)
{
    struct text head;

    text_init(&head);
    for (size_t i = 0; i < rank; i++)
        put_int(&head, TENSOR_DIMENSION, (int64_t)shape[i]);
    put_int(&head, TENSOR_TYPE, type_of(type));
    put_text(&head, TENSOR_NAME, name);
    put_key(&head, TENSOR_BYTES, BYTES);
    put_varint(&head, length);
    put_key(graph, GRAPH_TENSOR, BYTES);
    put_varint(graph, head.length + length);
    text_append_bytes(graph, head.data, head.length);
    text_append_bytes(graph, bytes, length); /* not through `head`: weights are copied once */
    text_finish(&head);
}

static void put_array(struct text *graph, int field, const char *name, enum dtype type, size_t rank,
                      const uint64_t *shape)
{
    struct text value, of, tensor, dimensions, dimension;

    text_init(&value);
    text_init(&of);
    text_init(&tensor);
    text_init(&dimensions);
    for (size_t i = 0; i < rank; i++) {
        text_init(&dimension);
        put_int(&dimension, 1, (int64_t)shape[i]);
        put_message(&dimensions, 1, &dimension);
    }
    put_int(&tensor, 1, type_of(type));
    put_message(&tensor, 2, &dimensions);
    put_message(&of, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &of);
    put_message(graph, field, &value);
}

void onnx_put_input(struct text *graph, const char *name, enum dtype type, size_t rank,
                    const uint64_t *shape)
{
    put_array(graph, GRAPH_INPUT, name, type, rank, shape);
}

void onnx_put_output(struct text *graph, const char *name, enum dtype type, size_t rank,
                     const uint64_t *shape)
{
    put_array(graph, GRAPH_OUTPUT, name, type, rank, shape);
}

static void put_attribute(struct text *node, const struct onnx_setting *attribute)
{
    struct text out;

    text_init(&out);
    put_text(&out, ATTRIBUTE_NAME, attribute->name);
    switch (attribute->type) {
    case ONNX_FLOATING:
        put_key(&out, ATTRIBUTE_FLOAT, FIXED32);
        text_append_bytes(&out, &attribute->f, sizeof(attribute->f));
        break;
    case ONNX_WHOLE:
        put_int(&out, ATTRIBUTE_INT, attribute->i);
        break;
    case ONNX_WORD:
        put_text(&out, ATTRIBUTE_TEXT, attribute->text);
        break;
    case ONNX_LIST:
        for (size_t i = 0; i < attribute->count; i++)
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

void onnx_put_node(struct text *graph, const char *operator, const char * inputs,
                   const char *outputs, const struct onnx_setting *attributes)
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

enum status onnx_write_check(uint64_t bytes, struct error *err)
{
    if (bytes < FORMAT_MAX)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "a model of more than 2 GiB does not fit into one file of ONNX: declare a "
                     "smaller one");
}

enum status onnx_write(struct text *graph, const char *name, struct text *ret, struct error *err)
{
    struct text operators;

    text_init(&operators);
    put_int(&operators, 2, OPERATORS);
    put_text(graph, GRAPH_NAME, name);
    put_int(ret, MODEL_IR, IR_VERSION);
    put_text(ret, MODEL_PRODUCER, "assay");
    put_message(ret, MODEL_OPERATORS, &operators);
    put_message(ret, MODEL_GRAPH, graph);
    return text_ok(ret) ? STATUS_OK : error_no_memory(err);
}
