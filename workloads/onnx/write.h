/*
 * write - an ONNX file (onnx.ai, onnx.proto; version 20 of the operators) as it is written:
 * tensors, inputs, outputs and nodes are appended to a text, in any order, and the file is made of
 * it. Where there is no memory, the text is not ok.
 */
#ifndef ASSAY_WORKLOADS_ONNX_WRITE_H
#define ASSAY_WORKLOADS_ONNX_WRITE_H

#include "backends/backend.h"
#include "harness/core/precision.h"
#include "harness/core/text.h"
#include "workloads/onnx/model.h"

/* A constant, whose `length` bytes lie row by row. Types: f64, f32, bf16, i32, i64. */
void onnx_put_tensor(struct text *graph, const char *name, enum dtype type, size_t rank,
                     const uint64_t *shape, const void *bytes, uint64_t length);
/* The arrays that a model is run on, as its inputs and outputs. */
void onnx_put_arrays(struct text *graph, const struct framework_model *model);
/*
 * Names are separated by blanks; a node is called by its first output. Attributes end with one
 * without a name; NULL: none.
 */
void onnx_put_node(struct text *graph, const char *operator, const char * inputs,
                   const char *outputs, const struct onnx_attribute *attributes);
/* INVALID: so many bytes of tensors are more than the 2 GiB that the format holds. */
enum status onnx_write_check(uint64_t bytes, struct error *err);
/* The file of a graph, which is freed, appended to `ret`. */
enum status onnx_write(struct text *graph, const char *name, struct text *ret, struct error *err);

#endif
