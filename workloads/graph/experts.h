/* experts - what the operators of a mixture of experts share with their gradients and those who
 * feed them. */
#ifndef ASSAY_WORKLOADS_GRAPH_EXPERTS_H
#define ASSAY_WORKLOADS_GRAPH_EXPERTS_H

#include "workloads/graph/graph.h"

/* Weights of assign_experts are multiples of 1 / this: exact in each storage but bf16. */
#define GRAPH_ROUTING_UNIT 4096
#define GRAPH_TOP_MOST 64 /* experts of a row */

/* The number of a row's experts, at most `top`, by its gates; which they are in `ret`. */
uint64_t graph_experts_of(const double *gates, uint64_t experts, uint64_t top, uint64_t *ret);

/*
 * Backward of choose_experts, expert_product and combine_experts (op_experts_gradient.c), as
 * graph_op.backward.
 */
enum status graph_choose_backward(struct graph *graph, struct graph_node node, struct error *err);
enum status graph_product_backward(struct graph *graph, struct graph_node node, struct error *err);
enum status graph_combine_backward(struct graph *graph, struct graph_node node, struct error *err);

#endif
