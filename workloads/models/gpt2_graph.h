/* gpt2_graph - the model as a declared stack: forward, mean loss and, when training, gradients. */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_GRAPH_H
#define ASSAY_WORKLOADS_MODELS_GPT2_GRAPH_H

#include "workloads/models/gpt2.h"
#include "workloads/models/stack_reference.h"

/* The embedding, as many nodes for each layer, the final norm and the head, then the loss. */
#define GPT2_LAYER_NODES 10
#define GPT2_HEAD_NODES 2

/*
 * With the loss, and its gradients when training; stack_graph_finish follows, on failure, too. In
 * its layout (stack_layout_init, at multiples of GPT2_ALIGN) parameters lie as gpt2.h says, and
 * have those names.
 */
enum status gpt2_graph_init(struct stack_graph *ret, const struct gpt2_shape *shape,
                            uint64_t sequences, uint64_t length, bool training, struct error *err);
/* Its reference: logits, and when training all gradients, at weights laid out as gpt2.h says. */
enum status gpt2_reference_create(const struct gpt2_shape *shape, uint64_t sequences,
                                  uint64_t length, bool training, struct stack_reference **ret,
                                  struct error *err);

#endif
