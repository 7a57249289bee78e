/*
 * gpt2_witness - the model in fp64, layer by layer, with its derivative written by hand: what the
 * graph's interpreter must give, bit for bit.
 */
#ifndef ASSAY_TESTS_UNIT_GPT2_WITNESS_H
#define ASSAY_TESTS_UNIT_GPT2_WITNESS_H

#include "workloads/models/gpt2.h"

/* May be read by all; arrays are owned by the struct. */
struct gpt2_witness {
    struct gpt2_shape shape;
    uint64_t sequences, length; /* of the batch; tokens = sequences * length */
    double *logits;             /* (tokens, vocabulary) after forward */
    double *gradients;          /* gpt2_array_length after backward, padding zero; or NULL */
    double loss;                /* mean cross-entropy in nats after forward with targets */
    struct gpt2_witness_state *state;
};

/*
 * Room for batches of sequences x length tokens; with gradients when `training`. NO_MEMORY says how
 * much was wanted.
 */
enum status gpt2_witness_create(const struct gpt2_shape *shape, uint64_t sequences, uint64_t length,
                                bool training, struct gpt2_witness **ret, struct error *err);
void gpt2_witness_destroy(struct gpt2_witness *reference); /* takes NULL */
/* The same for CLEANUP. */
void gpt2_witness_drop(struct gpt2_witness **reference);

/* Logits of every position; the loss too when `targets` is not NULL. */
enum status gpt2_witness_forward(struct gpt2_witness *reference, const float *parameters,
                                 const int32_t *tokens, const int32_t *targets, struct error *err);

/* Gradients of the mean loss; after forward with the same arguments, whose logits it uses up. */
enum status gpt2_witness_backward(struct gpt2_witness *reference, const float *parameters,
                                  const int32_t *tokens, const int32_t *targets, struct error *err);

#endif
