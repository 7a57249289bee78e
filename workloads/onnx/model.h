/*
 * model - an ONNX file (onnx.ai, onnx.proto) as it is read: its graph, for checks of a declaration
 * and for the fp64 reference. The file is untrusted: every length is checked.
 */
#ifndef ASSAY_WORKLOADS_ONNX_MODEL_H
#define ASSAY_WORKLOADS_ONNX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/precision.h"
#include "harness/core/status.h"
#include "workloads/onnx/protobuf.h"

#define ONNX_RANK_MAX 8
#define ONNX_FILE_MAX (((size_t)1 << 31) - 1) /* what one message of Protocol Buffers may have */

/* TensorProto.DataType. */
enum { ONNX_FLOAT = 1, ONNX_INT32 = 6, ONNX_INT64 = 7, ONNX_BOOL = 9, ONNX_DOUBLE = 11 };
enum { ONNX_BFLOAT16 = 16 };

/* Where a tensor says that its values lie, if in another file. */
struct onnx_external {
    const char *location; /* a path from the model's folder; "": not said */
    uint64_t offset, length;
    bool has_length;
    bool broken; /* a number is none */
};

struct onnx_tensor {
    const char *name;
    int type;
    size_t rank;
    uint64_t shape[ONNX_RANK_MAX];
    uint64_t elements;
    struct onnx_bytes raw, floats, ints; /* raw_data; float_data; int32_data or int64_data */
    const char *unread; /* why its values cannot be read: they lie elsewhere; NULL: they can */
    struct onnx_external external; /* then */
};

/* AttributeProto.AttributeType; of a file that is read it says nothing that the members do not. */
enum onnx_attribute_type { ONNX_NUMBER = 1, ONNX_WHOLE = 2, ONNX_WORD = 3, ONNX_LIST = 7 };

struct onnx_attribute {
    const char *name;
    enum onnx_attribute_type type; /* of one that is written */
    float number;
    int64_t whole;
    const char *word;
    const int64_t *list; /* ints */
    size_t count;
    float *numbers; /* floats */
    size_t number_count;
    struct onnx_tensor *tensor; /* NULL: it is none */
};

struct onnx_node {
    const char *operator, * name, *domain;
    const char **inputs, **outputs; /* "": left out */
    size_t input_count, output_count;
    struct onnx_attribute *attributes;
    size_t attribute_count;
};

/* An input or output: a dimension that the file leaves open is 0. */
struct onnx_value {
    const char *name;
    int type; /* 0: it is no tensor */
    size_t rank;
    uint64_t shape[ONNX_RANK_MAX];
};

struct onnx_model {
    int64_t operators; /* version of the operators of onnx.ai itself; 0: not said */
    struct onnx_node *nodes;
    struct onnx_tensor *tensors; /* initializers */
    struct onnx_value *inputs, *outputs;
    size_t node_count, tensor_count, input_count, output_count;
    bool lies_deeper; /* a tensor within a node lies in another file */
    void *memory;     /* of all that */
};

/*
 * Reads the graph; names are copied, values of tensors lie in `bytes`, which stay as long as the
 * model. CORRUPT: it is no ONNX file. NO_MEMORY.
 */
enum status onnx_model_read(const void *bytes, size_t length, struct onnx_model *ret,
                            struct error *err);
void onnx_model_finish(struct onnx_model *model); /* takes a zeroed one */

/* NULL: there is none of that name. */
const struct onnx_tensor *onnx_model_tensor(const struct onnx_model *model, const char *name);
const struct onnx_attribute *onnx_node_attribute(const struct onnx_node *node, const char *name);
/* ONNX's number of a type; 0: it has none here. */
int onnx_type_of(enum dtype type);
/* Whether values of an element type are whole numbers, or truth values. */
bool onnx_type_is_whole(int type);
/* Bytes of an element; 0: of a type that is not read here. */
size_t onnx_type_size(int type);
/* Whether its values can be read. UNSUPPORTED as below. */
enum status onnx_tensor_check(const struct onnx_tensor *tensor, struct error *err);
/* Its values as fp64, `elements` of them. UNSUPPORTED: their type, or they lie in another file. */
enum status onnx_tensor_values(const struct onnx_tensor *tensor, double *ret, struct error *err);

#endif
