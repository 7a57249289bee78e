#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "workloads/training_step/training_step.h"

#include <math.h>
#include <stdlib.h>

#define CURVE_POINTS 64

static enum status download(struct training_instance *instance, float **ret, struct error *err)
{
    AUTO_FREE float *losses = malloc(GPT2_LOSS_SLOTS * sizeof(*losses));

    if (!losses)
        return error_no_memory(err);
    TRY(device_download(instance->gpt2.model->buffers[GPT2_LOSSES], 0, losses,
                        GPT2_LOSS_SLOTS * sizeof(*losses), err));
    *ret = losses;
    losses = NULL;
    return STATUS_OK;
}

/* True when the ring still has the loss of `step`. */
static bool kept(uint64_t step, uint64_t steps)
{
    return step < LOSS_HEAD || steps - step <= GPT2_LOSS_SLOTS - LOSS_HEAD;
}

static void ends(const float *losses, uint64_t steps, double *ret_first, double *ret_last)
{
    const uint64_t averaged = steps < LOSS_AVERAGED ? steps : LOSS_AVERAGED;
    double first = 0.0, last = 0.0;

    for (uint64_t i = 0; i < averaged; i++) {
        first += losses[training_loss_slot(i)];
        last += losses[training_loss_slot(steps - 1 - i)];
    }
    *ret_first = first / (double)averaged;
    *ret_last = last / (double)averaged;
}

enum status training_loss_ends(struct training_instance *instance, double *ret_first,
                               double *ret_last, struct error *err)
{
    AUTO_FREE float *losses = NULL;

    TRY(download(instance, &losses, err));
    ends(losses, instance->steps, ret_first, ret_last);
    return STATUS_OK;
}

enum status training_loss_head(struct training_instance *instance, float ret[LOSS_HEAD],
                               size_t *ret_count, struct error *err)
{
    *ret_count = instance->steps < LOSS_HEAD ? (size_t)instance->steps : LOSS_HEAD;
    return device_download(instance->gpt2.model->buffers[GPT2_LOSSES], 0, ret,
                           *ret_count * sizeof(*ret), err);
}

/*
 * Losses of the first steps that were taken at the weights that fp32 had there, except for
 * rounding: up to and with the first step whose update was skipped.
 */
static enum status count_comparable(struct training_instance *instance, uint64_t *ret,
                                    struct error *err)
{
    struct op_scaling_state state = {0};
    uint64_t count = training_fp32_comparable(instance);

    if (instance->gpt2.model->plan.scale != 0.0)
        TRY(trained_scaling(&instance->gpt2.model->trained, &state, err));
    if (state.skipped > 0 && (uint64_t)state.first_skipped + 1 < count)
        count = (uint64_t)state.first_skipped + 1;
    *ret = count;
    return STATUS_OK;
}

static void compare_fp32(const struct training_instance *instance, const float *losses,
                         struct training_difference *ret)
{
    double low = INFINITY, high = 0.0;

    for (uint64_t i = 0; i < ret->steps; i++) {
        const double fp32 = (double)instance->fp32_losses[i];
        const double absolute = fabs((double)losses[training_loss_slot(i)] - fp32);

        low = fmin(low, fp32);
        high = fmax(high, fp32);
        if (absolute / fp32 > ret->relative || isnan(absolute)) {
            ret->relative = isnan(absolute) ? INFINITY : absolute / fp32;
            ret->absolute = absolute;
            ret->at = i;
        }
    }
    ret->moved = ret->steps > 0 ? (high - low) / low : 0.0;
}

enum status training_fp32_difference(struct training_instance *instance,
                                     struct training_difference *ret, struct error *err)
{
    struct training_difference difference = {0};
    AUTO_FREE float *losses = NULL;

    TRY(count_comparable(instance, &difference.steps, err));
    if (difference.steps > 0) {
        TRY(download(instance, &losses, err));
        compare_fp32(instance, losses, &difference);
    }
    *ret = difference;
    return STATUS_OK;
}

static json_t *not_downloaded(const struct error *err)
{
    return json_sprintf("the losses could not be downloaded: %s", err->message);
}

/* What fp32 gave at the same steps; NULL when this is fp32. */
static json_t *fp32_json(struct training_instance *instance)
{
    struct training_difference difference = {0};
    struct error err = ERROR_INIT;
    json_t *curve, *ret;

    if (instance->gpt2.base.work.precision == PRECISION_FP32)
        return NULL;
    if (instance->fp32_missing)
        return json_pack("{s:s}", "missing", instance->fp32_missing);
    if (training_fp32_difference(instance, &difference, &err) != STATUS_OK)
        return json_pack("{s:o}", "missing", not_downloaded(&err));
    curve = json_array();
    for (uint64_t i = 0; i < instance->fp32_steps; i++)
        json_array_append_new(curve, json_pack("[I, o]", (json_int_t)i,
                                               real_or_null((double)instance->fp32_losses[i])));
    ret = json_pack("{s:I, s:I, s:o}", "steps", (json_int_t)instance->fp32_steps, "compared",
                    (json_int_t)difference.steps, "curve", curve);
    if (ret && difference.steps > 0)
        json_object_update_new(ret, json_pack("{s:o, s:o, s:I}", "largest_difference_nats",
                                              real_or_null(difference.absolute),
                                              "largest_difference_relative",
                                              real_or_null(difference.relative), "at_step",
                                              (json_int_t)difference.at));
    else if (ret && instance->fp32_steps > 0)
        json_object_set_new(ret, "difference",
                            json_string("not judged: the first step was not the check's"));
    return ret;
}

json_t *training_loss_json(struct training_instance *instance)
{
    const uint64_t steps = instance->steps;
    const bool judged = steps >= instance->parameters->loss_steps;
    json_t *ret, *curve, *fp32;
    struct error err = ERROR_INIT;
    float *losses = NULL;
    double first, last;

    if (steps == 0)
        return json_pack("{s:i}", "steps", 0);
    if (download(instance, &losses, &err) != STATUS_OK)
        return json_pack("{s:I, s:o}", "steps", (json_int_t)steps, "missing", not_downloaded(&err));
    ends(losses, steps, &first, &last);
    curve = json_array();
    for (uint64_t i = 0, before = UINT64_MAX; i < CURVE_POINTS; i++) {
        uint64_t step = (steps - 1) * i / (CURVE_POINTS - 1);

        if (step != before && kept(step, steps))
            json_array_append_new(
                curve, json_pack("[I, o]", (json_int_t)step,
                                 real_or_null((double)losses[training_loss_slot(step)])));
        before = step;
    }
    free(losses);
    ret = json_pack("{s:I, s:o, s:o, s:o}", "steps", (json_int_t)steps, "first_nats",
                    real_or_null(first), "last_nats", real_or_null(last), "curve", curve);
    fp32 = fp32_json(instance);
    if (ret && fp32)
        json_object_set_new(ret, "fp32", fp32);
    if (ret && !judged)
        json_object_set_new(ret, "fall",
                            json_sprintf("not judged: %llu steps ran, %llu are needed",
                                         (unsigned long long)steps,
                                         (unsigned long long)instance->parameters->loss_steps));
    return ret;
}
