/* operators - the table of operators; each file of the table says what its inputs are. */
#ifndef ASSAY_WORKLOADS_GRAPH_OPERATORS_H
#define ASSAY_WORKLOADS_GRAPH_OPERATORS_H

#include "workloads/graph/graph.h"

/* Elements below which one thread is faster. */
#define GRAPH_WORTH_THREADS 30000

#define GRAPH_OPERATORS(X)                                                                         \
    X(add)                                                                                         \
    X(assign_experts)                                                                              \
    X(attention)                                                                                   \
    X(attention_cached)                                                                            \
    X(attention_gradient)                                                                          \
    X(choose_experts)                                                                              \
    X(choose_experts_gradient)                                                                     \
    X(column_sum)                                                                                  \
    X(combine_experts)                                                                             \
    X(combine_experts_gradient)                                                                    \
    X(cross_entropy)                                                                               \
    X(cross_entropy_gradient)                                                                      \
    X(embedding)                                                                                   \
    X(embedding_gradient)                                                                          \
    X(expert_product)                                                                              \
    X(expert_product_gradient)                                                                     \
    X(gate)                                                                                        \
    X(gate_gradient)                                                                               \
    X(gates_gradient)                                                                              \
    X(gelu)                                                                                        \
    X(gelu_gradient)                                                                               \
    X(head_norm)                                                                                   \
    X(head_norm_gradient)                                                                          \
    X(layer_norm)                                                                                  \
    X(layer_norm_gradient)                                                                         \
    X(linear)                                                                                      \
    X(position_gradient)                                                                           \
    X(rms_norm)                                                                                    \
    X(rms_norm_gradient)                                                                           \
    X(rope)                                                                                        \
    X(weight_gradient)

#define X(name) extern const struct graph_op graph_op_##name;
GRAPH_OPERATORS(X)
#undef X

#endif
