#include "workloads/models/adamw_update.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/storage.h"

#define UPDATE_TOLERANCE 2e-6
#define SCALED_TOLERANCE                                                                           \
    ADAMW_UPDATE_TOLERANCE /* bias corrections carried on in fp32, transformer_scaling.h */
#define SMALLEST 1e-31     /* below this, squares and products leave fp32's normal range */

static const char update_reason[] =
    "a dozen fp32 roundings (2^-24 each) of the terms that a value is made of";
static const char scaled_reason[] = "a dozen fp32 roundings of the terms that a value is made of, "
                                    "and those of the bias corrections";

static enum status fetch(const struct adamw_update *update, struct buffer *buffer, enum dtype type,
                         float *ret, struct error *err)
{
    for (size_t i = 0; i < update->count; i++) {
        const struct adamw_window *window = &update->windows[i];

        TRY(storage_download(buffer, type, window->offset, window->count, ret, err));
        ret += window->count;
    }
    return STATUS_OK;
}

/* All but the gradients. */
static enum status fetch_arrays(const struct adamw_update *update, float *ret, struct error *err)
{
    const struct adamw_arrays *of = &update->arrays;
    const uint64_t room = update->room;

    TRY(fetch(update, of->weights, DTYPE_F32, ret + ADAMW_WEIGHT * room, err));
    TRY(fetch(update, of->moment1, DTYPE_F32, ret + ADAMW_MOMENT1 * room, err));
    return fetch(update, of->moment2, DTYPE_F32, ret + ADAMW_MOMENT2 * room, err);
}

enum status adamw_update_begin(struct adamw_update *update, struct error *err)
{
    for (size_t i = 0; i < update->count; i++)
        update->room += update->windows[i].count;
    update->before = malloc(ADAMW_ARRAYS * update->room * sizeof(*update->before));
    return update->before ? fetch_arrays(update, update->before, err) : error_no_memory(err);
}

enum status adamw_update_gradients(struct adamw_update *update, struct error *err)
{
    return fetch(update, update->arrays.gradients, update->arrays.storage,
                 update->before + ADAMW_GRADIENT * update->room, err);
}

const float *adamw_update_gradient(const struct adamw_update *update)
{
    return update->before + ADAMW_GRADIENT * update->room;
}

void adamw_update_finish(struct adamw_update *update)
{
    free(update->before);
    update->before = NULL;
}

/* Largest relative errors of the three arrays that a step writes. */
struct update_errors {
    double error[ADAMW_ARRAYS];
    uint64_t at[ADAMW_ARRAYS];
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
static void compare_window(const struct adamw_update *update, bool decays, const float *after,
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
        const double w = before[ADAMW_WEIGHT * room + i];
        const double g = before[ADAMW_GRADIENT * room + i] * update->inverse;
        double m = before[ADAMW_MOMENT1 * room + i], v = before[ADAMW_MOMENT2 * room + i];
        /* Sums of absolute terms: those of m may cancel, and w carries their rounding on. */
        const double m_terms = adamw->beta1 * fabs(m) + (1.0 - adamw->beta1) * fabs(g);
        const double wanted = adamw_reference(adamw, step, decay, w, g, &m, &v);
        const double w_terms =
            fabs(w) +
            adamw->rate * (m_terms / first / (sqrt(v / second) + adamw->epsilon) + decay * fabs(w));

        note_error(errors, ADAMW_WEIGHT, after[ADAMW_WEIGHT * room + i], wanted, w_terms, i);
        note_error(errors, ADAMW_MOMENT1, after[ADAMW_MOMENT1 * room + i], m, m_terms + SMALLEST,
                   i);
        note_error(errors, ADAMW_MOMENT2, after[ADAMW_MOMENT2 * room + i], v, v + SMALLEST, i);
        /* By more than one rounding. */
        moves |= fabs(wanted - w) > 0x1p-22 * fabs(w);
        moved |= after[ADAMW_WEIGHT * room + i] != before[ADAMW_WEIGHT * room + i];
    }
    errors->still += moves && !moved;
}

static void report_update(const struct adamw_update *update, const struct update_errors *errors,
                          bool scaled, struct check_sink *sink)
{
    static const char *const names[ADAMW_ARRAYS] = {"adamw.parameters", NULL, "adamw.m", "adamw.v"};
    const struct workload_check still = {
        .output = "adamw.still",
        .error = (double)errors->still,
        .metric = "count",
        .reason = "no part of a tensor stays as it was where the formula moves it",
        .compared = update->count,
    };
    char detail[64];

    for (size_t a = 0; a < ADAMW_ARRAYS; a++) {
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
static enum status check_copy(const struct adamw_update *update, const float *after,
                              struct check_sink *sink, struct error *err)
{
    const enum dtype storage = update->arrays.storage;
    struct workload_check check = {
        .output = "adamw.copy",
        .metric = "max_absolute",
        .reason = "the narrow parameters are the master weights, rounded to nearest even",
        .compared = update->room,
    };
    AUTO_FREE float *got = malloc(update->room * sizeof(*got));

    TRY(got ? fetch(update, update->arrays.copy, storage, got, err) : error_no_memory(err));
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

void adamw_update_compare(const struct adamw_update *update, const float *after, bool scaled,
                          struct check_sink *sink)
{
    struct update_errors errors = {0};
    uint64_t at = 0;

    for (size_t i = 0; i < update->count; i++) {
        const struct adamw_window *window = &update->windows[i];

        compare_window(update, window->decay, after, at, window->count, &errors);
        at += window->count;
    }
    report_update(update, &errors, scaled, sink);
}

enum status adamw_update_check(const struct adamw_update *update, bool scaled,
                               struct check_sink *sink, struct error *err)
{
    AUTO_FREE float *after = malloc(ADAMW_ARRAYS * update->room * sizeof(*after));

    TRY(after ? fetch_arrays(update, after, err) : error_no_memory(err));
    adamw_update_compare(update, after, scaled, sink);
    return update->arrays.copy ? check_copy(update, after + ADAMW_WEIGHT * update->room, sink, err)
                               : STATUS_OK;
}
