/*
 * attention - forward attention from our own text (kernels/attention.h), which writes no
 * probabilities to memory: any number of keys, of each sequence its own, in one array or in blocks.
 */
#ifndef ASSAY_WORKLOADS_OPS_ATTENTION_H
#define ASSAY_WORKLOADS_OPS_ATTENTION_H

#include "backends/backend.h"

struct attention_text;

/*
 * Compiles the text for arrays in `storage` (f32, bf16 or f16), heads of `head_size` and so many
 * lanes. UNSUPPORTED: another storage, or a head that is no multiple of 16 up to 256.
 */
enum status attention_text_create(struct device *device, enum dtype storage, uint64_t head_size,
                                  uint32_t lanes, struct attention_text **ret, struct error *err);
void attention_text_destroy(struct attention_text *text); /* takes NULL */
const struct module *attention_text_module(const struct attention_text *text);

/*
 * Enqueues. Of the shape all but precision and head size may differ from run to run; operands are
 * those of forward without statistics. INVALID: training, or another head size. What an operand
 * covers of its buffer is the caller's to check, as are the values of lengths and blocks.
 */
enum status attention_text_run(struct attention_text *text, const struct attention_shape *shape,
                               const struct attention_operands *operands, struct error *err);

#endif
