/*
 * A training step without the reference, against another trial's that was verified. Before the
 * warmup: loss and gradients at the initial weights, bit for bit; then the same update as `verify`
 * makes, so that both continue alike. After the window: the losses of all steps that both made. A
 * loss depends on all updates before it, so each step but the last is covered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/fingerprint.h"
#include "workloads/training_step/training_step.h"

#define LOSS_DIGITS 9 /* of one loss in the text: 8 hex digits and a blank */

static enum status recheck_first(struct training_instance *instance, const char *expected,
                                 struct workload_recheck *ret, struct error *err)
{
    struct gpt2_device *model = instance->gpt2.model;
    const uint64_t count = gpt2_array_length(&instance->parameters->task.shape);
    const uint64_t size = dtype_bits(gpt2_device_type(&model->plan, GPT2_GRADIENTS)) / 8;
    struct training_subset subset = {0};
    struct fingerprint fingerprint;
    enum status status = training_take_subset(instance, &subset, err);

    fingerprint_init(&fingerprint);
    if (status == STATUS_OK)
        status = training_run_passes(instance, &subset, err);
    if (status == STATUS_OK)
        status = fingerprint_add_buffer(&fingerprint, model->buffers[GPT2_LOSSES],
                                        training_loss_slot(instance->steps) * sizeof(float),
                                        sizeof(float), err);
    if (status == STATUS_OK)
        status = fingerprint_add_buffer(&fingerprint, model->buffers[GPT2_GRADIENTS], 0,
                                        count * size, err);
    if (status == STATUS_OK) {
        ret->compared = count + 1;
        ret->text = fingerprint_text(&fingerprint);
        status = ret->text ? STATUS_OK : error_no_memory(err);
    }
    ret->same = status == STATUS_OK && expected && !strcmp(ret->text, expected);
    if (ret->same) {
        const struct adamw adamw = training_adamw(instance->parameters, instance->steps + 1);

        status = gpt2_device_update(model, &adamw, instance->steps + 1, err);
        training_count_step(instance, instance->next_sequence - instance->sequences,
                            subset.sequences);
        ops_seal(instance->gpt2.ops);
    }
    free(subset.indices);
    return status;
}

static enum status recheck_losses(struct training_instance *instance, const char *expected,
                                  struct workload_recheck *ret, struct error *err)
{
    float losses[LOSS_HEAD];
    size_t count = 0, common;

    TRY(training_loss_head(instance, losses, &count, err));
    ret->text = malloc(count * LOSS_DIGITS + 1);
    if (!ret->text)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &losses[i], sizeof(bits));
        snprintf(ret->text + i * LOSS_DIGITS, LOSS_DIGITS + 1, "%08" PRIx32 " ", bits);
    }
    ret->compared = count;
    if (!expected)
        return STATUS_OK;
    common = strlen(expected) / LOSS_DIGITS;
    common = common < count ? common : count;
    ret->compared = common;
    /* The first is the check's own step; one of the window's must be among them. */
    ret->same = common >= 2 && !strncmp(ret->text, expected, common * LOSS_DIGITS);
    return STATUS_OK;
}

enum status training_recheck(struct workload_instance *base, const char *expected,
                             struct workload_recheck *ret, struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;

    return instance->steps == 0 ? recheck_first(instance, expected, ret, err)
                                : recheck_losses(instance, expected, ret, err);
}
