/*
 * gpt2_reference - the model in fp64 on the host: what device results are checked against.
 *
 * It reads the very fp32 parameters of the device (its master weights where it has narrow ones), so
 * a difference is what arithmetic and storage lose. It interprets the model's graph, and is itself
 * checked by finite differences, against values of PyTorch and against the same passes written by
 * hand (tests/unit/test_model_gpt2.c, test_model_golden.c, test_graph.c).
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_REFERENCE_H
#define ASSAY_WORKLOADS_MODELS_GPT2_REFERENCE_H

#include "workloads/models/gpt2.h"

/* May be read by all; arrays are owned by the struct. */
struct gpt2_reference {
    struct gpt2_shape shape;
    uint64_t sequences, length; /* of the batch; tokens = sequences * length */
    double *logits;             /* (tokens, vocabulary) after forward */
    double *gradients;          /* gpt2_array_length after backward, padding zero; or NULL */
    double loss;                /* mean cross-entropy in nats after forward with targets */
    struct gpt2_reference_state *state;
};

/*
 * Room for batches of sequences x length tokens; with gradients when `training`. NO_MEMORY says how
 * much was wanted.
 */
enum status gpt2_reference_create(const struct gpt2_shape *shape, uint64_t sequences,
                                  uint64_t length, bool training, struct gpt2_reference **ret,
                                  struct error *err);
void gpt2_reference_destroy(struct gpt2_reference *reference); /* takes NULL */
/* The same for CLEANUP. */
void gpt2_reference_drop(struct gpt2_reference **reference);

/* Logits of every position; the loss too when `targets` is not NULL. */
enum status gpt2_reference_forward(struct gpt2_reference *reference, const float *parameters,
                                   const int32_t *tokens, const int32_t *targets,
                                   struct error *err);

/* Gradients of the mean loss; after forward with the same arguments, whose logits it uses up. */
enum status gpt2_reference_backward(struct gpt2_reference *reference, const float *parameters,
                                    const int32_t *tokens, const int32_t *targets,
                                    struct error *err);

#endif
