/*
 * tensors - arrays in a file, in the safetensors format
 * (https://github.com/huggingface/safetensors#format): the length of a header in 8 bytes, little
 * endian; the header, a JSON object {name: {"dtype", "shape", "data_offsets"}}; the data, which the
 * offsets count from.
 */
#ifndef ASSAY_CORE_TENSORS_H
#define ASSAY_CORE_TENSORS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/precision.h"
#include "harness/core/status.h"

#define TENSOR_NAME_MAX 64
#define TENSOR_RANK_MAX 4

struct tensor {
    char name[TENSOR_NAME_MAX];
    enum dtype type;
    size_t rank;
    uint64_t shape[TENSOR_RANK_MAX];
    void *data;     /* in the file, mapped; read-only where the file was opened */
    uint64_t bytes; /* of the data */
    uint64_t offset;
};

struct tensors {
    struct tensor *items; /* heap */
    size_t count;
    void *map;
    uint64_t size; /* of the file */
};

/* A tensor to be written: its name, type and shape. */
struct tensor tensor_new(const char *name, enum dtype type, size_t rank, const uint64_t *shape);
uint64_t tensor_elements(const struct tensor *tensor);

/*
 * Makes a file with room for `count` tensors; their data, zeros at first, is written through
 * `items`. UNSUPPORTED: the format has no such type. tensors_close in any case.
 */
enum status tensors_create(const char *path, const struct tensor *items, size_t count,
                           struct tensors *ret, struct error *err);
/* Opens one that another program may have written. CORRUPT says what is wrong with it. */
enum status tensors_open(const char *path, struct tensors *ret, struct error *err);
void tensors_close(struct tensors *tensors);

/*
 * The tensor of that name and shape; `type` or, where it is another, `other`. CHECK_FAILED: there
 * is none, or it is another one; says which.
 */
enum status tensors_find(const struct tensors *tensors, const char *name, enum dtype type,
                         enum dtype other, size_t rank, const uint64_t *shape,
                         const struct tensor **ret, struct error *err);

/* {name: {"dtype": "F32", "shape": [...], "offset": in the file, "bytes"}}; new object. */
json_t *tensors_json(const struct tensors *tensors);

#endif
