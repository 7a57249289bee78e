#include "tests/calibration/generator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/stats/distribution.h"

#define CLOCK_HZ 1.5e9
#define CLOCK_STEP_HZ 15e6
/* Mean factor of a spike: uniform between 1.5 and 10. */
#define SPIKE_LEAST 1.5
#define SPIKE_MOST 10.0

/* AR(2) noise of variance 1, from its stationary distribution (Brockwell and Davis, 3.3). */
struct noise {
    double phi, phi2, innovation;
    double last, before;
};

static void noise_start(struct noise *noise, const struct generator *g, struct random *random)
{
    double rho = g->phi / (1 - g->phi2);

    noise->phi = g->phi;
    noise->phi2 = g->phi2;
    noise->innovation =
        sqrt((1 + g->phi2) * ((1 - g->phi2) * (1 - g->phi2) - g->phi * g->phi) / (1 - g->phi2));
    noise->before = random_next_normal(random);
    noise->last = rho * noise->before + sqrt(1 - rho * rho) * random_next_normal(random);
}

static double noise_next(struct noise *noise, struct random *random)
{
    double next = noise->phi * noise->last + noise->phi2 * noise->before +
                  noise->innovation * random_next_normal(random);

    noise->before = noise->last;
    noise->last = next;
    return next;
}

static struct truth truth_of(const struct generator *g)
{
    struct truth truth = {ESTIMATE_STEADY, GENERATOR_LEVEL_NS, 0};
    double n = (double)g->count;

    switch (g->kind) {
    case GENERATOR_APPROACH:
        truth.verdict = ESTIMATE_WARMUP;
        break;
    case GENERATOR_STEP:
        truth.verdict = ESTIMATE_WARMUP;
        truth.steady_from = (size_t)(g->where * n);
        break;
    case GENERATOR_SLOWDOWN:
        truth.verdict = ESTIMATE_SLOWDOWN;
        break;
    case GENERATOR_DRIFT:
        truth.verdict = ESTIMATE_DRIFT;
        truth.mean_ns = NAN;
        break;
    case GENERATOR_LATE_SHIFT:
        truth.verdict = ESTIMATE_NON_STATIONARY;
        truth.mean_ns = NAN;
        truth.steady_from = (size_t)(g->where * n);
        break;
    case GENERATOR_TWO_STATE:
        truth.verdict = ESTIMATE_BIMODAL;
        truth.mean_ns = GENERATOR_LEVEL_NS * (1 + 0.5 * g->size);
        break;
    case GENERATOR_LEVELS:
        truth.verdict = ESTIMATE_BIMODAL;
        truth.mean_ns *= 1 + g->where * (g->size + 0.5 * g->shape);
        break;
    case GENERATOR_RAMP:
        truth.verdict = g->shape < 1 ? ESTIMATE_WARMUP : ESTIMATE_DRIFT;
        truth.mean_ns = g->shape < 1 ? truth.mean_ns : NAN;
        truth.steady_from = (size_t)(g->shape * n);
        break;
    case GENERATOR_POWER_LAW: /* the level at the end */
        truth.verdict = ESTIMATE_WARMUP;
        truth.mean_ns *= 1 + g->size * pow(1 + 1 / g->where, -g->shape);
        break;
    case GENERATOR_RANDOM_WALK:
        truth.verdict = ESTIMATE_UNDETERMINED;
        truth.mean_ns = NAN;
        break;
    case GENERATOR_LONG_MEMORY:
        truth.verdict = ESTIMATE_UNDETERMINED;
        break;
    case GENERATOR_DISTURBANCE:
        truth.mean_ns *= 1 + g->size * (g->shape - g->where);
        break;
    case GENERATOR_BURSTS:
    case GENERATOR_RARE_BURSTS:
        truth.mean_ns *= 1 + g->size * g->shape / g->where;
        break;
    case GENERATOR_STATIONARY:
    case GENERATOR_LOGNORMAL:
    case GENERATOR_PERIODIC:
    case GENERATOR_HEAVY_TAILS:
    case GENERATOR_PARETO:
    case GENERATOR_CLOCK:
        break;
    }
    truth.mean_ns *= 1 + g->spikes * (0.5 * (SPIKE_LEAST + SPIKE_MOST) - 1);
    return truth;
}

/* The clock in its steps; its reciprocal's mean has no closed form, so that truth is NAN. */
static double clock_factor(double deviation)
{
    double hz = CLOCK_STEP_HZ * floor(CLOCK_HZ * (1 + deviation) / CLOCK_STEP_HZ + 0.5);

    return CLOCK_HZ / fmax(hz, CLOCK_STEP_HZ);
}

/* t with 3 degrees of freedom, of variance 1: normal / sqrt(chi squared), as 3 is its variance. */
static double heavy_tails(struct random *random)
{
    double squares = 0;

    for (size_t i = 0; i < 3; i++) {
        double z = random_next_normal(random);

        squares += z * z;
    }
    return random_next_normal(random) / sqrt(squares);
}

/* Of RAMP and POWER_LAW at sample t, from 1 at the start. */
static double load_timeline(const struct generator *g, double t)
{
    double at = t / (double)g->count;

    if (g->kind == GENERATOR_POWER_LAW)
        return pow(1 + at / g->where, -g->shape);
    return at < g->where ? 1 : at < g->shape ? (g->shape - at) / (g->shape - g->where) : 0;
}

/* Samples left of a burst of GENERATOR_BURSTS and RARE_BURSTS. */
static double burst_start(const struct generator *g, struct random *random)
{
    const double at = g->where * random_next_unit(random);

    return at < g->shape ? ceil(g->shape - at) : ceil(g->shape - at) - 1;
}

/* Moves on by a sample; `left` > 0: it is in a burst, which it is for as many samples. */
static void burst_next(const struct generator *g, struct random *random, double *left)
{
    const bool rare = g->kind == GENERATOR_RARE_BURSTS;

    *left -= rare && *left <= 0 ? 0 : 1;
    if (rare ? *left <= 0 && random_next_unit(random) < 1 / (g->where - g->shape)
             : *left <= g->shape - g->where)
        *left = g->shape;
}

/* Pareto of mean 0 and variance 1, by inversion. */
static double pareto(struct random *random, double a)
{
    double x = pow(1 - random_next_unit(random), -1 / a);

    return (x - a / (a - 1)) * (a - 1) * sqrt((a - 2) / a);
}

/*
 * Fractionally integrated noise of variance 1 into x[0 .. count), exactly: by the Durbin-Levinson
 * recursion, whose partial autocorrelations are d / (k - d) (Hosking, Biometrika 68 (1981)).
 */
static void long_memory(double d, size_t count, struct random *random, double *x)
{
    double *phi = malloc(2 * count * sizeof(*phi)), *next = phi + count, variance = 1;

    if (!phi)
        abort();
    for (size_t t = 0; t < count; t++) {
        double mean = 0;

        for (size_t k = 0; k < t; k++)
            mean += phi[k] * x[t - 1 - k];
        x[t] = mean + sqrt(variance) * random_next_normal(random);
        /* phi of order t + 1, in place of those of order t. */
        next[t] = d / ((double)(t + 1) - d);
        for (size_t k = 0; k < t; k++)
            next[k] = phi[k] - next[t] * phi[t - 1 - k];
        memcpy(phi, next, (t + 1) * sizeof(*phi));
        variance *= 1 - next[t] * next[t];
    }
    free(phi);
}

struct truth generator_make(const struct generator *g, uint64_t seed, uint64_t index, int64_t *ret)
{
    struct truth truth = truth_of(g);
    struct random random;
    struct noise noise;
    double n = (double)g->count, quantum = g->quantum_ns > 0 ? g->quantum_ns : 1, phase = 0;
    double *memory = NULL, walk = 0, burst = 0;
    bool high = false;
    size_t i;

    random_init(&random, seed, index);
    noise_start(&noise, g, &random);
    if (g->kind == GENERATOR_TWO_STATE)
        high = random_next_unit(&random) < 0.5;
    if (g->kind == GENERATOR_PERIODIC)
        phase = 2 * M_PI * random_next_unit(&random);
    if (g->kind == GENERATOR_BURSTS || g->kind == GENERATOR_RARE_BURSTS)
        burst = burst_start(g, &random);
    if (g->kind == GENERATOR_CLOCK)
        truth.mean_ns = NAN;
    if (g->kind == GENERATOR_LONG_MEMORY) {
        memory = malloc(g->count * sizeof(*memory));
        if (!memory)
            abort();
        long_memory(g->shape, g->count, &random, memory);
    }
    for (i = 0; i < g->count; i++) {
        double t = (double)i, z = g->sd * noise_next(&noise, &random), x = 1 + z;

        switch (g->kind) {
        case GENERATOR_STATIONARY:
            break;
        case GENERATOR_LOGNORMAL:
            x = exp(z - 0.5 * g->sd * g->sd);
            break;
        case GENERATOR_APPROACH:
            x += g->size * exp(-t / (g->where * n));
            break;
        case GENERATOR_SLOWDOWN:
            x -= g->size * exp(-t / (g->where * n));
            break;
        case GENERATOR_STEP:
            x += i < truth.steady_from ? g->size : 0;
            break;
        case GENERATOR_LATE_SHIFT:
            x += i >= truth.steady_from ? g->size : 0;
            break;
        case GENERATOR_DISTURBANCE:
            x += t >= floor(g->where * n) && t < floor(g->shape * n) ? g->size : 0;
            break;
        case GENERATOR_BURSTS:
        case GENERATOR_RARE_BURSTS:
            x += burst > 0 ? g->size : 0;
            burst_next(g, &random, &burst);
            break;
        case GENERATOR_DRIFT:
            x += g->size * t / n;
            break;
        case GENERATOR_PERIODIC:
            x += g->size * sin(2 * M_PI * t / g->where + phase);
            break;
        case GENERATOR_TWO_STATE:
            if (random_next_unit(&random) < 1 / g->where)
                high = !high;
            x += high ? g->size : 0;
            break;
        case GENERATOR_HEAVY_TAILS:
            x = 1 + g->sd * heavy_tails(&random);
            break;
        case GENERATOR_PARETO:
            x = 1 + g->sd * pareto(&random, g->shape);
            break;
        case GENERATOR_RAMP:
        case GENERATOR_POWER_LAW:
            x += g->size * load_timeline(g, t);
            break;
        case GENERATOR_RANDOM_WALK:
            walk += g->size / sqrt(n) * random_next_normal(&random);
            x += walk;
            break;
        case GENERATOR_LONG_MEMORY:
            x = 1 + g->sd * memory[i];
            break;
        case GENERATOR_LEVELS:
            if (random_next_unit(&random) < g->where)
                x *= 1 + g->size + g->shape * random_next_unit(&random);
            break;
        case GENERATOR_CLOCK:
            x = clock_factor(z) * (1 + 0.25 * g->sd * random_next_normal(&random));
            break;
        }
        if (g->spikes > 0 && random_next_unit(&random) < g->spikes)
            x *= SPIKE_LEAST + (SPIKE_MOST - SPIKE_LEAST) * random_next_unit(&random);
        x = quantum * floor(GENERATOR_LEVEL_NS * x / quantum + 0.5);
        ret[i] = (int64_t)fmax(x, 1);
    }
    free(memory);
    return truth;
}

double generator_window_mean(const struct generator *g)
{
    double n = (double)g->count, sum = 0, t;

    for (t = 0; t < n; t++) {
        switch (g->kind) {
        case GENERATOR_APPROACH:
            sum += g->size * exp(-t / (g->where * n));
            break;
        case GENERATOR_SLOWDOWN:
            sum -= g->size * exp(-t / (g->where * n));
            break;
        case GENERATOR_STEP:
            sum += t < floor(g->where * n) ? g->size : 0;
            break;
        case GENERATOR_LATE_SHIFT:
            sum += t >= floor(g->where * n) ? g->size : 0;
            break;
        case GENERATOR_DRIFT:
            sum += g->size * t / n;
            break;
        case GENERATOR_TWO_STATE:
            sum += 0.5 * g->size;
            break;
        case GENERATOR_DISTURBANCE:
            sum += t >= floor(g->where * n) && t < floor(g->shape * n) ? g->size : 0;
            break;
        case GENERATOR_BURSTS:
        case GENERATOR_RARE_BURSTS:
            sum += g->size * g->shape / g->where;
            break;
        case GENERATOR_RAMP:
        case GENERATOR_POWER_LAW:
            sum += g->size * load_timeline(g, t);
            break;
        default:
            break;
        }
    }
    return GENERATOR_LEVEL_NS * (1 + sum / n);
}

double generator_mean_sd(size_t count, double phi)
{
    double sum = 1, n = (double)count, power = 1;
    size_t k;

    for (k = 1; k < count; k++) {
        power *= phi;
        sum += 2 * (1 - (double)k / n) * power;
    }
    return sqrt(sum / n);
}

/* The share of samples at most x, relative to the level, of a normal generator with spikes. */
static double share_below(const struct generator *g, double x)
{
    const size_t parts = 64;
    double sum = 0;

    for (size_t i = 0; i < parts; i++) {
        const double z = normal_quantile(((double)i + 0.5) / (double)parts);
        const double times = x / (1 + g->sd * z);

        sum += fmin(fmax((times - SPIKE_LEAST) / (SPIKE_MOST - SPIKE_LEAST), 0), 1);
    }
    return (1 - g->spikes) * normal_cdf((x - 1) / g->sd) + g->spikes * sum / (double)parts;
}

static double quantile_with_spikes(const struct generator *g, double q)
{
    double low = 0, high = 2 * SPIKE_MOST;

    for (int i = 0; i < 100; i++) {
        const double middle = 0.5 * (low + high);

        if (share_below(g, middle) < q)
            low = middle;
        else
            high = middle;
    }
    return GENERATOR_LEVEL_NS * high;
}

double generator_quantile(const struct generator *g, double q)
{
    double z = g->sd * normal_quantile(q), quantum = g->quantum_ns, x;

    if (g->spikes > 0)
        return quantile_with_spikes(g, q);
    x = GENERATOR_LEVEL_NS *
        (g->kind == GENERATOR_LOGNORMAL ? exp(z - 0.5 * g->sd * g->sd) : 1 + z);
    return quantum > 0 ? quantum * floor(x / quantum + 0.5) : x;
}
