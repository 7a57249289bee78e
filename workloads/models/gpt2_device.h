/*
 * gpt2_device - the model on a device: parameters, kept activations, forward, backward, update.
 *
 * All memory is allocated at creation and known before (gpt2_device_bytes). With `training`, every
 * layer keeps what its backward pass reads; without, one layer's memory is reused by all. Functions
 * enqueue and return, except for those that say otherwise.
 *
 * Parameters, activations and gradients lie in the plan's storage type; statistics of norms, losses
 * and the optimizer's moments in f32. When a model that trains has narrow storage, AdamW keeps
 * master weights in f32 and writes the parameters as their copy, in the same pass over memory.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_DEVICE_H
#define ASSAY_WORKLOADS_MODELS_GPT2_DEVICE_H

#include "workloads/models/gpt2_graph.h"
#include "workloads/models/trained.h"

enum gpt2_buffer {
    GPT2_PARAMETERS, /* laid out as gpt2.h says, as are the next four */
    GPT2_MASTER,     /* f32; training in narrow storage only */
    GPT2_GRADIENTS,  /* training only, as are the moments and all of D_ */
    GPT2_MOMENT1,    /* f32 */
    GPT2_MOMENT2,    /* f32 */
    /* i32, OP_TOKENS_LENGTH(rows); with a cache (slots, gpt2_token_stride): whole sequences */
    GPT2_TOKENS,
    GPT2_STEP,       /* i32, the step's table; with a cache only, as is the next */
    GPT2_CACHE,      /* (layers, blocks, page, 2, width): a position's key and value */
    GPT2_RESIDUAL,   /* (2*layers+1, rows, width): before each half layer, and at the end */
    GPT2_NORM,       /* outputs of the layer norms, likewise */
    GPT2_MEAN,       /* (2*layers+1, rows), f32 */
    GPT2_RSTD,       /* likewise */
    GPT2_QKV,        /* (layers, rows, 3*width) */
    GPT2_SCORES,     /* (layers, sequences, heads, length, length): probabilities; unless fused */
    GPT2_STATISTICS, /* (layers, gpt2_statistics_length), f32: of the softmax; training, fused only
                      */
    GPT2_VALUES,     /* (layers, rows, width) */
    GPT2_FC,         /* (layers, rows, mlp_width) */
    GPT2_GELU,
    /*
     * (rows, vocabulary), rows gpt2_logits_stride apart; their gradient after the backward pass.
     * Quantised: f32, and on the way there the i32 sums of every GEMM with a weight, in as much
     * memory as the widest takes.
     */
    GPT2_LOGITS,
    GPT2_WEIGHTS8,      /* i8, laid out as gpt2_int8.h says; quantised only, as are the next two */
    GPT2_WEIGHT_SCALES, /* f32 */
    GPT2_INPUT8,        /* i8, (rows, the wider of width and mlp_width): of the next GEMM */
    GPT2_TOTAL,         /* (rows), f32, training only, as are the next two */
    GPT2_ROW_LOSS,
    GPT2_LOSSES,  /* ring of mean losses, GPT2_LOSS_SLOTS */
    GPT2_SCALING, /* struct op_scaling_state; only with a loss scale, as is the next */
    GPT2_SCALING_PARTIALS,
    GPT2_D_RESIDUAL, /* (rows, width) */
    GPT2_D_NARROW,   /* (rows, width) */
    GPT2_D_QKV,      /* (rows, 3*width) */
    GPT2_D_SCORES,   /* (sequences, heads, length, length); unless fused */
    GPT2_D_FC,       /* (rows, mlp_width) */
    GPT2_BUFFERS
};

#define GPT2_LOSS_SLOTS 65536

struct gpt2_device_plan {
    struct gpt2_shape shape;
    uint64_t sequences, length; /* the largest batch */
    bool training;
    enum dtype storage; /* f32, bf16 or f16; that of the ops */
    /* Dynamic loss scaling: its first scale, a power of two, and the good steps before it grows. */
    double scale; /* 0: none */
    uint32_t scale_interval;
    /* GEMMs with weights in i8; never when training. */
    bool quantised;
    /*
     * Attention is one operation of the vendor's library, which keeps no probabilities: as
     * gpt2_device_fuse found out. A plan for no device in particular has them.
     */
    bool fused;
    /*
     * Rows of the logits are contiguous. gpt2_device_create sets it for inference in floating point
     * on processors, where the GEMM that writes them is faster so.
     */
    bool dense_logits;
    /*
     * A framework runs the model, with weights of its own: there are tokens and f32 logits alone,
     * with a cache its memory, too, which then lies as the framework's arrays do, and no operation
     * of ours. Never when training or quantised.
     */
    bool bare;
    const float *input_scales; /* one a site of gpt2_int8.h; must outlive the model */
    /*
     * Generation: keys and values lie in a cache of so many blocks of `page` positions, of which a
     * sequence has at most `pages`, and a pass is a step (gpt2_device_set_step) of at most
     * sequences * length rows, of at most `slots` sequences. page 0: none. Never when training.
     */
    uint64_t page, pages, blocks, slots;
    /*
     * Steps differ in size: GEMMs are made for 1, 2, 4 ... rows, as libraries prepare one for each
     * shape, and what a step has fewer is computed and not used. Rows and slots are powers of 2
     * then.
     */
    bool padded;
};

/* The tokens of a sequence lie so far apart in GPT2_TOKENS: its positions, and one more. */
uint64_t gpt2_token_stride(const struct gpt2_device_plan *plan);

/* Whether the plan's attention is one operation (ops_fuse_attention): sets `fused`. With a cache it
 * is our own text, prepared here. */
enum status gpt2_device_fuse(struct gpt2_device_plan *plan, struct ops *ops, struct error *err);

/* Elements of one layer's statistics: a row and head each, so that every layer's are aligned. */
uint64_t gpt2_statistics_length(const struct gpt2_device_plan *plan);

/*
 * Elements from one row of the logits to the next: the vocabulary rounded up to 64, so that rows
 * begin at multiples of 128 bytes, as the fast GEMMs of vendors' libraries want them; with
 * `dense_logits` the vocabulary.
 */
uint64_t gpt2_logits_stride(const struct gpt2_device_plan *plan);

/*
 * Bytes of each buffer (0 where the plan has none) into `ret`, which may be NULL; returns the sum.
 * What a uint64_t does not hold is UINT64_MAX.
 */
uint64_t gpt2_device_bytes(const struct gpt2_device_plan *plan, uint64_t ret[GPT2_BUFFERS]);
/* Type of a buffer's elements; i32 for tokens. */
enum dtype gpt2_device_type(const struct gpt2_device_plan *plan, enum gpt2_buffer buffer);

/* Readable by everybody. */
struct gpt2_device {
    struct gpt2_device_plan plan;
    struct device *device;
    struct ops *ops; /* the caller's, must outlive the model */
    struct buffer *buffers[GPT2_BUFFERS];
    struct op_tokens tokens;       /* the batch that is set; of a step its rows count */
    struct op_step step;           /* that is set; with a cache only */
    const struct gpt2_part *parts; /* its parts */
    uint64_t part_count;
    uint64_t outputs; /* rows of the step's logits: those of its outputs, or more when padded */
    struct stack_graph graph;
    struct stack_layout layout;
    const struct lowering *lowerings[3]; /* the model's own */
    struct session session;              /* `observe` and `observer` are the caller's to set */
    struct trained trained;              /* training only */
};

/*
 * DEVICE_MEMORY, with what is needed and what there is, before anything is allocated. Parameters
 * are those of gpt2_initialise(seed); moments and gradients are zero. Blocks.
 */
enum status gpt2_device_create(const struct gpt2_device_plan *plan, struct ops *ops,
                               struct device *device, uint64_t seed, struct gpt2_device **ret,
                               struct error *err);
void gpt2_device_destroy(struct gpt2_device *model); /* takes NULL */
void gpt2_device_drop(struct gpt2_device **model);   /* the same for CLEANUP */

/*
 * Uploads a batch of `sequences` (at most the plan's) in the form of op_tokens, with its number of
 * unique tokens. Blocks.
 */
enum status gpt2_device_set_batch(struct gpt2_device *model, const int32_t *indices,
                                  uint64_t sequences, uint64_t unique, struct error *err);

/* Rows of the GEMMs of a step of so many. */
uint64_t gpt2_step_planned(const struct gpt2_device_plan *plan, uint64_t rows);

/* What a step does of one sequence. */
struct gpt2_part {
    uint64_t slot;         /* its place in GPT2_TOKENS */
    uint64_t first, count; /* positions whose tokens are there, and keys before them in the cache */
    /* The position among them after which a token is chosen; GPT2_NO_OUTPUT: none. */
    uint64_t output;
};
#define GPT2_NO_OUTPUT UINT64_MAX
/*
 * Sets a step of those parts, of different slots; `parts` must stay until the pass has been
 * enqueued. `blocks` has for each slot the plan's `pages` numbers of its blocks of the cache. The
 * pass (gpt2_device_forward) writes the keys and values of its rows, the logits of output o into
 * row o, and the token that follows, by the largest logit, behind the output's in GPT2_TOKENS.
 * Blocks.
 */
enum status gpt2_device_set_step(struct gpt2_device *model, const struct gpt2_part *parts,
                                 uint64_t count, const int32_t *blocks, struct error *err);

/* Elements of a buffer as f32, whatever their storage type. Blocks. */
enum status gpt2_device_fetch(const struct gpt2_device *model, enum gpt2_buffer buffer,
                              uint64_t offset, uint64_t count, float *ret, struct error *err);
/* The buffer that AdamW moves: master weights where there are any, else the parameters. */
enum gpt2_buffer gpt2_device_weights(const struct gpt2_device *model);
/* Logits of the batch; with training also the losses, their mean into LOSSES[slot]. */
enum status gpt2_device_forward(struct gpt2_device *model, uint64_t slot, struct error *err);
/* Gradients of the mean loss, times the loss scale if there is one; uses the logits up. */
enum status gpt2_device_backward(struct gpt2_device *model, struct error *err);

#endif
