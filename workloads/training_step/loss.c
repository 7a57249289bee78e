#include "workloads/training_step/training_step.h"

#include <math.h>
#include <stdlib.h>

#define CURVE_POINTS 64

static enum status download(struct training_instance *instance, float **ret, struct error *err)
{
    float *losses = malloc(GPT2_LOSS_SLOTS * sizeof(*losses));
    enum status status;

    if (!losses)
        return error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
    status = device_download(instance->model->buffers[GPT2_LOSSES], 0, losses,
                             GPT2_LOSS_SLOTS * sizeof(*losses), err);
    if (status == STATUS_OK)
        *ret = losses;
    else
        free(losses);
    return status;
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
    float *losses = NULL;
    enum status status = download(instance, &losses, err);

    if (status == STATUS_OK)
        ends(losses, instance->steps, ret_first, ret_last);
    free(losses);
    return status;
}

/* A loss that is no number has no place in JSON; it is null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *training_loss_json(struct training_instance *instance)
{
    const uint64_t steps = instance->steps;
    const bool judged = steps >= instance->parameters->loss_steps;
    json_t *ret, *curve;
    float *losses = NULL;
    double first, last;

    if (steps == 0)
        return json_pack("{s:i}", "steps", 0);
    if (download(instance, &losses, NULL) != STATUS_OK)
        return json_pack("{s:I, s:s}", "steps", (json_int_t)steps, "missing",
                         "the losses could not be downloaded");
    ends(losses, steps, &first, &last);
    curve = json_array();
    for (uint64_t i = 0, before = UINT64_MAX; i < CURVE_POINTS; i++) {
        uint64_t step = (steps - 1) * i / (CURVE_POINTS - 1);

        if (step != before && kept(step, steps))
            json_array_append_new(curve,
                                  json_pack("[I, o]", (json_int_t)step,
                                            number((double)losses[training_loss_slot(step)])));
        before = step;
    }
    free(losses);
    ret = json_pack("{s:I, s:o, s:o, s:o}", "steps", (json_int_t)steps, "first_nats", number(first),
                    "last_nats", number(last), "curve", curve);
    if (ret && !judged)
        json_object_set_new(ret, "fall",
                            json_sprintf("not judged: %llu steps ran, %llu are needed",
                                         (unsigned long long)steps,
                                         (unsigned long long)instance->parameters->loss_steps));
    return ret;
}
