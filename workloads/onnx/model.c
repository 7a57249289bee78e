/* A message is read twice, once to count what repeats. */
#include "workloads/onnx/model.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "workloads/data/element.h"

#define NAME_MAX_BYTES 1024
#define LIST_MAX 4096 /* whole numbers in an attribute */

/* What was allocated, to be freed together. */
struct block {
    struct block *next;
};

/* A message, or what is left of it. */
struct reader {
    struct onnx_bytes rest;
    struct onnx_model *model;
    bool *failed; /* no memory */
    bool *broken; /* not the format */
};

static void *allocate(struct reader *reader, size_t count, size_t size)
{
    struct block *block =
        count < SIZE_MAX / 2 / size ? calloc(1, sizeof(*block) + count * size) : NULL;

    if (!block) {
        *reader->failed = true;
        return NULL;
    }
    block->next = reader->model->memory;
    reader->model->memory = block;
    return block + 1;
}

static bool next_field(struct reader *reader, struct protobuf_field *ret)
{
    return !*reader->broken && !*reader->failed &&
           protobuf_next(&reader->rest, ret, reader->broken);
}

static struct reader inside(const struct reader *reader, const struct protobuf_field *field)
{
    struct reader inner = *reader;

    inner.rest = field->bytes;
    if (field->kind != PROTOBUF_BYTES)
        *reader->broken = true;
    return inner;
}

static size_t count_fields(struct reader reader, int number)
{
    struct protobuf_field field;
    size_t count = 0;

    while (next_field(&reader, &field))
        count += field.number == number;
    return count;
}

static const char *copy_name(struct reader *reader, const struct protobuf_field *field)
{
    const bool fits = field->bytes.length <= NAME_MAX_BYTES;
    char *name = fits ? allocate(reader, field->bytes.length + 1, 1) : NULL;

    /* Names are shown to people. */
    for (size_t i = 0; i < field->bytes.length && fits; i++)
        *reader->broken |= field->bytes.at[i] < ' ' || field->bytes.at[i] == 0x7f;
    *reader->broken |= !fits || !text_is_utf8(field->bytes.at, field->bytes.length);
    if (name)
        memcpy(name, field->bytes.at, field->bytes.length);
    return name ? name : "";
}

/* A repeated integer: packed, or one a field. */
static void take_whole(struct reader *reader, const struct protobuf_field *field, int64_t *list,
                       size_t capacity, size_t *count)
{
    struct onnx_bytes rest = field->bytes;
    uint64_t value = field->value;

    do {
        if (field->kind == PROTOBUF_BYTES &&
            (rest.length == 0 || !protobuf_take_varint(&rest, &value))) {
            *reader->broken |= rest.length > 0;
            return;
        }
        if (*count == capacity) {
            *reader->broken = true;
            return;
        }
        list[(*count)++] = (int64_t)value;
    } while (field->kind == PROTOBUF_BYTES);
}

/* A repeated number of 32 bits: packed, or one a field. */
static void take_numbers(struct reader *reader, const struct protobuf_field *field, float *list,
                         size_t capacity, size_t *count)
{
    const size_t more = field->bytes.length / sizeof(*list);

    if ((field->kind != PROTOBUF_BYTES && field->kind != PROTOBUF_FIXED32) ||
        more > capacity - *count || field->bytes.length % sizeof(*list) != 0) {
        *reader->broken = true;
        return;
    }
    memcpy(list + *count, field->bytes.at, field->bytes.length);
    *count += more;
}

/* A key and a value of TensorProto.external_data; numbers are written as text. */
static void read_external(struct reader reader, struct onnx_external *external)
{
    const char *key = "", *value = "";
    struct protobuf_field field;
    uint64_t number = 0;

    while (next_field(&reader, &field)) {
        if (field.number == 1)
            key = copy_name(&reader, &field);
        else if (field.number == 2)
            value = copy_name(&reader, &field);
    }
    if (!strcmp(key, "location"))
        external->location = value;
    else if (!strcmp(key, "offset") || !strcmp(key, "length"))
        external->broken |= !text_parse_u64(value, &number);
    if (!strcmp(key, "offset"))
        external->offset = number;
    external->has_length |= !strcmp(key, "length");
    if (!strcmp(key, "length"))
        external->length = number;
}

static struct onnx_tensor read_tensor(struct reader reader)
{
    struct onnx_tensor tensor = {.name = "", .elements = 1, .external = {.location = ""}};
    int64_t shape[ONNX_RANK_MAX];
    struct protobuf_field field;

    while (next_field(&reader, &field))
        switch (field.number) {
        case 1:
            take_whole(&reader, &field, shape, ONNX_RANK_MAX, &tensor.rank);
            break;
        case 2:
            tensor.type = (int)field.value;
            break;
        case 4:
            tensor.floats = field.bytes;
            break;
        case 5:
        case 7:
            tensor.ints = field.bytes;
            break;
        case 8:
            tensor.name = copy_name(&reader, &field);
            break;
        case 9:
            tensor.raw = field.bytes;
            break;
        case 13:
            read_external(inside(&reader, &field), &tensor.external);
            break;
        case 14:
            tensor.unread = field.value ? "its values lie in another file" : tensor.unread;
            break;
        }
    for (size_t i = 0; i < tensor.rank; i++) {
        if (shape[i] < 0 || (shape[i] > 0 && tensor.elements > ONNX_FILE_MAX / (uint64_t)shape[i]))
            *reader.broken = true;
        tensor.shape[i] = (uint64_t)shape[i];
        tensor.elements *= *reader.broken ? 0 : tensor.shape[i];
    }
    return tensor;
}

/* Of a graph within a node no more is read than whether its tensors lie in other files. */
static void read_inner_graph(struct reader reader)
{
    struct protobuf_field field;

    while (next_field(&reader, &field))
        if (field.number == 5 && read_tensor(inside(&reader, &field)).unread)
            reader.model->lies_deeper = true;
}

static struct onnx_attribute read_attribute(struct reader reader)
{
    struct onnx_attribute attribute = {.name = "", .word = ""};
    /* A packed list has fewer numbers than bytes. */
    const size_t capacity = reader.rest.length < LIST_MAX ? reader.rest.length : LIST_MAX;
    int64_t *list = NULL;
    struct protobuf_field field;

    while (next_field(&reader, &field))
        switch (field.number) {
        case 1:
            attribute.name = copy_name(&reader, &field);
            break;
        case 2:
            if (field.bytes.length == sizeof(attribute.number))
                memcpy(&attribute.number, field.bytes.at, sizeof(attribute.number));
            break;
        case 3:
            attribute.whole = (int64_t)field.value;
            break;
        case 4:
            attribute.word = copy_name(&reader, &field);
            break;
        case 5:
            attribute.tensor = allocate(&reader, 1, sizeof(*attribute.tensor));
            if (attribute.tensor)
                *attribute.tensor = read_tensor(inside(&reader, &field));
            reader.model->lies_deeper |= attribute.tensor && attribute.tensor->unread;
            break;
        case 6:
        case 11:
            read_inner_graph(inside(&reader, &field));
            break;
        case 7:
            if (!attribute.numbers)
                attribute.numbers = allocate(&reader, capacity, sizeof(*attribute.numbers));
            if (attribute.numbers)
                take_numbers(&reader, &field, attribute.numbers, capacity, &attribute.number_count);
            break;
        case 8:
            if (!list)
                attribute.list = list = allocate(&reader, capacity, sizeof(*list));
            if (list)
                take_whole(&reader, &field, list, capacity, &attribute.count);
            break;
        }
    return attribute;
}

static struct onnx_node read_node(struct reader reader)
{
    struct onnx_node node = {.operator= "", .name = "", .domain = ""};
    struct protobuf_field field;

    node.inputs = allocate(&reader, count_fields(reader, 1) + 1, sizeof(*node.inputs));
    node.outputs = allocate(&reader, count_fields(reader, 2) + 1, sizeof(*node.outputs));
    node.attributes = allocate(&reader, count_fields(reader, 5) + 1, sizeof(*node.attributes));
    while (next_field(&reader, &field))
        switch (field.number) {
        case 1:
            node.inputs[node.input_count++] = copy_name(&reader, &field);
            break;
        case 2:
            node.outputs[node.output_count++] = copy_name(&reader, &field);
            break;
        case 3:
            node.name = copy_name(&reader, &field);
            break;
        case 4:
            node.operator= copy_name(&reader, &field);
            break;
        case 5:
            node.attributes[node.attribute_count++] = read_attribute(inside(&reader, &field));
            break;
        case 7:
            node.domain = copy_name(&reader, &field);
            break;
        }
    return node;
}

/* ValueInfoProto: name, and type -> tensor -> element type, shape -> dimension -> value. */
static struct onnx_value read_value(struct reader reader)
{
    struct onnx_value value = {.name = ""};
    struct protobuf_field field;

    while (next_field(&reader, &field)) {
        if (field.number == 1)
            value.name = copy_name(&reader, &field);
        if (field.number != 2)
            continue;
        for (struct reader of = inside(&reader, &field); next_field(&of, &field);)
            for (struct reader type = inside(&of, &field); next_field(&type, &field);) {
                if (field.number == 1 && field.kind == PROTOBUF_VARINT)
                    value.type = (int)field.value;
                if (field.number != 2)
                    continue;
                for (struct reader shape = inside(&type, &field); next_field(&shape, &field);) {
                    struct reader dimension = inside(&shape, &field);

                    if (value.rank == ONNX_RANK_MAX) {
                        *reader.broken = true;
                        break;
                    }
                    while (next_field(&dimension, &field))
                        if (field.number == 1 && (int64_t)field.value > 0)
                            value.shape[value.rank] = field.value;
                    value.rank++;
                }
            }
    }
    return value;
}

static void read_graph(struct reader reader)
{
    struct onnx_model *model = reader.model;
    struct protobuf_field field;

    model->nodes = allocate(&reader, count_fields(reader, 1) + 1, sizeof(*model->nodes));
    model->tensors = allocate(&reader, count_fields(reader, 5) + 1, sizeof(*model->tensors));
    model->inputs = allocate(&reader, count_fields(reader, 11) + 1, sizeof(*model->inputs));
    model->outputs = allocate(&reader, count_fields(reader, 12) + 1, sizeof(*model->outputs));
    while (next_field(&reader, &field))
        switch (field.number) {
        case 1:
            model->nodes[model->node_count++] = read_node(inside(&reader, &field));
            break;
        case 5:
            model->tensors[model->tensor_count++] = read_tensor(inside(&reader, &field));
            break;
        case 11:
            model->inputs[model->input_count++] = read_value(inside(&reader, &field));
            break;
        case 12:
            model->outputs[model->output_count++] = read_value(inside(&reader, &field));
            break;
        }
}

/* An initializer may be listed as an input, too, whose default it is. */
static void leave_defaults_out(struct onnx_model *model)
{
    size_t kept = 0;

    for (size_t i = 0; i < model->input_count; i++)
        if (!onnx_model_tensor(model, model->inputs[i].name))
            model->inputs[kept++] = model->inputs[i];
    model->input_count = kept;
}

enum status onnx_model_read(const void *bytes, size_t length, struct onnx_model *ret,
                            struct error *err)
{
    struct onnx_model model = {0};
    bool failed = false, broken = false;
    struct reader reader = {{bytes, length}, &model, &failed, &broken};
    struct protobuf_field field;

    while (next_field(&reader, &field)) {
        if (field.number == 7 && model.nodes)
            broken = true;
        else if (field.number == 7)
            read_graph(inside(&reader, &field));
        else if (field.number == 8) {
            struct reader set = inside(&reader, &field);
            bool own = true;
            int64_t version = 0;

            while (next_field(&set, &field)) {
                own &= field.number != 1 || field.bytes.length == 0;
                version = field.number == 2 ? (int64_t)field.value : version;
            }
            model.operators = own ? version : model.operators;
        }
    }
    if (failed || broken || model.node_count == 0 || model.output_count == 0) {
        onnx_model_finish(&model);
        return failed
                   ? error_no_memory(err)
                   : error_set(err, STATUS_CORRUPT, "it is no ONNX file, or one that is cut off");
    }
    leave_defaults_out(&model);
    *ret = model;
    return STATUS_OK;
}

void onnx_model_finish(struct onnx_model *model)
{
    struct block *block = model->memory;

    while (block) {
        struct block *next = block->next;

        free(block);
        block = next;
    }
    *model = (struct onnx_model){0};
}

const struct onnx_tensor *onnx_model_tensor(const struct onnx_model *model, const char *name)
{
    for (size_t i = 0; i < model->tensor_count; i++)
        if (!strcmp(model->tensors[i].name, name))
            return &model->tensors[i];
    return NULL;
}

const struct onnx_attribute *onnx_node_attribute(const struct onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name))
            return &node->attributes[i];
    return NULL;
}

/* Element types; bf16 is written alone. */
static const struct {
    int number;
    enum dtype type;
} types[] = {{ONNX_FLOAT, DTYPE_F32}, {ONNX_INT32, DTYPE_I32},  {ONNX_INT64, DTYPE_I64},
             {ONNX_BOOL, DTYPE_I8},   {ONNX_DOUBLE, DTYPE_F64}, {ONNX_BFLOAT16, DTYPE_BF16}};

#define TYPES (sizeof(types) / sizeof(types[0]))

int onnx_type_of(enum dtype type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].number;
    return 0;
}

bool onnx_type_is_whole(int type)
{
    return type == ONNX_INT32 || type == ONNX_INT64 || type == ONNX_BOOL;
}

size_t onnx_type_size(int type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].number == type && type != ONNX_BFLOAT16)
            return dtype_bits(types[i].type) / 8;
    return 0;
}

/* Of a tensor that passed; values lie at any address. */
static double raw_value(int type, const uint8_t *at)
{
    uint64_t cell = 0;

    memcpy(&cell, at, onnx_type_size(type));
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].number == type && type != ONNX_BOOL)
            return element_decode(types[i].type, &cell, 0);
    return *at;
}

static enum status unreadable(const struct onnx_tensor *tensor, const char *why, struct error *err)
{
    return error_set(err, STATUS_UNSUPPORTED, "the tensor \"%s\" cannot be read: %s", tensor->name,
                     why);
}

/* A type's own field has its values, or raw_data. A field without any is one that is not there. */
enum status onnx_tensor_check(const struct onnx_tensor *tensor, struct error *err)
{
    const size_t size = onnx_type_size(tensor->type);
    struct onnx_bytes ints = tensor->ints;
    uint64_t count = 0, value;
    char why[96];

    if (tensor->unread)
        return unreadable(tensor, tensor->unread, err);
    if (size == 0) {
        snprintf(why, sizeof(why),
                 "its values are of type number %d of ONNX, which the reference "
                 "in fp64 does not read",
                 tensor->type);
        return unreadable(tensor, why, err);
    }
    if (tensor->raw.length > 0)
        count = tensor->raw.length % size == 0 ? tensor->raw.length / size : UINT64_MAX;
    else if (tensor->type == ONNX_FLOAT)
        count = tensor->floats.length % size == 0 ? tensor->floats.length / size : UINT64_MAX;
    else if (tensor->type != ONNX_DOUBLE)
        while (protobuf_take_varint(&ints, &value))
            count++;
    if (count == tensor->elements)
        return STATUS_OK;
    snprintf(why, sizeof(why), "it has %llu values for %llu elements", (unsigned long long)count,
             (unsigned long long)tensor->elements);
    return unreadable(tensor, count == UINT64_MAX ? "its values are cut off" : why, err);
}

enum status onnx_tensor_values(const struct onnx_tensor *tensor, double *ret, struct error *err)
{
    const struct onnx_bytes from = tensor->raw.length > 0 ? tensor->raw : tensor->floats;
    const bool varints = tensor->raw.length == 0 && tensor->type != ONNX_FLOAT;
    struct onnx_bytes ints = tensor->ints;

    TRY(onnx_tensor_check(tensor, err));
    for (uint64_t i = 0; i < tensor->elements; i++) {
        uint64_t value = 0;

        if (varints && protobuf_take_varint(&ints, &value))
            ret[i] = (double)(int64_t)value;
        else
            ret[i] = raw_value(tensor->type, from.at + i * onnx_type_size(tensor->type));
    }
    return STATUS_OK;
}
