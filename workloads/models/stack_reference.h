/*
 * stack_reference - a stack in fp64 on the host: what device results are checked against.
 *
 * It reads the very fp32 parameters of the device (its master weights where it has narrow ones), so
 * a difference is what arithmetic and storage lose. It interprets the stack's graph, and is itself
 * checked by finite differences, against values of PyTorch and against GPT-2's passes written by
 * hand (tests/unit/test_stack.c, test_model_golden.c, test_graph.c).
 */
#ifndef ASSAY_WORKLOADS_MODELS_STACK_REFERENCE_H
#define ASSAY_WORKLOADS_MODELS_STACK_REFERENCE_H

#include "harness/core/precision.h"
#include "harness/core/random.h"
#include "workloads/graph/interpreter.h"
#include "workloads/models/stack.h"

/* May be read by all; arrays are owned by the struct. */
struct stack_reference {
    struct stack_graph graph;
    struct stack_layout layout; /* of the weights that it is given */
    struct graph_interpreter *interpreter;
    uint64_t rows, columns; /* of the output */
    double *out;            /* after forward; NULL: not wanted */
    double loss;            /* mean cross-entropy in nats after forward with targets */
    double **gradients;     /* after backward, by parameter of the layout; NULL: not wanted */
};

/* What of it is kept. */
struct stack_wanted {
    uint64_t align; /* of the layout, as stack_layout_init takes it */
    bool out;
    uint64_t gradients;    /* elements of gradients at most, of whole parameters */
    struct random *random; /* draws the first of them; NULL: the first of the layout */
};

/*
 * Takes the graph over, on failure, too: one with gradients where those are wanted. NO_MEMORY says
 * how much was wanted.
 */
enum status stack_reference_create(struct stack_graph *graph, const struct stack_wanted *wanted,
                                   struct stack_reference **ret, struct error *err);
void stack_reference_destroy(struct stack_reference *reference); /* takes NULL */
/* The same for CLEANUP. */
void stack_reference_drop(struct stack_reference **reference);

/*
 * Weights in its layout, and tokens; targets may be NULL, and weights that are given otherwise.
 * Borrowed until the passes have run.
 */
void stack_reference_give(struct stack_reference *reference, const float *weights,
                          const int32_t *tokens, const int32_t *targets);
/* Gives them, and makes the output of every position; the loss too when there are targets. */
enum status stack_reference_forward(struct stack_reference *reference, const float *weights,
                                    const int32_t *tokens, const int32_t *targets,
                                    struct error *err);
/* Gradients of the mean loss; after forward with targets, whose output it uses up. */
enum status stack_reference_backward(struct stack_reference *reference, struct error *err);

/*
 * Bounds of the normalised RMS error against the reference at the weights before any rounding, the
 * loss's relative to it. Each array on the way rounds once, and a uniform rounding has an RMS of
 * 0.4 of the unit roundoff u. These roundings are independent, so an output that n of them lead to
 * is off by about 0.4 u sqrt(n): the bounds are 4 times that for outputs, 5 times for gradients,
 * whose path is twice as long, and fp32's own on top. The loss is a mean over tokens: what differs
 * from token to token shrinks with the root of their number, and half a u is left for what does
 * not.
 */
struct stack_tolerance {
    double out, loss, gradient; /* of each parameter */
    const char *reason, *loss_reason;
};
struct stack_tolerance stack_tolerance_of(enum precision precision, enum dtype storage,
                                          uint64_t arrays, uint64_t tokens);
/* Those arrays: what each operator writes, forward, and each matrix. */
uint64_t stack_arrays(const struct stack_graph *graph);

#endif
