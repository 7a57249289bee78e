/* gpt2_passes - what the files of the passes share. Private to this folder. */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_PASSES_H
#define ASSAY_WORKLOADS_MODELS_GPT2_PASSES_H

#include "workloads/models/gpt2_device.h"
#include "workloads/models/gpt2_int8.h"

/* gpt2_device_passes.c: the graph, with its values in the model's buffers. */
enum status gpt2_take_graph(struct gpt2_device *model, struct error *err);

/* gpt2_device_step.c */
extern const struct lowering gpt2_step_lowerings[];
/* The rows of the outputs become the first ones of RESIDUAL, and all that there are. */
enum status gpt2_step_outputs(struct gpt2_device *model, struct error *err);
/* The tokens that follow, from the logits. */
enum status gpt2_step_choose(struct gpt2_device *model, struct error *err);

/* gpt2_device_int8.c */
extern const struct lowering gpt2_int8_lowerings[];

#endif
