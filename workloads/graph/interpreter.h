/* interpreter - a graph computed in fp64 on the host, node after node, as it is declared. */
#ifndef ASSAY_WORKLOADS_GRAPH_INTERPRETER_H
#define ASSAY_WORKLOADS_GRAPH_INTERPRETER_H

#include "workloads/graph/graph.h"

struct graph_interpreter;

/* The graph must outlive it and stay as it is. NO_MEMORY says how much was wanted. */
enum status graph_interpreter_create(const struct graph *graph, struct graph_interpreter **ret,
                                     struct error *err);
void graph_interpreter_destroy(struct graph_interpreter *interpreter); /* takes NULL */

/* The elements of a given value, borrowed. */
void graph_interpreter_give(struct graph_interpreter *interpreter, uint32_t value,
                            struct graph_array array);
/* The memory of a lent value, for its elements, borrowed. */
void graph_interpreter_lend(struct graph_interpreter *interpreter, uint32_t value, double *memory);

/* Nodes [first, end), behind those before them. INTERNAL: a value was neither given nor lent. */
enum status graph_interpreter_run(struct graph_interpreter *interpreter, size_t first, size_t end,
                                  struct error *err);

#endif
