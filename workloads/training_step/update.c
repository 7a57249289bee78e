#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/storage.h"
#include "harness/core/cleanup.h"
#include "workloads/training_step/training_step.h"

#define UPDATE_TOLERANCE 2e-6
#define SCALED_TOLERANCE                                                                           \
    TRAINING_UPDATE_TOLERANCE /* bias corrections carried on in fp32, transformer_scaling.h */
#define SMALLEST 1e-31        /* below this, squares and products leave fp32's normal range */

static const char update_reason[] =
    "a dozen fp32 roundings (2^-24 each) of the terms that a value is made of";
static const char scaled_reason[] = "a dozen fp32 roundings of the terms that a value is made of, "
                                    "and those of the bias corrections";

enum {
    WEIGHT = TRAINING_WEIGHT,
    GRADIENT = TRAINING_GRADIENT,
    MOMENT1 = TRAINING_MOMENT1,
    MOMENT2 = TRAINING_MOMENT2,
    ARRAYS = TRAINING_ARRAYS
};

static enum status fetch(struct training_instance *instance, const struct training_update *update,
                         enum gpt2_buffer buffer, float *ret, struct error *err)
{
    for (size_t i = 0; i < update->count; i++) {
        const struct training_window *window = &update->windows[i];

        TRY(gpt2_device_fetch(instance->gpt2.model, buffer, window->offset, window->count, ret,
                              err));
        ret += window->count;
    }
    return STATUS_OK;
}

/* All but the gradients. */
static enum status fetch_arrays(struct training_instance *instance,
                                const struct training_update *update, float *ret, struct error *err)
{
    const uint64_t room = update->room;

    TRY(fetch(instance, update, gpt2_device_weights(instance->gpt2.model), ret + WEIGHT * room,
              err));
    TRY(fetch(instance, update, GPT2_MOMENT1, ret + MOMENT1 * room, err));
    return fetch(instance, update, GPT2_MOMENT2, ret + MOMENT2 * room, err);
}

enum status training_update_begin(struct training_instance *instance,
                                  const struct training_window *windows, size_t count,
                                  struct training_update *ret, struct error *err)
{
    struct op_scaling_state state;

    *ret = (struct training_update){
        .windows = windows,
        .count = count,
        .adamw = training_adamw(instance->parameters, instance->steps + 1),
        .step = instance->steps + 1,
        .inverse = 1.0,
    };
    for (size_t i = 0; i < count; i++)
        ret->room += windows[i].count;
    ret->before = malloc(ARRAYS * ret->room * sizeof(*ret->before));
    TRY(ret->before ? fetch_arrays(instance, ret, ret->before, err) : error_no_memory(err));
    if (instance->gpt2.model->plan.scale == 0.0)
        return STATUS_OK;
    TRY(gpt2_device_scaling(instance->gpt2.model, &state, err));
    ret->step = state.taken + 1;
    ret->inverse = 1.0 / (double)state.scale;
    return STATUS_OK;
}

enum status training_update_gradients(struct training_instance *instance,
                                      struct training_update *update, struct error *err)
{
    return fetch(instance, update, GPT2_GRADIENTS, update->before + GRADIENT * update->room, err);
}

const float *training_update_gradient(const struct training_update *update)
{
    return update->before + GRADIENT * update->room;
}

void training_update_finish(struct training_update *update)
{
    free(update->before);
    update->before = NULL;
}

/* Largest relative errors of the three arrays that a step writes. */
struct update_errors {
    double error[ARRAYS];
    uint64_t at[ARRAYS];
    uint64_t still; /* windows */
};

static void note_error(struct update_errors *errors, int array, double got, double wanted,
                       double scale, uint64_t at)
{
    const double error = got == wanted ? 0.0 : fabs(got - wanted) / scale;

    if (error > errors->error[array] || (isnan(error) && !isnan(errors->error[array]))) {
        errors->error[array] = error;
        errors->at[array] = at;
    }
}

/* One window, which begins at element `at` of all. */
static void compare_window(const struct training_update *update, bool decays, const float *after,
                           uint64_t at, uint64_t count, struct update_errors *errors)
{
    const struct adamw *adamw = &update->adamw;
    const uint64_t step = update->step, room = update->room;
    const float *before = update->before;
    const double first = 1.0 - pow(adamw->beta1, (double)step);
    const double second = 1.0 - pow(adamw->beta2, (double)step);
    const double decay = decays ? adamw->decay : 0.0;
    bool moves = false, moved = false;

    for (uint64_t i = at; i < at + count; i++) {
        const double w = before[WEIGHT * room + i];
        const double g = before[GRADIENT * room + i] * update->inverse;
        double m = before[MOMENT1 * room + i], v = before[MOMENT2 * room + i];
        /* Sums of absolute terms: those of m may cancel, and w carries their rounding on. */
        const double m_terms = adamw->beta1 * fabs(m) + (1.0 - adamw->beta1) * fabs(g);
        const double wanted = adamw_reference(adamw, step, decay, w, g, &m, &v);
        const double w_terms =
            fabs(w) +
            adamw->rate * (m_terms / first / (sqrt(v / second) + adamw->epsilon) + decay * fabs(w));

        note_error(errors, WEIGHT, after[WEIGHT * room + i], wanted, w_terms, i);
        note_error(errors, MOMENT1, after[MOMENT1 * room + i], m, m_terms + SMALLEST, i);
        note_error(errors, MOMENT2, after[MOMENT2 * room + i], v, v + SMALLEST, i);
        /* By more than one rounding. */
        moves |= fabs(wanted - w) > 0x1p-22 * fabs(w);
        moved |= after[WEIGHT * room + i] != before[WEIGHT * room + i];
    }
    errors->still += moves && !moved;
}

static void report_update(const struct training_update *update, const struct update_errors *errors,
                          bool scaled, struct check_sink *sink)
{
    static const char *const names[ARRAYS] = {"adamw.parameters", NULL, "adamw.m", "adamw.v"};
    const struct workload_check still = {
        .output = "adamw.still",
        .error = (double)errors->still,
        .metric = "count",
        .reason = "no part of a tensor stays as it was where the formula moves it",
        .compared = update->count,
    };
    char detail[64];

    for (size_t a = 0; a < ARRAYS; a++) {
        const struct workload_check check = {
            .output = names[a],
            .error = errors->error[a],
            .tolerance = scaled ? SCALED_TOLERANCE : UPDATE_TOLERANCE,
            .metric = "max_scaled",
            .reason = scaled ? scaled_reason : update_reason,
            .compared = update->room,
        };

        if (!names[a])
            continue;
        snprintf(detail, sizeof(detail), "worst at element %llu of those compared",
                 (unsigned long long)errors->at[a]);
        check_sink_report(sink, check, detail);
    }
    check_sink_report(sink, still, "windows that the step left as they were");
}

/* The parameters are the master weights in `after`, rounded. */
static enum status check_copy(struct training_instance *instance,
                              const struct training_update *update, const float *after,
                              struct check_sink *sink, struct error *err)
{
    const enum dtype storage = instance->gpt2.model->plan.storage;
    struct workload_check check = {
        .output = "adamw.copy",
        .metric = "max_absolute",
        .reason = "the narrow parameters are the master weights, rounded to nearest even",
        .compared = update->room,
    };
    AUTO_FREE float *got = malloc(update->room * sizeof(*got));

    TRY(got ? fetch(instance, update, GPT2_PARAMETERS, got, err) : error_no_memory(err));
    for (uint64_t i = 0; i < update->room; i++) {
        uint16_t narrow;
        float wanted;

        storage_encode(storage, &after[i], 1, &narrow);
        storage_decode(storage, &narrow, 1, &wanted);
        check.error = fmax(check.error, fabs((double)got[i] - (double)wanted));
        if (isnan(got[i]) != isnan(wanted))
            check.error = DBL_MAX;
    }
    check_sink_report(sink, check, "a parameter is not its master weight, rounded");
    return STATUS_OK;
}

void training_update_compare(const struct training_update *update, const float *after, bool scaled,
                             struct check_sink *sink)
{
    struct update_errors errors = {0};
    uint64_t at = 0;

    for (size_t i = 0; i < update->count; i++) {
        const struct training_window *window = &update->windows[i];

        compare_window(update, window->decay, after, at, window->count, &errors);
        at += window->count;
    }
    report_update(update, &errors, scaled, sink);
}

enum status training_update_check(struct training_instance *instance,
                                  const struct training_update *update, struct check_sink *sink,
                                  struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    AUTO_FREE float *after = malloc(ARRAYS * update->room * sizeof(*after));

    TRY(after ? fetch_arrays(instance, update, after, err) : error_no_memory(err));
    training_update_compare(update, after, model->plan.scale > 0.0, sink);
    if (model->buffers[GPT2_MASTER])
        TRY(check_copy(instance, update, after + WEIGHT * update->room, sink, err));
    return STATUS_OK;
}
