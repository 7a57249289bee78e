/* The numbers are those of onnx.proto. */
#include "workloads/onnx/write.h"

#include <string.h>

#define IR_VERSION 9
#define OPERATORS 20
#define FORMAT_MAX (((uint64_t)1 << 31) - ((uint64_t)1 << 20)) /* of tensors, beside the nodes */

/* ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPERATORS = 8 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OPERATOR = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_INT = 3, ATTRIBUTE_TEXT = 4 };
enum { ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TENSOR_DIMENSION = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };

static void put_bytes(struct text *out, int field, const void *bytes, size_t length)
{
    protobuf_put_head(out, field, length);
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

void onnx_put_tensor(struct text *graph, const char *name, enum dtype type, size_t rank,
                     const uint64_t *shape, const void *bytes, uint64_t length)
{
    struct text head = TEXT_INIT;

    for (size_t i = 0; i < rank; i++)
        protobuf_put_number(&head, TENSOR_DIMENSION, shape[i]);
    protobuf_put_number(&head, TENSOR_TYPE, (uint64_t)onnx_type_of(type));
    put_text(&head, TENSOR_NAME, name);
    protobuf_put_head(&head, TENSOR_BYTES, length);
    protobuf_put_head(graph, GRAPH_TENSOR, head.length + length);
    text_append_bytes(graph, head.data, head.length);
    text_append_bytes(graph, bytes, length); /* not through `head`: weights are copied once */
    text_finish(&head);
}

/* ValueInfoProto: name, and type -> tensor -> element type, shape -> dimension -> value. */
static void put_array(struct text *graph, int field, const struct framework_array *array)
{
    struct text value = TEXT_INIT, of = TEXT_INIT, tensor = TEXT_INIT, dimensions = TEXT_INIT;

    for (size_t i = 0; i < array->rank; i++) {
        struct text dimension = TEXT_INIT;

        protobuf_put_number(&dimension, 1, (uint64_t)array->shape[i]);
        put_message(&dimensions, 1, &dimension);
    }
    protobuf_put_number(&tensor, 1, (uint64_t)onnx_type_of(array->type));
    put_message(&tensor, 2, &dimensions);
    put_message(&of, 1, &tensor);
    put_text(&value, 1, array->name);
    put_message(&value, 2, &of);
    put_message(graph, field, &value);
}

void onnx_put_arrays(struct text *graph, const struct framework_model *model)
{
    for (size_t i = 0; i < model->input_count; i++)
        put_array(graph, GRAPH_INPUT, &model->inputs[i]);
    for (size_t i = 0; i < model->output_count; i++)
        put_array(graph, GRAPH_OUTPUT, &model->outputs[i]);
}

static void put_attribute(struct text *node, const struct onnx_attribute *attribute)
{
    struct text out = TEXT_INIT;

    put_text(&out, ATTRIBUTE_NAME, attribute->name);
    switch (attribute->type) {
    case ONNX_NUMBER:
        text_append_char(&out, (char)(ATTRIBUTE_FLOAT << 3 | PROTOBUF_FIXED32));
        text_append_bytes(&out, &attribute->number, sizeof(attribute->number));
        break;
    case ONNX_WHOLE:
        protobuf_put_number(&out, ATTRIBUTE_INT, (uint64_t)attribute->whole);
        break;
    case ONNX_WORD:
        put_text(&out, ATTRIBUTE_TEXT, attribute->word);
        break;
    case ONNX_LIST:
        for (size_t i = 0; i < attribute->count; i++)
            protobuf_put_number(&out, ATTRIBUTE_INTS, (uint64_t)attribute->list[i]);
    }
    protobuf_put_number(&out, ATTRIBUTE_TYPE, attribute->type);
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
                   const char *outputs, const struct onnx_attribute *attributes)
{
    struct text node = TEXT_INIT;

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
    struct text operators = TEXT_INIT;

    protobuf_put_number(&operators, 2, OPERATORS);
    put_text(graph, GRAPH_NAME, name);
    protobuf_put_number(ret, MODEL_IR, IR_VERSION);
    put_text(ret, MODEL_PRODUCER, "assay");
    put_message(ret, MODEL_OPERATORS, &operators);
    put_message(ret, MODEL_GRAPH, graph);
    return text_ok(ret) ? STATUS_OK : error_no_memory(err);
}
