/*
 * cuda_dnn_graph - shared by the two parts of the stand-in for cuDNN's graph interface: descriptors
 * as sets of attributes, and the arithmetic of a finalized graph of them.
 */
#ifndef ASSAY_TESTS_GPU_SHIM_CUDA_DNN_GRAPH_H
#define ASSAY_TESTS_GPU_SHIM_CUDA_DNN_GRAPH_H

#include "backends/cuda/cudnn_graph.h"

#define SHIM_GRAPH_WORKSPACE ((int64_t)4096)

struct shim_attribute {
    unsigned name, type;
    int64_t count;
    void *elements;
    struct shim_attribute *next;
};

struct shim_descriptor {
    unsigned kind;
    bool finalized;
    struct shim_attribute *attributes;
    int64_t index; /* of a configuration: which of those listed */
};

/* Elements of an attribute and their number; NULL where it was not set. */
const void *shim_attribute(const struct shim_descriptor *descriptor, unsigned name,
                           int64_t *ret_count);
/* The one descriptor that an attribute names; NULL where it was not set. */
const struct shim_descriptor *shim_link(const struct shim_descriptor *descriptor, unsigned name);
int64_t shim_int64(const struct shim_descriptor *descriptor, unsigned name);
unsigned shim_word(const struct shim_descriptor *descriptor, unsigned name, unsigned otherwise);

/*
 * Computes every operation of a graph, in their order, in fp64, each result rounded to its
 * tensor's type, and writes those that are not virtual. Waits for what was enqueued.
 */
unsigned shim_graph_execute(const struct shim_descriptor *graph,
                            const struct shim_descriptor *pack);

#endif
