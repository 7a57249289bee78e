/*
 * pass - what the files of this folder share: the parameters, an instance, and decode.c, which has
 * what differs where a pass is a token of each sequence over a cache.
 */
#ifndef ASSAY_WORKLOADS_PASS_PASS_H
#define ASSAY_WORKLOADS_PASS_PASS_H

#include "workloads/check/frame.h"
#include "workloads/declaration.h"
#include "workloads/graph/interpreter.h"
#include "workloads/models/stack.h"
#include "workloads/session/session.h"

/* As written. */
struct pass_decode {
    int64_t context, page; /* positions before the token, and of a block of the cache */
};

struct pass_parameters {
    struct stack stack;
    uint64_t length;           /* of a sequence in a pass: 1 of decode */
    struct pass_decode decode; /* context 0: passes are over whole sequences */
};

struct decode;
struct pass_instance {
    struct workload_instance base;
    uint64_t sequences, length, columns; /* of the output */
    int64_t vocabulary;
    int32_t *tokens;
    float *weights;
    struct buffer *input, *output; /* the output is the session's, where there is one */
    enum dtype type;               /* of the output */
    struct ops *ops;               /* NULL: a framework runs it */
    struct stack_graph graph;
    struct session session; /* of `ops` */
    struct op_tokens given;
    struct decode *decode; /* NULL: passes are over whole sequences */
};

/* The graph of so many sequences of `length`; of decode that is 1. */
enum status pass_build(const struct workload_case *work, uint64_t sequences, uint64_t length,
                       struct stack_graph *ret, struct error *err);

/* ---- decode.c ---- */

/* Of the section `decode`, a struct pass_decode. */
extern const struct declaration_field decode_fields[];
/* Checks the section and writes its default. `sequence_length` beside it is INVALID. */
enum status decode_check(const struct declaration *declaration, struct pass_decode *written,
                         struct pass_parameters *ret, struct error *err);

/* Elements of all caches; 0: there are none. */
uint64_t decode_cache_count(const struct graph *graph);
/* Adds what a step moves; elements have `width` bytes. */
void decode_cost(const struct graph *graph, uint64_t width, struct workload_cost *ret);
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
/* The reference of a sequence, whose tokens and parameters have been given. */
enum status decode_refer(struct pass_instance *instance, struct graph_interpreter *interpreter,
                         const struct graph *graph, uint64_t sequence, struct error *err);
/* What lies in the cache at the token's position, against the latest reference, of `sequence`. */
enum status decode_compare(const struct pass_instance *instance, uint64_t sequence,
                           struct comparison *comparison, struct block_finding *blocks,
                           struct error *err);

#endif
