/* gpt2_graph - the model as a graph: forward, mean loss and, when training, gradients. */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_GRAPH_H
#define ASSAY_WORKLOADS_MODELS_GPT2_GRAPH_H

#include "workloads/graph/graph.h"
#include "workloads/models/gpt2.h"

/* The embedding, as many nodes for each layer, the final norm and the head, then the loss. */
#define GPT2_LAYER_NODES 10
#define GPT2_HEAD_NODES 2

/* Its first values are the parameters, in the order of gpt2_tensor_at. */
struct gpt2_graph {
    struct graph *graph;
    uint32_t tokens, targets; /* (rows), rows of one sequence after another */
    uint32_t logits;          /* (rows, vocabulary), lent; gone when training, with the gradients */
    uint32_t loss;            /* (1), lent */
    size_t loss_node;         /* nodes before it: forward; behind it: backward */
};

/* When training, each parameter's gradient is lent. */
enum status gpt2_graph_init(struct gpt2_graph *ret, const struct gpt2_shape *shape,
                            uint64_t sequences, uint64_t length, bool training, struct error *err);
void gpt2_graph_finish(struct gpt2_graph *graph);

#endif
