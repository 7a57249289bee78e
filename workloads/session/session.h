/*
 * session - a graph on a device: where its values lie, and what its nodes launch.
 *
 * A pass has any number of rows up to what the places have room for; the graph's own number counts
 * for nothing here, only what a row has. Nodes that one launch does are one step, whose values in
 * between have no place. Everything enqueues and returns, except for session_poison.
 */
#ifndef ASSAY_WORKLOADS_SESSION_SESSION_H
#define ASSAY_WORKLOADS_SESSION_SESSION_H

#include "harness/core/random.h"
#include "workloads/graph/graph.h"
#include "workloads/ops/ops.h"
#include "workloads/ops/packed.h"
#include "workloads/trace.h"

/* Of a value; in elements. Values in one place have the same buffer and begin at the same element.
 */
struct session_place {
    struct buffer *buffer; /* NULL: it is not in memory */
    enum dtype type;
    uint64_t offset, by_row;  /* it begins at offset + by_row * rows of the pass */
    uint64_t columns, stride; /* of a row of its own, and from one to the next */
    uint64_t rows;      /* of its own, for one of the pass; 0: a pass does not write it whole */
    bool by_output;     /* it has a row for each output of a pass, not for each row */
    uint32_t last_read; /* the last node that uses it; set by session_prepare */
};

/* What checks of steps found. */
struct session_nodes {
    double error; /* the largest normalised RMS of a row */
    uint64_t compared;
    char worst[GRAPH_NAME_MAX]; /* what the node writes */
};

struct session;
/* What an operator launches. */
struct lowering {
    const struct graph_op *op;
    /* How many nodes it does in one launch, from this one on; 0: it does not take this one.
     * NULL: 1. */
    size_t (*takes)(const struct session *session, const struct graph_node *node);
    enum status (*launch)(struct session *session, const struct graph_node *node,
                          struct error *err);
    /* Makes a buffer that launches need; the session owns it, also on failure. NULL: none. */
    enum status (*prepare)(const struct session *session, const struct graph_node *node,
                           struct buffer **ret, struct error *err);
    bool in_place;   /* works on what it adds to, or on its first input (graph_op.in_place) */
    bool first_only; /* writes its node's first output alone; what reads the others makes them */
};

/* Called with the input of each GEMM that has a weight, `count` elements; may wait for the device.
 */
typedef enum status session_observe_fn(void *observer, struct operand x, uint64_t count,
                                       struct error *err);

/* Filled by the caller, up to `trace`, before session_prepare; borrowed but for `places`. */
struct session {
    const struct graph *graph;
    struct ops *ops;
    enum dtype storage;
    bool training;                     /* weights change */
    bool fused;                        /* attention is one operation (ops_fuse_attention) */
    const struct op_tokens *tokens;    /* of the pass; a buffer only where operators read it */
    const struct lowering *const *own; /* lists that end with no op and go before the others */
    void *model;                       /* whatever those want */
    struct session_place *places;      /* one a value of the graph; calloc, then the session's */
    const struct op_packed *packed;    /* one a value; NULL: all are in the storage type */
    struct buffer *scaling;            /* of the loss; NULL: none */
    uint64_t slot;                     /* of the loss, in its ring */
    session_observe_fn *observe;       /* NULL: none */
    void *observer;
    struct trace *trace; /* gets each step; for passes of as many rows as the graph; NULL: none */

    struct session_step {                /* its own, as is what follows; one a node */
        const struct lowering *lowering; /* NULL: one before does it, too */
        uint32_t end;                    /* the node behind it */
        struct buffer *prepared;         /* by the lowering; of steps alike, too; or NULL */
    } * steps;
    struct session_owned {
        struct buffer *buffer;
        uint32_t free_from; /* the node from which on it is free; GRAPH_NONE: never */
    } * owned;
    size_t owned_count;
    struct session_spot {
        struct random *random; /* NULL: none */
        uint64_t rows, outputs;
        struct session_nodes *nodes; /* NULL: they are not checked */
    } spot;
};

/* UNSUPPORTED: an operator has no lowering. */
enum status session_prepare(struct session *session, struct error *err);
void session_finish(struct session *session);

/*
 * Gives each parameter and input a buffer, and each computed value that another step reads, or none
 * does: one whose value has been read for the last time, where there is one of that size, or that
 * of what it works in place on. In the storage type; rows of one element in f32. Left out are
 * values that have a place and those that no launch writes (first_only). Called after
 * session_prepare; the session owns the buffers. INTERNAL: what is worked on in place is read
 * later.
 */
enum status session_allocate(struct session *session, struct device *device, struct error *err);

/* Nodes [first, end), which begin and end with a step. */
enum status session_run(struct session *session, size_t first, size_t end, struct error *err);

/*
 * NaN into drawn runs of elements of every place that a pass of `rows` with `outputs` writes whole
 * before it reads it; and of each place again, in all passes until `random` is NULL in `spot`,
 * where what lies there has been read for the last time and something else will be written. What is
 * updated in place has no state of its own, so a NaN shows the launch that fills it, not the one
 * that changes it. Waits. The random numbers must last as long.
 */
enum status session_poison(struct session *session, struct session_spot spot, struct error *err);
/* No more of it; for CLEANUP, of a pointer to the session. */
void session_end_spot(struct session **session);

/*
 * Whether a step, if it is drawn, writes a drawn row of each of its values as the reference of its
 * nodes makes it from its inputs as they are on the device, into spot.nodes; session_run calls the
 * one before the launch and the other behind it. It costs the same however many layers there are.
 * Not where a parameter has more than 4 M elements, or another input that counts whole, as a cache,
 * more than 16 M; of what depends on positions before, one of the first 32 of a sequence; of
 * gradients of parameters some columns, from all rows, of norms where they have at most 16 M
 * elements; the gradient of attention where length^2 times a row is at most 2^28; of products with
 * `packed` weights some columns, whatever their size. Of graphs that session_allocate has placed.
 * Waits.
 */
struct session_expected; /* NULL: the step is not drawn */
enum status session_expect_step(const struct session *session, uint32_t first,
                                struct session_expected **ret, struct error *err);
enum status session_check_step(const struct session *session,
                               const struct session_expected *expected, struct error *err);
void session_expected_drop(struct session_expected **expected);

/* Marks in session->trace what a step does: session_run calls it. `bytes` is each value that it
 * reads or writes, once: of an embedding the tokens' rows, of a cache the positions that there are.
 */
enum status session_trace_step(const struct session *session, uint32_t first, struct error *err);

/* ---- for lowerings ---- */

extern const struct lowering session_lowerings[]; /* of the operators; ends with no op */
/*
 * Of declared stacks, forward, by ops_stack and ops_heads_attention: those that the others lack,
 * and attention without probabilities.
 */
extern const struct lowering session_stack_lowerings[];
/* Their gradients, by ops_stack_backward. */
extern const struct lowering session_stack_backward_lowerings[];
/* Products with the weights of `packed`, by ops_packed. */
extern const struct lowering session_packed_lowerings[];
/* Of mixtures of experts, by ops_experts. */
extern const struct lowering session_experts_lowerings[];
/* Their gradients, and a choice that is given, by ops_experts_backward; before those. */
extern const struct lowering session_experts_backward_lowerings[];

struct operand session_at(const struct session *session, uint32_t value);
/* The matrix in few bits that a node multiplies with; NULL: none. */
const struct op_packed *session_packed(const struct session *session,
                                       const struct graph_node *node);
/* A value as an operand of a GEMM. */
struct op_matrix session_matrix(const struct session *session, uint32_t value, bool transpose);
/* A layer norm of these values; `bias` may be the gradient's, for its place. */
struct op_norm session_norm(const struct session *session, const struct graph_node *node,
                            const uint32_t *x_gain_bias_mean_rstd);
/* Gates, of the node's `top` experts a row. */
struct op_experts session_experts(const struct session *session, const struct graph_node *node,
                                  uint32_t gates);
/* The rows of each expert by the gates, unless the latest node before that needed them has them. */
enum status session_sort_experts(struct session *session, const struct graph_node *node,
                                 uint32_t gates, struct error *err);
/* Whether what `node` writes goes into the next node alone, which is of this operator. */
bool session_is_followed(const struct session *session, const struct graph_node *node,
                         const struct graph_op *op);

#endif
