/*
 * graph - a computation as nodes, each an operator of a table, over values; and its derivative.
 *
 * Nodes lie in an order in which they can be run. Every node writes values of its own: a gradient
 * that several readers of a value add to is one value after each of them, and where those lie is
 * the planner's matter (plan.h). Names are for messages.
 */
#ifndef ASSAY_WORKLOADS_GRAPH_GRAPH_H
#define ASSAY_WORKLOADS_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

#define GRAPH_NONE UINT32_MAX
#define GRAPH_NAME_MAX 48
#define GRAPH_RANK_MAX 4
#define GRAPH_INPUTS_MAX 5
#define GRAPH_OUTPUTS_MAX 3

/* Row-major; a vector has rank 1. */
struct graph_shape {
    uint64_t of[GRAPH_RANK_MAX];
    uint32_t rank;
};

enum graph_role {
    GRAPH_INDICES,   /* i32, given */
    GRAPH_PARAMETER, /* f32, given */
    GRAPH_INPUT,     /* f64 in the reference, given */
    GRAPH_COMPUTED,
};

struct graph_value {
    char name[GRAPH_NAME_MAX];
    enum graph_role role;
    struct graph_shape shape;
    uint64_t count;    /* elements */
    uint32_t writer;   /* a node; GRAPH_NONE: given */
    uint32_t gradient; /* the latest value of it; GRAPH_NONE: it has none yet */
    /*
     * Its memory is the caller's, and holds it until a node that may work in place, and is its last
     * reader, writes there.
     */
    bool lent;
};

/* What operators know besides their inputs; each names those that it has (operators.h). */
struct graph_attributes {
    uint64_t length; /* positions of a sequence; rows are those of one sequence after another */
    uint64_t first;  /* the position of a sequence's first row */
    uint64_t page;   /* positions of a block of a cache */
    uint64_t heads, kv_heads; /* of queries; of keys and values */
    uint64_t experts, top;    /* of a mixture; of those, a row's */
    double epsilon;
    double rope;     /* the base of the angles */
    bool inverse;    /* angles the other way round */
    bool transposed; /* the weight lies as (outputs, inputs) */
};

struct graph_op;
struct graph_node {
    const struct graph_op *op;
    struct graph_attributes attributes;
    uint32_t in[GRAPH_INPUTS_MAX], out[GRAPH_OUTPUTS_MAX];
    size_t in_count, out_count;
    uint32_t onto; /* a value that is added to the first output; GRAPH_NONE: none */
};

struct graph {
    struct graph_value *values;
    struct graph_node *nodes;
    size_t value_count, value_capacity, node_count, node_capacity;
};

enum status graph_create(struct graph **ret, struct error *err);
void graph_destroy(struct graph *graph); /* takes NULL */

/* A given value. INVALID: it has no elements, or more than 2^48. */
enum status graph_give(struct graph *graph, enum graph_role role, const char *name,
                       struct graph_shape shape, uint32_t *ret, struct error *err);
/*
 * A node; `ret` is its first output, and the others follow. INVALID, with node, operator and
 * shapes, where the inputs do not fit. `name` is the first output's.
 */
enum status graph_add(struct graph *graph, const struct graph_op *op,
                      struct graph_attributes attributes, const char *name, const uint32_t *in,
                      size_t count, uint32_t *ret, struct error *err);
void graph_lend(struct graph *graph, uint32_t value); /* sets `lent` */

/*
 * Adds the nodes of the gradient of `value` with respect to all that it is computed from, from the
 * last node to the first. `seed` is the gradient of `value` itself; GRAPH_NONE where its operator
 * takes it as 1 (a loss). INVALID: an operator on the way has no derivative.
 */
enum status graph_backward(struct graph *graph, uint32_t value, uint32_t seed, struct error *err);

/* ---- for operators ---- */

struct graph_array { /* of a value; one of them */
    const double *f64;
    const float *f32;
    const int32_t *i32;
};

/* A node that is run. `adds`: the first output holds what the result is added to. */
struct graph_step {
    const struct graph *graph;
    const struct graph_node *node;
    struct graph_array in[GRAPH_INPUTS_MAX];
    double *out[GRAPH_OUTPUTS_MAX];
    bool adds;
};

/* An operator: a row of the table. */
struct graph_op {
    const char *name;
    const char *formula;
    size_t in_least, in_most, outputs;
    bool in_place; /* the first output may lie where the first input does */
    /* Shapes of the outputs; INVALID, with what does not fit: graph_add says where. */
    enum status (*shape)(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err);
    /*
     * Adds the nodes that make gradients of its inputs from those of its outputs, by the functions
     * below. NULL: it has no derivative, or its own would be a second one.
     */
    enum status (*backward)(struct graph *graph, struct graph_node node, struct error *err);
    /*
     * Of its products: 2 m n k of a GEMM; of attention the unmasked pairs alone. NULL: none. At
     * most UINT64_MAX.
     */
    uint64_t (*flops)(const struct graph *graph, const struct graph_node *node);
    /* The outputs in fp64. Sums run in one order, whatever the number of threads. */
    enum status (*reference)(const struct graph_step *step, struct error *err);
};

const struct graph_value *graph_input(const struct graph *graph, const struct graph_node *node,
                                      size_t index);
/* Dimension `index` of a value, from the last one for -1. */
uint64_t graph_size(const struct graph_value *value, int index);
/* The product of three, and 2; at most UINT64_MAX. */
uint64_t graph_flops_of(uint64_t a, uint64_t b, uint64_t c);
/* INVALID: an input is not of the rank. */
enum status graph_check_rank(const struct graph *graph, const struct graph_node *node, size_t index,
                             uint32_t rank, struct error *err);

/*
 * Rows of q, k and v side by side, which input `index` is: INVALID unless the node's heads of
 * queries share those of keys and values, and all divide a row; then the elements of a head.
 */
enum status graph_check_heads(const struct graph *graph, const struct graph_node *node,
                              size_t index, struct error *err);
uint64_t graph_head_size(const struct graph *graph, const struct graph_node *node, size_t index);

/* For `shape`: that of two inputs, which have as many elements. */
enum status graph_shape_of_alike(const struct graph *graph, const struct graph_node *node,
                                 struct graph_shape *ret, struct error *err);
/* For `shape`: that of the first input. */
enum status graph_shape_of_first(const struct graph *graph, const struct graph_node *node,
                                 struct graph_shape *ret, struct error *err);
/* For `shape` of a gradient: an output for each of the inputs behind the first, of its shape. */
enum status graph_shape_of_operands(const struct graph *graph, const struct graph_node *node,
                                    struct graph_shape *ret, struct error *err);

/* The gradient that this one is added to; GRAPH_NONE: it is the first of its value. */
uint32_t graph_gradient_before(const struct graph *graph, uint32_t gradient);
/* The gradient of output `index`; GRAPH_NONE: none, as of a loss. */
uint32_t graph_gradient_of(const struct graph *graph, const struct graph_node *node, size_t index);
/*
 * A node whose outputs are gradients of the values `of` (GRAPH_NONE: an output that is none), onto
 * those that they have already.
 */
enum status graph_add_gradient(struct graph *graph, const struct graph_op *op,
                               struct graph_attributes attributes, const uint32_t *in, size_t count,
                               const uint32_t *of, struct error *err);
/* `gradient`, as it is, is one of `value`, besides those that it has. */
enum status graph_pass_gradient(struct graph *graph, uint32_t value, uint32_t gradient,
                                struct error *err);

#endif
