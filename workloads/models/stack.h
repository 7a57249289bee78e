/*
 * stack - a model as it is declared: blocks one on the other, each of which expands to operators.
 *
 *     model:
 *       width: 4096
 *       norm: {kind: rms, epsilon: 1.0e-5}
 *       stack:
 *         - of: [{embedding: {vocabulary: 128256}}]
 *         - times: 32
 *           of: [{attention: {heads: 32, kv_heads: 8, rope: 500000}},
 *                {mlp: {width: 14336, gate: silu}}]
 *         - of: [{norm: {}}, {head: {vocabulary: 128256, tied: false}}]
 *
 * attention: x + proj(attention(rope(qkv(norm(x))))), with `qk_norm` a norm of heads before rope;
 * mlp: x + down(silu(gate(n)) up(n)) with n = norm(x), or x + down(gelu(up(n))). `bias` gives their
 * linear operators one. moe: x + the sum, by their weights, over a token's experts of such an mlp
 * (models/moe.h), of which a router, a linear operator on n, gives the scores.
 */
#ifndef ASSAY_WORKLOADS_MODELS_STACK_H
#define ASSAY_WORKLOADS_MODELS_STACK_H

#include "harness/core/declaration.h"
#include "harness/core/text.h"
#include "workloads/graph/graph.h"
#include "workloads/models/moe.h"

/* From 1: what is left out of a declaration is 0. */
enum stack_norm_kind { STACK_RMS = 1, STACK_LAYER };
enum stack_block_kind {
    STACK_EMBEDDING,
    STACK_ATTENTION,
    STACK_MLP,
    STACK_MOE,
    STACK_NORM,
    STACK_HEAD,
    STACK_BLOCK_KINDS
};

/* As written, with the defaults. */
struct stack_block {
    enum stack_block_kind kind;
    struct stack_embedding {
        int64_t vocabulary, positions; /* 0: positions are not embedded */
    } embedding;
    struct stack_attention {
        int64_t heads, kv_heads, head; /* elements of one */
        double rope;                   /* 0: none */
        bool qk_norm, bias;
    } attention;
    struct stack_mlp {
        int64_t width;
        enum stack_gate gate;
        bool bias;
    } mlp;
    struct moe moe;
    struct stack_norm {
        enum stack_norm_kind kind;
        double epsilon;
    } norm; /* the model's unless it says otherwise */
    struct stack_head {
        int64_t vocabulary;
        bool tied; /* its weight is the embedding's table */
    } head;
};
struct stack_part {
    int64_t times;
    struct stack_block *of;
    uint32_t of_count;
};
struct stack {
    int64_t width;
    struct stack_norm norm;
    struct stack_part *stack;
    uint32_t stack_count;
    bool trains; /* by whoever checked it: by a law, weights of experts are the router's */
};

/* Of `model`, which is a struct stack. */
extern const struct declaration_field stack_fields[];

/*
 * Checks the section, writes its defaults, and copies it into `ret` (stack_finish), for sequences
 * of `length`.
 */
enum status stack_check(const struct declaration *declaration, struct stack *written,
                        int64_t length, struct stack *ret, struct error *err);
void stack_finish(struct stack *stack); /* of zeros, too */

/* Over sequences of `length`; `tokens` are given, `out` is the last block's. */
struct stack_graph {
    struct graph *graph;
    uint32_t tokens, out;
    uint32_t blocks;              /* of stack_graph_decode: (sequences, pages), indices, given */
    size_t forward;               /* nodes of the blocks; those of training follow */
    uint32_t targets, loss;       /* stack_graph_add_loss; `targets` are given */
    struct stack_routed {         /* each mixture of experts; heap */
        const struct moe *moe;    /* the stack's */
        uint32_t block;           /* its number */
        uint32_t choose;          /* a node: the router's choice */
        uint32_t routing, chosen; /* given: by a law; by stack_graph_give_choice; or GRAPH_NONE */
    } * routed;
    size_t routed_count;
};
/* INVALID: the shapes are impossible. stack_graph_finish follows, on failure, too. */
enum status stack_graph_init(struct stack_graph *ret, const struct stack *stack, uint64_t sequences,
                             uint64_t length, struct error *err);
/*
 * Of a token each of `sequences`, at position `context`, behind keys and values that lie in blocks
 * of `page` positions: a cache for each attention, an input, of as many blocks as all sequences
 * need. Otherwise as stack_graph_init.
 */
enum status stack_graph_decode(struct stack_graph *ret, const struct stack *stack,
                               uint64_t sequences, uint64_t context, uint64_t page,
                               struct error *err);
/*
 * Where the router chooses (law: model), its experts become an input, (rows, top), and their
 * weights are made of its scores as before: next to a tie, rounding decides which they are.
 */
enum status stack_graph_give_choice(struct stack_graph *graph, struct error *err);
/* Adds the mean cross entropy of `out`, which a head writes, against targets. */
enum status stack_graph_add_loss(struct stack_graph *graph, struct error *err);
/*
 * The same, and the gradients of all parameters (graph_backward); of routers by a law where the
 * stack has `trains`: else the loss does not depend on them, and they have none.
 */
enum status stack_graph_train(struct stack_graph *graph, struct error *err);
void stack_graph_finish(struct stack_graph *graph);

uint64_t stack_parameter_count(const struct stack_graph *graph);

/*
 * The parameters in one array. With `align` as an optimizer has them: in the order of the graph's
 * values matrices, which decay, then all others, each from a multiple of `align` elements on. Else
 * all in the order of the values, one behind the other.
 */
struct stack_layout {
    struct stack_parameter {
        uint32_t value, number; /* `number`: how many come before it in the graph */
        uint64_t offset;        /* elements */
        bool decay;
    } * parameters; /* heap */
    size_t count;
    uint64_t elements, decayed; /* of the array, with padding; of the matrices, with `align` */
};
/* stack_layout_finish follows, on failure, too. */
enum status stack_layout_init(struct stack_layout *ret, const struct graph *graph, uint64_t align,
                              struct error *err);
void stack_layout_finish(struct stack_layout *layout);

/* What a parameter's elements are drawn from: a stream, mean and deviation. */
struct stack_law {
    uint64_t stream;
    double mean, deviation;
};
struct stack_law stack_law_of(const struct graph_value *value,
                              const struct stack_parameter *parameter);

/*
 * All parameters into an array of that layout, without its padding: matrices nearly N(0, 1/n), n
 * their shorter side, gains 1 and biases 0 with a deviation of 1/8. Each depends on the seed, its
 * number and its place alone.
 */
void stack_fill(const struct stack_graph *graph, const struct stack_layout *layout, uint64_t seed,
                float *ret);

/* The blocks, a line a part. */
void stack_describe(const struct stack *stack, struct text *ret);

#endif
