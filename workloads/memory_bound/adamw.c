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

#include "harness/core/random.h"
#include "workloads/memory_bound/memory_bound.h"

#define RATE 1e-4
#define BETA1 0.9
#define BETA2 0.999
#define EPSILON 1e-8
#define WEIGHT_DECAY 0.01

#define TILE_ELEMENTS ((uint64_t)1 << 20)
#define SAMPLE_TILES 16
#define SAMPLE_TILE_ELEMENTS ((uint64_t)1 << 16)
#define SPOT_TILE_ELEMENTS 256

enum { G, W, M, V };

static const char *const state_names[] = {[W] = "w", [M] = "m", [V] = "v"};
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

static double roundings_after(int array, double t)
{
    return array == M ? roundings_m(t) : array == V ? roundings_v(t) : roundings_w(t);
}

static enum status check_history(struct memory_instance *instance, int array,
                                 workload_check_fn *report, void *context, struct error *err)
{
    const struct memory_data *data = &instance->data;
    const uint64_t count = data->sizes.elements;
    const uint64_t tile = count < TILE_ELEMENTS ? count : TILE_ELEMENTS;
    const double t = (double)instance->step;
    const struct history history = history_at(t);
    struct memory_expected *expected = malloc(tile * sizeof(*expected));
    double *got = malloc(tile * sizeof(*got));
    float *floats = malloc(tile * sizeof(*floats));
    struct memory_worst worst = {0};
    enum status status = STATUS_OK;

    if (expected == NULL || got == NULL || floats == NULL)
        status = error_no_memory(err);
    for (uint64_t begin = 0; begin < count && status == STATUS_OK; begin += tile) {
        const uint64_t part = count - begin < tile ? count - begin : tile;

        status = device_download(instance->arrays[array], begin * sizeof(float), floats,
                                 part * sizeof(float), err);
        if (status != STATUS_OK)
            break;
        memory_decode(MEMORY_F32, DTYPE_F32, floats, part, got);
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < part; ++i)
            expected[i] = expect_after(data, &history, array, begin + i);
        memory_compare(&worst, begin, part, got, expected);
    }
    free(floats);
    free(got);
    free(expected);
    if (status != STATUS_OK)
        return status;
    return memory_conclude(
        instance, state_names[array], &worst, roundings_after(array, t) * MEMORY_U,
        "roundings of all steps since the start against the closed form", report, context, err);
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
static enum status sample_init(struct sample *sample, uint64_t count, uint64_t tile,
                               const uint64_t *secret, struct error *err)
{
    memset(sample, 0, sizeof(*sample));
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
        if (sample->before[i] == NULL || sample->after[i] == NULL) {
            sample_finish(sample);
            return error_no_memory(err);
        }
    }
    return STATUS_OK;
}

static enum status sample_download(const struct sample *sample, struct memory_instance *instance,
                                   float *const arrays[4], struct error *err)
{
    enum status status = STATUS_OK;

    for (int i = W; i <= V; ++i)
        for (uint64_t tile = 0; tile < sample->tiles && status == STATUS_OK; ++tile)
            status =
                device_download(instance->arrays[i], sample->begins[tile] * sizeof(float),
                                arrays[i] + tile * sample->tile, sample->tile * sizeof(float), err);
    return status;
}

/* The step that led from `before` to `after`; instance->step counts it already. */
static struct memory_expected expect_step(const struct memory_instance *instance, int array,
                                          double g, double w, double m, double v)
{
    const struct memory_adamw a = memory_adamw_at(instance->step);
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

static enum status check_step(struct memory_instance *instance, const struct sample *sample,
                              int array, workload_check_fn *report, void *context,
                              struct error *err)
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
    return memory_conclude(instance, step_names[array], &worst, step_roundings[array] * MEMORY_U,
                           "roundings of one step from the state before it", report, context, err);
}

double memory_adamw_tolerance(const char *output)
{
    static const int states[] = {W, M, V};

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (!strcmp(output, step_names[states[i]]))
            return step_roundings[states[i]] * MEMORY_U;
        if (!strcmp(output, state_names[states[i]]))
            return roundings_after(states[i], INFINITY) * MEMORY_U;
    }
    return -1.0;
}

/* One more step, checked at the sample's places. After a failed check the others are reported, too.
 */
static enum status run_step(struct memory_instance *instance, struct sample *sample,
                            workload_check_fn *report, void *context, struct error *err)
{
    struct error check_error = ERROR_INIT;
    bool failed = false;
    enum status status = sample_download(sample, instance, sample->before, err);

    if (status == STATUS_OK)
        status = memory_iterate(&instance->base, err);
    if (status == STATUS_OK)
        status = device_synchronize(instance->base.device, err);
    if (status == STATUS_OK)
        status = sample_download(sample, instance, sample->after, err);
    for (int i = W; i <= V && status == STATUS_OK; ++i)
        failed |= check_step(instance, sample, i, report, context, failed ? NULL : &check_error) !=
                  STATUS_OK;
    return failed ? error_set(err, STATUS_CHECK_FAILED, "%s", check_error.message) : status;
}

enum status memory_spot_check_adamw(struct memory_instance *instance, uint64_t secret,
                                    workload_check_fn *report, void *context, struct error *err)
{
    struct sample sample;
    enum status status =
        sample_init(&sample, instance->data.sizes.elements, SPOT_TILE_ELEMENTS, &secret, err);

    if (status != STATUS_OK)
        return status;
    status = run_step(instance, &sample, report, context, err);
    sample_finish(&sample);
    return status;
}

enum status memory_verify_adamw(struct memory_instance *instance, workload_check_fn *report,
                                void *context, struct error *err)
{
    struct sample sample;
    struct error check_error = ERROR_INIT;
    bool failed = false;
    enum status status = STATUS_OK;

    /* After a failed check the others are still reported; the first one is the error. */
    for (int i = W; i <= V; ++i) {
        status = check_history(instance, i, report, context, failed ? NULL : &check_error);
        if (status == STATUS_CHECK_FAILED)
            failed = true;
        else if (status != STATUS_OK)
            return error_set(err, status, "%s", failed ? "checking adamw" : check_error.message);
    }
    status = sample_init(&sample, instance->data.sizes.elements, SAMPLE_TILE_ELEMENTS, NULL, err);
    if (status != STATUS_OK)
        return status;
    status = run_step(instance, &sample, report, context, failed ? NULL : err);
    sample_finish(&sample);
    return failed ? error_set(err, STATUS_CHECK_FAILED, "%s", check_error.message) : status;
}
