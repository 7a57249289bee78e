/* experts - what the operators of a mixture of experts (op_experts.c) share with who feeds them. */
#ifndef ASSAY_WORKLOADS_GRAPH_EXPERTS_H
#define ASSAY_WORKLOADS_GRAPH_EXPERTS_H

/* Weights of assign_experts are multiples of 1 / this: exact in each storage but bf16. */
#define GRAPH_ROUTING_UNIT 4096

#endif
