/*
 * moe - a mixture of experts as a stack declares it, and where its tokens go.
 *
 *     moe: {experts: 128, top: 8, width: 768, gate: silu,
 *           routing: {law: zipf, alpha: 1.0, seed: 1}}
 *
 * By `uniform` and `zipf` a seed gives the experts of each token and layer and their weights, so
 * that every device has the same groups; by `model` the router does, whose weights are drawn. No
 * token is dropped.
 */
#ifndef ASSAY_WORKLOADS_MODELS_MOE_H
#define ASSAY_WORKLOADS_MODELS_MOE_H

#include "harness/core/declaration.h"

#define MOE_TOP_MAX 64 /* experts of a token */

/* From 1: what is left out of a declaration is 0. */
enum stack_gate { STACK_GELU = 1, STACK_SILU }; /* a plain MLP with GELU; a gated one with SiLU */
enum moe_law { MOE_UNIFORM = 1, MOE_ZIPF, MOE_MODEL };

extern const struct declaration_name stack_gate_names[2];

/* As written, with the defaults. */
struct moe {
    int64_t experts, top, width; /* top: experts of a token; width: of an expert */
    enum stack_gate gate;
    struct moe_routing {
        enum moe_law law;
        double alpha; /* of zipf: the expert of rank k is drawn with weight k^-alpha */
        int64_t seed;
    } routing;
};

extern const struct declaration_field moe_fields[];

/* Checks the block's section, which lies at `path`, and writes its defaults. */
enum status moe_check(const struct declaration *declaration, const char *path, struct moe *written,
                      struct error *err);

/* "uniform", "zipf" or "model". */
const char *moe_law_name(enum moe_law law);

/*
 * Of each of the first `rows` tokens of block `block` its `top` experts, then their weights in
 * 1/4096, which add up to 1: (rows, 2 top). Experts are drawn one after the other by the law's
 * weights, without those that the token has; which expert has which rank is drawn for each block.
 * A token's do not depend on `rows`. Not by the law `model`.
 */
void moe_route(const struct moe *moe, uint64_t seed, uint32_t block, uint64_t rows, int32_t *ret);

/* How tokens are spread over the experts of a layer. */
struct moe_load {
    uint64_t routed;      /* tokens times experts of each */
    uint64_t touched;     /* experts that have one */
    uint64_t least, most; /* tokens of an expert */
};
/* Rows of experts' numbers, `stride` from one to the next. */
struct moe_load moe_load_of(const struct moe *moe, const int32_t *experts, uint64_t rows,
                            uint64_t stride);
/* The largest over the mean. */
double moe_imbalance(const struct moe *moe, const struct moe_load *load);

#endif
