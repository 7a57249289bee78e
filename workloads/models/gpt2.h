/*
 * gpt2 - shape and parameters of a decoder-only transformer as in GPT-2.
 *
 * Radford et al., "Language Models are Unsupervised Multitask Learners" (2019): token and position
 * embedding; in each layer x += proj(attention(ln1(x))), x += proj(gelu(fc(ln2(x)))); a final layer
 * norm; the head is the token embedding, transposed (tied). GELU is the tanh form; layer norm has
 * epsilon 1e-5. Weights lie as (inputs, outputs), so y = x W + b; all parameters share one array.
 *
 * In that array the tensors with weight decay (matrices and embeddings) come first, then those
 * without (biases, layer norm gains): one AdamW launch for each part. Every tensor starts at a
 * multiple of 16 elements; the padding between tensors stays zero.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_H
#define ASSAY_WORKLOADS_MODELS_GPT2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

#define GPT2_NORM_EPSILON 1e-5
#define GPT2_TENSOR_NAME_MAX 32
#define GPT2_ALIGN 16 /* elements */

struct gpt2_shape {
    uint64_t layers;
    uint64_t heads;
    uint64_t width;   /* of the residual stream; a multiple of heads */
    uint64_t context; /* positions that are embedded */
    uint64_t vocabulary;
    uint64_t mlp_width; /* mlp_ratio * width */
};

/* The parameter tensors of a layer; GPT2_WTE, GPT2_WPE and the final norm belong to no layer. */
enum gpt2_tensor_id {
    GPT2_WTE,         /* (vocabulary, width) */
    GPT2_WPE,         /* (context, width) */
    GPT2_ATTN_W,      /* (width, 3*width): query, key, value */
    GPT2_ATTN_PROJ_W, /* (width, width) */
    GPT2_FC_W,        /* (width, mlp_width) */
    GPT2_FC_PROJ_W,   /* (mlp_width, width) */
    GPT2_LN1_G,
    GPT2_LN1_B,
    GPT2_ATTN_B,
    GPT2_ATTN_PROJ_B,
    GPT2_LN2_G,
    GPT2_LN2_B,
    GPT2_FC_B,
    GPT2_FC_PROJ_B,
    GPT2_LNF_G,
    GPT2_LNF_B,
    GPT2_TENSOR_IDS
};

struct gpt2_tensor {
    enum gpt2_tensor_id id;
    uint64_t layer;                  /* 0 for those outside the layers */
    char name[GPT2_TENSOR_NAME_MAX]; /* "wte", "h3.attn.w" */
    uint64_t offset;                 /* in elements, into the parameter array */
    uint64_t rows, columns;          /* a vector has one row */
    uint64_t count;                  /* rows * columns */
    bool decay;
};

/* INVALID with what is wrong when the shape is impossible or its sizes overflow. */
enum status gpt2_shape_check(const struct gpt2_shape *shape, struct error *err);

/* Number of tensors, and each of them in the order in which they lie. */
size_t gpt2_tensor_count(const struct gpt2_shape *shape);
struct gpt2_tensor gpt2_tensor_at(const struct gpt2_shape *shape, size_t index);

/* Offset of a tensor in elements. */
uint64_t gpt2_offset(const struct gpt2_shape *shape, enum gpt2_tensor_id id, uint64_t layer);

/* Elements of the whole array (with padding), and of its first part, whose tensors decay. */
uint64_t gpt2_array_length(const struct gpt2_shape *shape);
uint64_t gpt2_decay_length(const struct gpt2_shape *shape);

/* Parameters of the model, without padding; 124 439 808 for GPT-2's smallest published shape. */
uint64_t gpt2_parameter_count(const struct gpt2_shape *shape);

/*
 * FLOPs of the GEMMs of one forward pass over `sequences` of `length` tokens, 2*m*n*k
 * each: qkv, attention projection, both of the MLP and the head on every token; scores and
 * values for the unmasked (causal) positions alone, length*(length+1)/2 of each head. With all
 * positions of the attention counted, three times this (forward and backward) is the count of
 * Chowdhery et al., "PaLM" (2022), appendix B. Saturates at UINT64_MAX.
 */
uint64_t gpt2_forward_flops(const struct gpt2_shape *shape, uint64_t sequences, uint64_t length);

/*
 * Fills `parameters` (gpt2_array_length) as GPT-2 does: N(0, 0.02) for weights and embeddings,
 * divided by sqrt(2*layers) for the two projections that write to the residual stream; zero
 * biases, unit gains. Element values depend on `seed` and their place alone.
 */
void gpt2_initialise(const struct gpt2_shape *shape, uint64_t seed, float *parameters);

/*
 * A nearly normal number, mean 0, variance 1: the sum of four uniform 16-bit numbers (Irwin, Hall,
 * Biometrika 19 (1927)) over its standard deviation. Integers and one product, so that any element
 * stands alone and has the same bits with every compiler and libm, in any language.
 */
float gpt2_normal_at(uint64_t seed, uint64_t stream, uint64_t index);

#endif
