/* A cell's losses, loss scale, calibration, weights in few bits and routing, from its facts. */
#include "reports/view.h"

#include <math.h>

#include "harness/core/member.h"

static const json_t *loss_of(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const json_t *loss = json_object_get(cell->trials[i].facts, "loss");

        if (cell->trials[i].estimate && json_is_number(json_object_get(loss, "first_nats")) &&
            json_is_number(json_object_get(loss, "last_nats")))
            return loss;
    }
    return NULL;
}

/*
 * The losses of a training, and how far they are from fp32's at the same steps, in a phrase; from
 * the first trial that counts. False: the facts have no losses.
 */
static bool view_loss_words(const struct view_cell *cell, struct text *ret)
{
    const json_t *loss = loss_of(cell), *fp32 = json_object_get(loss, "fp32");
    const json_t *apart = json_object_get(fp32, "largest_difference_nats");
    const char *missing = member_string(fp32, "missing");

    if (!loss)
        return false;
    text_append_format(ret, "%.4g to %.4g nats in %lld steps", member_real(loss, "first_nats"),
                       member_real(loss, "last_nats"), member_integer(loss, "steps"));
    if (json_is_number(apart))
        text_append_format(ret,
                           "; at most %.2g nats from fp32 at the same step, over the first %lld",
                           json_number_value(apart), member_integer(fp32, "compared"));
    else if (missing)
        text_append_format(ret, "; fp32 at the same steps is missing: %s", missing);
    else if (fp32)
        text_append(ret, "; not compared with fp32: the steps were not the same");
    return true;
}

static const json_t *fact_of(const struct view_cell *cell, const char *name)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const json_t *fact = json_object_get(cell->trials[i].facts, name);

        if (cell->trials[i].estimate && json_is_object(fact))
            return fact;
    }
    return NULL;
}

/* Of fp16: "65536 at first, 32768 at the end; 1 of 9 steps overflowed and were skipped". */
static bool view_loss_scale_words(const struct view_cell *cell, struct text *ret)
{
    const json_t *scale = fact_of(cell, "loss_scale");
    const json_t *before = json_object_get(scale, "steps_before_first_skipped");
    const long long skipped = member_integer(scale, "steps_skipped");

    if (!scale)
        return false;
    text_append_format(ret, "%.9g at first, %.9g at the end; ", member_real(scale, "initial"),
                       member_real(scale, "last"));
    if (skipped == 0)
        text_append(ret, "no step overflowed");
    else
        text_append_format(ret, "%lld of %lld steps overflowed and were skipped", skipped,
                           skipped + member_integer(scale, "steps_taken"));
    if (json_is_integer(before))
        text_append_format(ret, ", the first after %lld", (long long)json_integer_value(before));
    return true;
}

/* How the scales of int8's activations were found, and which. */
static bool view_calibration_words(const struct view_cell *cell, struct text *ret)
{
    const json_t *int8 = fact_of(cell, "int8");
    const json_t *calibration = json_object_get(int8, "calibration");
    const json_t *gemms = json_object_get(int8, "gemms");
    const char *precision = member_string(calibration, "precision");
    double least = 0.0, largest = 0.0, clipped = 0.0;

    if (!calibration || json_array_size(gemms) == 0)
        return false;
    EACH(gemm, gemms) {
        const double scale = member_real(gemm, "scale");
        const double part = member_real(gemm, "clipped_part");

        least = gemm_at == 0 || scale < least ? scale : least;
        largest = scale > largest ? scale : largest;
        clipped = part > clipped ? part : clipped;
    }
    text_append_format(ret,
                       "percentile %.6g over %lld sequences in %s; %zu GEMM inputs, "
                       "scales %.3g to %.3g, at most %.2g %% of values clipped",
                       member_real(calibration, "percentile"),
                       member_integer(calibration, "sequences"),
                       precision ? precision : "an unknown precision", json_array_size(gemms),
                       least, largest, 100.0 * clipped);
    return true;
}

/* "7504658432 in int4, 4.125 bits each; rounding error 12 % of their RMS, ...". */
static bool view_weights_words(const struct view_cell *cell, struct text *ret)
{
    const json_t *weights = fact_of(cell, "weights");
    const json_t *rounding = json_object_get(weights, "rounding");
    const json_t *error = json_object_get(weights, "output_error");
    const char *format = member_string(weights, "format");

    if (!format)
        return false;
    text_append_format(ret, "%lld in %s, %.4g bits each", member_integer(weights, "parameters"),
                       format, member_real(weights, "bits"));
    if (json_is_number(rounding))
        text_append_format(ret, "; rounding error %.2g %% of their RMS",
                           100.0 * json_number_value(rounding));
    if (json_is_number(error))
        text_append_format(ret, ", error of the output %.2g %% against exact weights",
                           100.0 * json_number_value(error));
    return true;
}

/*
 * Of mixtures of experts, from the first trial that counts: "zipf; 16 tokens, 1 an expert; 80 to 91
 * of 128 experts touched in a layer, the largest 6 to 9 times the mean".
 */
static bool view_routing_words(const struct view_cell *cell, struct text *ret)
{
    const json_t *routing = NULL, *first;
    double least = INFINITY, most = 0.0, low = INFINITY, high = 0.0;

    for (size_t i = 0; i < cell->trial_count && !routing; ++i)
        if (cell->trials[i].estimate)
            routing = json_object_get(cell->trials[i].facts, "routing");
    first = json_array_get(routing, 0);
    if (!first)
        return false;
    EACH(layer, routing) {
        const double touched = member_real(layer, "touched");
        const double imbalance = member_real(layer, "largest_over_mean");

        least = fmin(least, touched);
        most = fmax(most, touched);
        low = fmin(low, imbalance);
        high = fmax(high, imbalance);
    }
    text_append_format(ret,
                       "%s; %.3g tokens an expert; %.4g to %.4g of %lld experts touched in a "
                       "layer, the largest %.3g to %.3g times the mean",
                       member_string(first, "law") ? member_string(first, "law") : "unknown",
                       member_real(first, "tokens_mean"), least, most,
                       member_integer(first, "experts"), low, high);
    return true;
}

const struct view_phrase view_phrases[] = {
    {"attention", "Attention", view_attention_words},
    {"loss", "Loss", view_loss_words},
    {"loss scale", "Loss scale", view_loss_scale_words},
    {"calibration", "Calibration", view_calibration_words},
    {"weights", "Weights", view_weights_words},
    {"routing", "Routing", view_routing_words},
};
const size_t view_phrase_count = sizeof(view_phrases) / sizeof(view_phrases[0]);
