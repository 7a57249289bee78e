/*
 * AdamW moves its own state, so its check needs more than a reference of one iteration. The
 * gradient stays the same, m and v start from 0; then in exact arithmetic, after t steps, m = (1 -
 * beta1^t) g     v = (1 - beta2^t) g^2     and each step moves w by the same w <- a w - b,  a = 1 -
 * rate * weight_decay,  b = rate g / (|g| + epsilon) w = a^t w0 - b (1 - a^t) / (1 - a) which
 * checks every step since the start, all elements, on the state as the window left it. It also
 * bounds the state for ever: |w| <= max(|w0|, 1 / weight_decay), |m| <= |g|, v <= g^2; and no value
 * becomes denormal, since |g| >= 0.01. A last step is then made and checked by itself, on a sample,
 * to the tolerance of one step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/memory_bound/reference.h"

#define RATE 1e-4
#define BETA1 0.9
#define BETA2 0.999
#define EPSILON 1e-8
#define WEIGHT_DECAY 0.01

#define SAMPLE_TILES 16
#define SAMPLE_TILE_ELEMENTS ((uint64_t)1 << 16)
#define SPOT_TILE_ELEMENTS 256

enum { G, W, M, V };

static const char *const step_names[] = {[W] = "w.step", [M] = "m.step", [V] = "v.step"};
static const double step_roundings[] = {[W] = 2.0, [M] = 3.0, [V] = 4.0};

struct memory_adamw memory_adamw_at(uint64_t step)
{
    const double t = (double)step;

    return (struct memory_adamw){
        .beta1 = (float)BETA1,
        .beta2 = (float)BETA2,
        .decay = (float)(1.0 - RATE * WEIGHT_DECAY),
        .step = (float)(RATE / (1.0 - pow((double)(float)BETA1, t))),
        .root = (float)(1.0 / sqrt(1.0 - pow((double)(float)BETA2, t))),
        .epsilon = (float)EPSILON,
    };
}

/* ---- all steps since the start ---- */

/* Roundings in m and v: at most 3 a step, of which those of 1/(1-beta) steps remain (factor beta).
 */
static double roundings_m(double t)
{
    return 3.0 * fmin(t, 1.0 / (1.0 - BETA1)) + 1.0;
}

static double roundings_v(double t)
{
    return 3.0 * fmin(t, 1.0 / (1.0 - BETA2)) + 1.0;
}

/*
 * A step rounds w once, and moves it by an update of size RATE that carries m's roundings, half of
 * v's and 24 of its own (quotients and a root by OpenCL's limits): that is the step's magnitude.
 * The decay forgets after 1/(rate * weight_decay) steps.
 */
static double roundings_w(double t)
{
    return fmin(t, 1.0 / (RATE * WEIGHT_DECAY)) + 1.0;
}

/* The closed form's coefficients after t steps. */
struct history {
    double m, v;        /* of g and g^2 */
    double power, sum;  /* a^t, and (1 - a^t) / (1 - a) */
    double update_size; /* how much the updates' own errors count, in magnitude */
};

static struct history history_at(double t)
{
    const double decay = (double)(float)(1.0 - RATE * WEIGHT_DECAY);
    const double power = pow(decay, t);

    return (struct history){
        .m = 1.0 - pow((double)(float)BETA1, t),
        .v = 1.0 - pow((double)(float)BETA2, t),
        .power = power,
        .sum = (1.0 - power) / (1.0 - decay),
        .update_size = RATE * (1.0 + roundings_m(t) + roundings_v(t) / 2.0 + 24.0),
    };
}

static struct memory_expected expect_after(const struct memory_data *data,
                                           const struct history *history, int array, uint64_t index)
{
    const double g = memory_value(data, G, index);
    double start, value;

    if (array != W) {
        value = array == M ? history->m * g : history->v * g * g;
        return (struct memory_expected){value, fabs(value)};
    }
    start = memory_value(data, W, index);
    value = history->power * start - RATE * g / (fabs(g) + (double)(float)EPSILON) * history->sum;
    return (struct memory_expected){value, fmax(fabs(start), fabs(value)) + history->update_size};
}

static void expect_history(const struct memory_data *data, int array, uint64_t begin,
                           uint64_t count, struct memory_expected *ret)
{
    const struct history history = history_at((double)data->step);

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i)
        ret[i] = expect_after(data, &history, array, begin + i);
}

void memory_reference_adamw_w(const struct memory_data *data, uint64_t begin, uint64_t count,
                              struct memory_expected *ret)
{
    expect_history(data, W, begin, count, ret);
}

void memory_reference_adamw_m(const struct memory_data *data, uint64_t begin, uint64_t count,
                              struct memory_expected *ret)
{
    expect_history(data, M, begin, count, ret);
}

void memory_reference_adamw_v(const struct memory_data *data, uint64_t begin, uint64_t count,
                              struct memory_expected *ret)
{
    expect_history(data, V, begin, count, ret);
}

double memory_roundings_adamw_w(const struct memory_instance *instance)
{
    return roundings_w((double)instance->data.step);
}

double memory_roundings_adamw_m(const struct memory_instance *instance)
{
    return roundings_m((double)instance->data.step);
}

double memory_roundings_adamw_v(const struct memory_instance *instance)
{
    return roundings_v((double)instance->data.step);
}

/* ---- one step by itself ---- */

struct sample {
    uint64_t tile, tiles; /* elements of a tile */
    uint64_t begins[SAMPLE_TILES];
    float *before[4], *after[4];
};

static void sample_finish(struct sample *sample)
{
    for (size_t i = 0; i < 4; ++i) {
        free(sample->before[i]);
        free(sample->after[i]);
    }
}

/* Tiles of at most `tile` elements: drawn by the secret, or spread evenly where it is NULL. */
static enum status sample_init(struct sample *sample, uint64_t count, const uint64_t *secret,
                               struct error *err)
{
    const uint64_t tile = secret != NULL ? SPOT_TILE_ELEMENTS : SAMPLE_TILE_ELEMENTS;

    sample->tile = count < tile ? count : tile;
    sample->tiles = count / sample->tile < SAMPLE_TILES ? count / sample->tile : SAMPLE_TILES;
    for (uint64_t i = 0; i < sample->tiles; ++i)
        if (secret != NULL)
            sample->begins[i] = random_at(*secret, 1, i) % (count - sample->tile + 1);
        else if (sample->tiles > 1)
            sample->begins[i] = (count - sample->tile) / (sample->tiles - 1) * i;
    for (int i = W; i <= V; ++i) {
        sample->before[i] = malloc(sample->tile * sample->tiles * sizeof(float));
        sample->after[i] = malloc(sample->tile * sample->tiles * sizeof(float));
        if (sample->before[i] == NULL || sample->after[i] == NULL)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

static enum status sample_download(const struct sample *sample, struct memory_instance *instance,
                                   float *const arrays[4], struct error *err)
{
    for (int i = W; i <= V; ++i)
        for (uint64_t tile = 0; tile < sample->tiles; ++tile)
            TRY(device_download(instance->arrays[i], sample->begins[tile] * sizeof(float),
                                arrays[i] + tile * sample->tile, sample->tile * sizeof(float),
                                err));
    return STATUS_OK;
}

/* The step that led from `before` to `after`; data.step counts it already. */
static struct memory_expected expect_step(const struct memory_instance *instance, int array,
                                          double g, double w, double m, double v)
{
    const struct memory_adamw a = memory_adamw_at(instance->data.step);
    const double m_own = (double)a.beta1 * m, m_new = (1.0 - (double)a.beta1) * g;
    const double v_own = (double)a.beta2 * v, v_new = (1.0 - (double)a.beta2) * g * g;
    const double update = (double)a.step * (m_own + m_new) /
                          (sqrt(v_own + v_new) * (double)a.root + (double)a.epsilon);

    if (array == M)
        return (struct memory_expected){m_own + m_new, fabs(m_own) + fabs(m_new)};
    if (array == V)
        return (struct memory_expected){v_own + v_new, v_own + v_new};
    return (struct memory_expected){(double)a.decay * w - update,
                                    fabs((double)a.decay * w) + 12.0 * fabs(update)};
}

static void check_step(const struct memory_instance *instance, const struct sample *sample,
                       int array, struct check_sink *sink)
{
    /* w: 1 of the sum, up to 24 of the update, which its magnitude counts twelvefold. */
    struct memory_worst worst = {0};

    for (uint64_t tile = 0; tile < sample->tiles; ++tile) {
        const uint64_t begin = sample->begins[tile];

        for (uint64_t i = 0; i < sample->tile; ++i) {
            const uint64_t at = tile * sample->tile + i;
            const double got = (double)sample->after[array][at];
            const struct memory_expected expected =
                expect_step(instance, array, memory_value(&instance->data, G, begin + i),
                            (double)sample->before[W][at], (double)sample->before[M][at],
                            (double)sample->before[V][at]);

            memory_compare(&worst, begin + i, 1, &got, &expected);
        }
    }
    memory_conclude(instance, step_names[array], &worst, step_roundings[array] * MEMORY_U,
                    "roundings of one step from the state before it", sink);
}

double memory_step_tolerance(const char *output)
{
    for (int i = W; i <= V; i++)
        if (!strcmp(output, step_names[i]))
            return step_roundings[i] * MEMORY_U;
    return WORKLOAD_NO_CHECK;
}

enum status memory_check_step(struct memory_instance *instance, const uint64_t *secret,
                              struct check_sink *sink, struct error *err)
{
    CLEANUP(sample_finish) struct sample sample = {0};

    TRY(sample_init(&sample, instance->data.sizes.elements, secret, err));
    TRY(sample_download(&sample, instance, sample.before, err));
    TRY(check_iterate_timed(&instance->base, instance->arrays[W], 0, err));
    TRY(sample_download(&sample, instance, sample.after, err));
    for (int i = W; i <= V; ++i)
        check_step(instance, &sample, i, sink);
    return STATUS_OK;
}
