#include "tests/calibration/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/compare.h"

#define PAIRS_MAX 64
#define NEEDED_MOST 2000
/* What values are rounded to, where they are. */
#define STEP_NS 10000

/*
 * A campaign of K pairs: log estimates of fresh processes with sd `spread`, b slower by `effect`
 * (log), on top of a drift that grows by `drift` from the first run to the last.
 */
struct campaign {
    size_t pairs;
    double spread, effect, drift;
    bool interleaved;  /* else all of a, then all of b */
    double neighbours; /* correlation of the ratios of pairs that follow each other */
    double step;       /* the values are rounded to multiples of it, a share of a */
};

enum measured { DIFFERS, EQUIVALENT, DECIDED, COVERS };

static void simulate(const struct campaign *c, struct random *random, double *a, double *b)
{
    const double place = c->step > 0 ? c->step * random_next_unit(random) : 0;
    size_t k, runs = 2 * c->pairs;
    double ratio = 0;

    for (k = 0; k < c->pairs; k++) {
        bool b_first = random_next(random) >> 63;
        size_t slot_a = c->interleaved ? 2 * k + b_first : k;
        size_t slot_b = c->interleaved ? 2 * k + !b_first : c->pairs + k;
        double step = c->drift / (double)(runs - 1);

        a[k] = exp(c->spread * random_next_normal(random) + step * (double)slot_a);
        b[k] = exp(c->spread * random_next_normal(random) + step * (double)slot_b + c->effect);
        if (c->neighbours > 0) {
            ratio = c->neighbours * ratio + (k == 0 ? 1 : sqrt(1 - c->neighbours * c->neighbours)) *
                                                sqrt(2) * c->spread * random_next_normal(random);
            b[k] = a[k] * exp(ratio + c->effect);
        }
        if (c->step > 0) {
            a[k] = STEP_NS * round(a[k] * (1 + place) / c->step);
            b[k] = STEP_NS * round(b[k] * (1 + place) / c->step);
        }
    }
}

static void add(const struct settings *settings, const struct campaign *c, uint64_t number,
                bool unpaired, enum measured measured, const char *what, double low, double high,
                struct table *table)
{
    struct row row = {.what = what, .low = low, .high = high, .mean = NAN};
    struct compare_options options = compare_options_default();
    long i, pairs = (long)settings->pairs;
    size_t hits = 0;
    char key[160];

    row.series = row.trials = settings->pairs;
    snprintf(row.where, sizeof(row.where), "K %zu, sd %.3g %%, effect %.3g %%, drift %.3g %%",
             c->pairs, 100 * c->spread, 100 * expm1(c->effect), 100 * c->drift);
    if (c->neighbours > 0 || c->step > 0)
        snprintf(row.where + strlen(row.where), sizeof(row.where) - strlen(row.where),
                 c->step > 0 ? ", steps of %.3g %%" : ", neighbours %.3g",
                 c->step > 0 ? 100 * c->step : c->neighbours);
    snprintf(key, sizeof(key), "%zu comparisons, %s, number %llu, measured %d%s", settings->pairs,
             row.where, (unsigned long long)number, (int)measured, unpaired ? ", unpaired" : "");
    if (parts_take(settings->parts, key, &hits, sizeof(hits)))
        pairs = 0;
#pragma omp parallel for reduction(+ : hits) schedule(static)
    for (i = 0; i < pairs; i++) {
        double a[PAIRS_MAX], b[PAIRS_MAX];
        struct comparison comparison;
        struct random random;
        enum status status;

        random_init(&random, settings->seed ^ 0x636f6d7061726573u, (number << 40) + (uint64_t)i);
        simulate(c, &random, a, b);
        status = unpaired ? unpaired_analyze(a, c->pairs, b, c->pairs, &options, &comparison, NULL)
                          : paired_analyze(a, b, c->pairs, &options, &comparison, NULL);
        if (status) {
            fputs("calibration: a comparison failed\n", stderr);
            exit(2);
        }
        if (c->step > 0)
            comparison_round(&comparison, a[0], STEP_NS, STEP_NS);
        if (measured == DIFFERS)
            hits += comparison.differs;
        else if (measured == EQUIVALENT)
            hits += comparison.verdict == COMPARE_EQUIVALENT;
        else if (measured == COVERS)
            hits += comparison.ratio.has_interval && log(comparison.ratio.lo) <= c->effect &&
                    log(comparison.ratio.hi) >= c->effect;
        else
            hits += comparison.verdict == COMPARE_FASTER || comparison.verdict == COMPARE_SLOWER;
    }
    if (pairs > 0)
        parts_keep(settings->parts, key, &hits, sizeof(hits));
    row.hits = hits;
    table_add(table, &row);
}

/* A fresh campaign of as many pairs as one that was inconclusive asks for: whether it decides. */
static bool needed_decide(const struct campaign *pilot, struct random *random, bool *ret_asked)
{
    const struct compare_options options = compare_options_default();
    double first[2][PAIRS_MAX], a[NEEDED_MOST], b[NEEDED_MOST];
    struct campaign next = *pilot;
    struct comparison comparison;
    enum status status;

    simulate(pilot, random, first[0], first[1]);
    status = paired_analyze(first[0], first[1], pilot->pairs, &options, &comparison, NULL);
    next.pairs = (size_t)comparison.needed_pairs;
    *ret_asked = !status && next.pairs > 0 && next.pairs <= NEEDED_MOST;
    if (!*ret_asked)
        return false;
    simulate(&next, random, a, b);
    status = paired_analyze(a, b, next.pairs, &options, &comparison, NULL);
    return !status && comparison.verdict != COMPARE_INCONCLUSIVE;
}

static void add_needed(const struct settings *settings, size_t pairs, double spread, double effect,
                       uint64_t number, double low, struct table *table)
{
    const struct campaign c = {pairs, spread, effect, 0, true};
    struct row row = {
        .what = "as many pairs as needed decide", .low = low, .high = NAN, .mean = NAN};
    long pilots = (long)(settings->pairs / 5);
    size_t found[2] = {0}, hits = 0, asked = 0;
    char key[160];

    snprintf(row.where, sizeof(row.where), "K %zu, sd %.3g %%, effect %.3g %%, once inconclusive",
             pairs, 100 * spread, 100 * expm1(effect));
    snprintf(key, sizeof(key), "%ld pilots, %s, number %llu", pilots, row.where,
             (unsigned long long)number);
    if (parts_take(settings->parts, key, found, sizeof(found)))
        pilots = 0;
#pragma omp parallel for reduction(+ : hits, asked) schedule(static)
    for (long i = 0; i < pilots; i++) {
        struct random random;
        bool was_asked;

        random_init(&random, settings->seed ^ 0x6e6565646564u, (number << 40) + (uint64_t)i);
        hits += needed_decide(&c, &random, &was_asked);
        asked += was_asked;
    }
    if (pilots > 0) {
        found[0] = hits;
        found[1] = asked;
        parts_keep(settings->parts, key, found, sizeof(found));
    }
    row.hits = found[0];
    row.series = row.trials = found[1];
    table_add(table, &row);
}

/* Of no difference, of one of the margin, and of half of it, which is the hardest to tell. */
static void measure_needed(const struct settings *settings, struct table *table)
{
    static const size_t pairs[] = {5, 10};
    static const double spreads[] = {0.014, 0.028};
    uint64_t number = 0;

    for (size_t p = 0; p < 2; p++)
        for (size_t s = 0; s < 2; s++)
            for (int halves = 0; halves < 3; halves++)
                add_needed(settings, pairs[p], spreads[s], log1p(0.005 * halves), ++number,
                           halves == 1 ? 0.7 : 0.78, table);
}

/* Pairs whose ratios are alike where they follow each other, and pairs of rounded values. */
static void measure_order(const struct settings *settings, uint64_t *number, struct table *table)
{
    static const double spreads[] = {0.0005, 0.002, 0.005};

    for (size_t pairs = 6; pairs <= 20; pairs += 7) {
        struct campaign c = {pairs, 0.005, 0, 0, true, .neighbours = 0.5};

        add(settings, &c, ++*number, false, DIFFERS, "A/A, ratios alike: false differences", NAN,
            NAN, table);
    }
    for (size_t s = 0; s < 3; s++) {
        struct campaign c = {10, spreads[s], log1p(0.014), 0, true, .step = 0.01};

        add(settings, &c, ++*number, false, EQUIVALENT, "rounded, 1.4 % apart: called equivalent",
            NAN, 0.05, table);
        add(settings, &c, ++*number, false, COVERS, "rounded, 1.4 % apart: interval covers", 0.935,
            NAN, table);
    }
}

void measure_comparisons(const struct settings *settings, struct table *table)
{
    static const double spreads[] = {0.0025, 0.005, 0.01, 0.02};
    const double margin = log1p(0.01);
    uint64_t number = 0;
    size_t i;

    if (!strstr("compare", settings->only))
        return;
    for (i = 0; i < 4; i++) {
        struct campaign c = {10, spreads[i], 0, 0.03, true};

        add(settings, &c, ++number, false, DIFFERS, "A/A, paired: false differences", 0.04, 0.06,
            table);
        c.pairs = 40;
        add(settings, &c, ++number, false, DIFFERS, "A/A, paired: false differences", 0.04, 0.06,
            table);
    }
    {
        struct campaign c = {10, 0.005, 0, 0.03, false};

        add(settings, &c, ++number, true, DIFFERS, "A/A, all of a then all of b: false differences",
            NAN, NAN, table);
        c.drift = 0;
        add(settings, &c, ++number, true, DIFFERS, "A/A, Welch, no drift: false differences", 0.04,
            0.06, table);
    }
    for (i = 1; i <= 2; i++) {
        struct campaign c = {10, 0.005, log1p(0.01 * (double)i), 0, true};

        add(settings, &c, ++number, false, DIFFERS, "power: the interval shows the difference",
            i == 1 ? 0.95 : 0.995, NAN, table);
        c.effect = -c.effect;
        add(settings, &c, ++number, false, DIFFERS, "power: the interval shows the difference",
            i == 1 ? 0.95 : 0.995, NAN, table);
    }
    {
        /* At a change of just the margin the equivalence tests take their 5 % first. */
        struct campaign c = {10, 0.005, log1p(0.01), 0, true};

        add(settings, &c, ++number, false, DECIDED, "verdict faster or slower", NAN, NAN, table);
        c.effect = 2 * c.effect;
        add(settings, &c, ++number, false, DECIDED, "verdict faster or slower", NAN, NAN, table);
    }
    for (i = 0; i < 3; i++) {
        struct campaign c = {10, 0.005, i == 0 ? 0 : i == 1 ? margin : -margin, 0, true};

        add(settings, &c, ++number, false, EQUIVALENT, "equivalent within 1 %", i == 0 ? 0.97 : NAN,
            i == 0 ? NAN : 0.055, table);
    }
    measure_order(settings, &number, table);
    measure_needed(settings, table);
    measure_families(settings, table);
}
