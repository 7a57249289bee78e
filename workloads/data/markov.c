#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/data/source.h"

#define SUCCESSORS_MAX 64
#define TOLERANCE 1e-13 /* change of the stationary distribution in a step, summed */
#define STEPS_MAX 200000
#define LEAST_WEIGHT 0.02

enum { STREAM_SUCCESSOR = 1, STREAM_WEIGHT, STREAM_WALK };

struct markov {
    struct token_source base;
    uint64_t states, successors;
    int32_t *next;       /* (states, successors) */
    double *probability; /* likewise; repeated successors have been merged, the rest is 0 */
    double *cumulative;  /* of the stationary distribution, (states) */
};

static void destroy(struct token_source *base)
{
    struct markov *markov = (struct markov *)base;

    free(markov->next);
    free(markov->probability);
    free(markov->cumulative);
    free(markov);
}

/* First index whose cumulative value exceeds u; the last one for u beyond rounding. */
static uint64_t start_state(const struct markov *markov, double u)
{
    uint64_t low = 0, high = markov->states - 1;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (markov->cumulative[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint64_t step_from(const struct markov *markov, uint64_t state, double u)
{
    const double *probability = markov->probability + state * markov->successors;
    uint64_t last = 0;

    for (uint64_t k = 0; k < markov->successors; k++) {
        if (probability[k] == 0.0)
            continue;
        last = k;
        if (u < probability[k])
            break;
        u -= probability[k];
    }
    return (uint64_t)markov->next[state * markov->successors + last];
}

static void sequence(const struct token_source *base, uint64_t index, uint64_t length,
                     int32_t *ret_tokens, int32_t *ret_targets)
{
    const struct markov *markov = (const struct markov *)base;
    const uint64_t first = index * (length + 1);
    uint64_t state = start_state(markov, random_unit(random_at(base->seed, STREAM_WALK, first)));

    for (uint64_t t = 0; t < length; t++) {
        ret_tokens[t] = (int32_t)state;
        state = step_from(markov, state,
                          random_unit(random_at(base->seed, STREAM_WALK, first + 1 + t)));
        ret_targets[t] = (int32_t)state;
    }
}

static void build_state(struct markov *markov, uint64_t state)
{
    int32_t *next = markov->next + state * markov->successors;
    double *probability = markov->probability + state * markov->successors, sum = 0.0;

    for (uint64_t k = 0; k < markov->successors; k++) {
        const uint64_t at = state * markov->successors + k;
        double u = random_unit(random_at(markov->base.seed, STREAM_SUCCESSOR, at));
        double w = random_unit(random_at(markov->base.seed, STREAM_WEIGHT, at));

        next[k] =
            k == 0 ? (int32_t)(state / 2) : (int32_t)(pow((double)markov->states + 1.0, u) - 1.0);
        if (next[k] >= (int32_t)markov->states)
            next[k] = (int32_t)markov->states - 1;
        probability[k] = w * w + LEAST_WEIGHT;
        sum += probability[k];
        for (uint64_t j = 0; j < k; j++) {
            if (next[j] != next[k])
                continue;
            probability[j] += probability[k];
            probability[k] = 0.0;
            break;
        }
    }
    for (uint64_t k = 0; k < markov->successors; k++)
        probability[k] /= sum;
}

/* Power iteration; `stationary` and `following` have room for all states. */
static bool find_stationary(const struct markov *markov, double *stationary, double *following)
{
    for (uint64_t i = 0; i < markov->states; i++)
        stationary[i] = 1.0 / (double)markov->states;
    for (int step = 0; step < STEPS_MAX; step++) {
        double change = 0.0, sum = 0.0;

        memset(following, 0, markov->states * sizeof(*following));
        for (uint64_t i = 0; i < markov->states; i++)
            for (uint64_t k = 0; k < markov->successors; k++)
                following[markov->next[i * markov->successors + k]] +=
                    stationary[i] * markov->probability[i * markov->successors + k];
        for (uint64_t i = 0; i < markov->states; i++)
            sum += following[i];
        for (uint64_t i = 0; i < markov->states; i++) {
            following[i] /= sum;
            change += fabs(following[i] - stationary[i]);
            stationary[i] = following[i];
        }
        if (change < TOLERANCE)
            return true;
    }
    return false;
}

static double plogp(double p)
{
    return p > 0.0 ? -p * log(p) : 0.0;
}

static void measure_entropy(struct markov *markov, const double *stationary)
{
    struct token_facts *facts = &markov->base.facts;

    facts->has_entropy_rate = true;
    for (uint64_t i = 0; i < markov->states; i++) {
        double entropy = 0.0;

        for (uint64_t k = 0; k < markov->successors; k++)
            entropy += plogp(markov->probability[i * markov->successors + k]);
        facts->entropy_rate += stationary[i] * entropy;
        facts->unigram_entropy += plogp(stationary[i]);
    }
}

enum status token_source_create_markov(uint64_t vocabulary, uint64_t successors, uint64_t seed,
                                       struct token_source **ret, struct error *err)
{
    static const struct token_source_ops ops = {.sequence = sequence, .destroy = destroy};
    struct markov *markov;
    double *stationary = NULL, sum = 0.0;
    enum status status = STATUS_OK;

    if (vocabulary < 2 || vocabulary > INT32_MAX || successors < 1 || successors > SUCCESSORS_MAX)
        return error_set(err, STATUS_INVALID,
                         "a Markov source needs 2 states or more and 1 to %d successors",
                         SUCCESSORS_MAX);
    markov = calloc(1, sizeof(*markov));
    if (!markov)
        return error_no_memory(err);
    markov->base.ops = &ops;
    markov->base.seed = seed;
    markov->states = vocabulary;
    markov->successors = successors;
    markov->next = malloc(vocabulary * successors * sizeof(*markov->next));
    markov->probability = malloc(vocabulary * successors * sizeof(*markov->probability));
    markov->cumulative = malloc(vocabulary * sizeof(*markov->cumulative));
    stationary = malloc(vocabulary * sizeof(*stationary));
    if (!markov->next || !markov->probability || !markov->cumulative || !stationary) {
        status = error_no_memory(err);
        goto out;
    }
    for (uint64_t i = 0; i < vocabulary; i++)
        build_state(markov, i);
    if (!find_stationary(markov, stationary, markov->cumulative)) {
        status = error_set(err, STATUS_INTERNAL,
                           "the Markov source of seed %llu does not settle; choose another seed",
                           (unsigned long long)seed);
        goto out;
    }
    measure_entropy(markov, stationary);
    for (uint64_t i = 0; i < vocabulary; i++)
        markov->cumulative[i] = sum += stationary[i];
out:
    free(stationary);
    if (status == STATUS_OK)
        *ret = &markov->base;
    else
        destroy(&markov->base);
    return status;
}
