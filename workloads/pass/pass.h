/*
 * pass - what the files of this folder share: the parameters, an instance; train.c, a step of
 * training; decode.c, what differs where a pass is a token of each sequence over a cache; moe.c,
 * where tokens of mixtures of experts go.
 */
#ifndef ASSAY_WORKLOADS_PASS_PASS_H
#define ASSAY_WORKLOADS_PASS_PASS_H

#include "workloads/check/frame.h"
#include "workloads/models/declaration.h"
#include "workloads/models/trained.h"

/* As written. */
struct pass_decode {
    int64_t context, page; /* positions before the token, and of a block of the cache */
};

/* As data/format.h has them; NULL: all parameters are in the storage type. */
struct pass_weights {
    const struct format *format;
    uint64_t cols; /* inputs of a scale's block; 0: all */
};

struct pass_parameters {
    struct stack stack;
    struct pass_weights weights; /* of the matrices of products */
    uint64_t length;             /* of a sequence in a pass: 1 of decode */
    struct pass_decode decode;   /* context 0: passes are over whole sequences */
    bool trains;
    struct adamw adamw;
};

struct decode;
struct pass_moe;
struct pass_instance {
    struct workload_instance base;
    uint64_t sequences, length, columns; /* of the output */
    int64_t vocabulary;
    int32_t *tokens;
    struct stack_layout layout;
    float *weights;                /* in it; NULL with `packed` */
    struct op_packed *packed;      /* one a value: matrices in few bits, and the law of others */
    double weights_error;          /* of the output, by the format; 0: not measured */
    double weights_rounding;       /* of the weights themselves; the same */
    struct buffer *input, *output; /* the output is the session's, where there is one */
    enum dtype type;               /* of the output */
    struct ops *ops;               /* NULL: a framework runs it */
    struct stack_graph graph;
    struct session session; /* of `ops` */
    struct op_tokens given;
    struct decode *decode;          /* NULL: passes are over whole sequences */
    struct pass_training *training; /* NULL: forward alone */
    struct pass_moe *moe;           /* NULL: no mixture of experts, or a framework */
};

/* ---- pass.c ---- */

/* The graph of so many sequences of `length`, of decode 1; with the gradients where it is trained.
 */
enum status pass_build(const struct pass_parameters *parameters, uint64_t sequences,
                       uint64_t length, struct stack_graph *ret, struct error *err);
/* The reference of that graph; a cache's values are lent. */
enum status pass_refer(const struct workload_case *work, uint64_t sequences, uint64_t length,
                       const struct stack_wanted *wanted, struct stack_reference **ret,
                       struct error *err);
/* How far from it an iteration over so many tokens may be. */
struct stack_tolerance pass_tolerance(const struct workload_case *work, uint64_t tokens);
/* "nodes": a pass more, every few of whose steps are compared by themselves. */
enum status pass_check_nodes(struct pass_instance *instance, uint64_t secret,
                             struct check_sink *sink, struct error *err);

/* ---- train.c: parameters, moments and gradients in one array each, and the step ---- */

/* A step is declared by these; all may be left out. */
struct pass_train_section {
    struct adamw adamw;
};
extern const struct declaration_field pass_train_fields[];
/* Whether the stack can be trained in the declared precisions; writes defaults. */
enum status pass_train_check(const struct declaration *declaration,
                             const struct workload_declaration *common,
                             struct pass_train_section *written, struct pass_parameters *ret,
                             struct error *err);

#define PASS_TRAIN_ALIGN 64  /* elements, of the layout */
#define PASS_LOSS_SLOTS 1024 /* losses that are kept: the first, and the latest */
/* In the instance's layout. */
struct pass_training {
    uint64_t steps;
    struct trained of;     /* arrays and losses are its own; copy: NULL in f32 */
    int32_t *batch, *next; /* of the latest step and of the one after it, OP_TOKENS_LENGTH */
    uint64_t next_unique;
};

/* Bytes on a device, of which the largest array has `ret_largest`. */
enum status pass_train_bytes(const struct pass_parameters *parameters, uint64_t sequences,
                             enum dtype storage, unsigned __int128 *ret, uint64_t *ret_largest,
                             struct error *err);
/* Arrays, and the places of parameters and their gradients; before session_allocate. */
enum status pass_train_allocate(struct pass_instance *instance, struct error *err);
/* Fills the arrays from instance->weights, and makes the first batch. */
enum status pass_train_begin(struct pass_instance *instance, struct error *err);
void pass_train_finish(
    struct pass_instance *instance); /* of an instance that is not trained, too */

/* A batch of tokens as op_tokens has it becomes that of the passes. */
enum status pass_train_give(struct pass_instance *instance, const int32_t *indices, uint64_t rows,
                            uint64_t length, uint64_t unique, struct error *err);
/* Forward and backward of it; AdamW, which counts a step. */
enum status pass_train_passes(struct pass_instance *instance, struct error *err);
enum status pass_train_update(struct pass_instance *instance, struct error *err);
/* The next batch, and all of it. */
enum status pass_train_iterate(struct pass_instance *instance, struct error *err);
uint64_t pass_train_slot(uint64_t step); /* of the loss of a step, from 0 */
/* {"steps", "first_nats", "last_nats"}; new. NULL: on failure. */
json_t *pass_train_loss(const struct pass_instance *instance);

/* ---- train_checks.c ---- */

enum status pass_train_verify(struct pass_instance *instance, struct check_sink *sink,
                              struct error *err);
enum status pass_train_spot_check(struct pass_instance *instance, uint64_t secret,
                                  struct check_sink *sink, struct error *err);
/* As workload_checks.tolerance; negative where it has no such check. */
double pass_train_tolerance(const struct workload_case *work, const char *output);

/* ---- moe.c ---- */

/* Elements of parameters that a pass does not read: those of experts that no token is routed to. By
 * the law `model` as many as tokens can reach count as read. */
enum status pass_moe_unread(const struct stack_graph *graph, uint64_t *ret, struct error *err);
/* What drawing the routing by laws takes: tokens * top * experts, of all layers. */
double pass_moe_draws(const struct stack_graph *graph);
/* Bytes of routing, choices, lists and gradients of gates on a device. */
uint64_t pass_moe_bytes(const struct stack_graph *graph);
/* A line of how the graph's tokens are spread over experts by a law; none where there is none. */
void pass_moe_describe(const struct stack_graph *graph, struct text *ret);

/* Before session_allocate: places of routing and choices, the text, the routing of the case. */
enum status pass_moe_prepare(struct pass_instance *instance, struct error *err);
void pass_moe_destroy(struct pass_moe *moe); /* takes NULL */
/* Another routing by the laws, where there are some; 0: the declared one. No lists are left. */
enum status pass_moe_draw(struct pass_instance *instance, uint64_t secret, struct error *err);
/*
 * Of windows of parameters, one for each of the instance's layout, those of experts' weights are
 * moved to drawn experts that have a token by the latest routing: the others' gradients are 0.
 */
void pass_moe_aim(const struct pass_instance *instance, struct random *random,
                  struct adamw_window *windows);
/* Before the interpreter of a reference is created: the scores of its routers. */
void pass_moe_lend(const struct stack_graph *graph);
/* To a reference from this row of the pass on; by the law `model` what the latest pass chose. */
enum status pass_moe_give(const struct pass_instance *instance,
                          const struct stack_reference *reference, uint64_t row, struct error *err);
/*
 * The scores in that reference, which has run, of the experts that the routers chose on the device
 * for `rows` from this one on, and its largest: near a tie either may be chosen.
 */
enum status pass_moe_compare(const struct pass_instance *instance, uint64_t row, uint64_t rows,
                             struct comparison *comparison, struct error *err);
/*
 * [{"block", "law", "experts", "touched", "tokens_mean", "tokens_least", "tokens_most", "routed",
 * "largest_over_mean"}], one a mixture, of the latest pass. New. NULL: no memory.
 */
json_t *pass_moe_facts(const struct pass_instance *instance);

/* ---- decode.c ---- */

/* Of the section `decode`, a struct pass_decode. */
extern const struct declaration_field decode_fields[];
/* Checks the section and writes its default. `sequence_length` beside it is INVALID. */
enum status decode_check(const struct declaration *declaration, struct pass_decode *written,
                         struct pass_parameters *ret, struct error *err);

/* Elements of all caches; 0: there are none. */
uint64_t decode_cache_count(const struct graph *graph);
/* Adds what a step moves; elements have `width` bytes, `saved` is what weights have less. */
void decode_cost(const struct graph *graph, uint64_t width, uint64_t saved,
                 struct workload_cost *ret);
/* A line, of a graph of one sequence. */
void decode_describe(const struct pass_decode *decode, const struct graph *graph, struct text *ret);

/* Compiles what attention over a cache needs. UNSUPPORTED as ops_cache. */
enum status decode_compile(struct pass_instance *instance, struct error *err);
/*
 * Draws which blocks each sequence has, and fills the caches, which the session has placed, from
 * the case's seed; what lies at the token's position and behind it is NaN.
 */
enum status decode_prepare(struct pass_instance *instance, struct error *err);
void decode_destroy(struct decode *decode); /* takes NULL */

/*
 * Other content of drawn blocks, of this sequence and of others, by `secret`; `restore` gives them
 * theirs again. NaN at the tokens' positions, in both.
 */
enum status decode_redraw(struct pass_instance *instance, uint64_t sequence, uint64_t secret,
                          struct error *err);
enum status decode_restore(struct pass_instance *instance, struct error *err);

/* Before the interpreter of a sequence is created. */
void decode_lend(struct graph *graph);
/*
 * Gives the reference a sequence's tokens and all parameters, and runs it: weights in few bits as
 * their format leaves them, or (`decoded` false) exact.
 */
enum status decode_refer(struct pass_instance *instance, struct stack_reference *reference,
                         uint64_t sequence, bool decoded, struct error *err);
/* What lies in the cache at the token's position, against the latest reference, of `sequence`. */
enum status decode_compare(const struct pass_instance *instance, uint64_t sequence,
                           struct comparison *comparison, struct block_finding *blocks,
                           struct error *err);

#endif
