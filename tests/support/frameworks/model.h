/* model - what the stand-in for the frameworks is given, and how it is run. */
#ifndef ASSAY_TESTS_SUPPORT_FRAMEWORKS_MODEL_H
#define ASSAY_TESTS_SUPPORT_FRAMEWORKS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/models/gpt2_graph.h"
#include "workloads/onnx/reference.h"

/* Types of elements by ONNX's numbers. */
enum { FLOAT = 1, INT32 = 6, INT64 = 7, DOUBLE = 11, BFLOAT16 = 16 };

/* An array that assay bound: ONNX's number of its type. */
struct bound {
    char name[64];
    void *data;
    int type;
    struct onnx_array array;
};

struct model {
    void *bytes;
    float *widened[64]; /* tensors of bf16 */
    size_t widened_count;
    struct onnx_model graph;
    struct onnx_reference *other; /* of a model that is no GPT-2 */
    struct bound bound[64];
    size_t bound_count;
    struct gpt2_shape shape;
    uint64_t length;
    float *parameters;
    bool narrow;
    const int32_t *tokens;
    float *logits;
    uint64_t sequences;
    const int32_t *position; /* of generation; else NULL */
    unsigned runs;
};

/* Whether STAND_IN is that word. */
bool is_told(const char *word);
/* Bytes of an element. */
size_t size_of(int type);
/* Of the bytes of an ONNX file. */
struct model *read_model(const void *bytes, size_t length);
void free_model(struct model *model);
/* An array to be bound; heap. */
struct bound *new_bound(void *data, const int64_t *shape, size_t rank, int type);
/* In place of another of that name. */
void bind_array(struct model *model, const char *name, const struct bound *bound);
/* False: why_failed has the reason. */
bool run_model(struct model *model);
const char *why_failed(void);

#endif
