/*
 * Comparisons whose trials or pairs are not independent: alike where they follow each other,
 * moving over the campaign, or depending on the arm that ran first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/compare.h"
#include "protocols/stats/distribution.h"
#include "tests/calibration/measure.h"

#define COUNT_MAX 64
/* Baselines are fewer than comparisons, since each is looked at many times. */
#define LOOKS_SHARE 10

/* Two arms of `count` trials, or so many pairs. */
struct campaign {
    size_t count;
    bool paired;
    double spread;     /* between processes, sd of their logs */
    double effect;     /* b is slower by it, log */
    double neighbours; /* correlation of trials of an arm, or of ratios of pairs */
    double moves;      /* the level, from the first run to the last */
    double carries;    /* b is faster by it where a ran just before it in the pair */
    double second;     /* the second run of a pair is slower by it */
};

/* ALONE: what Student's t would call different, which looks at no order. */
enum counted { DIFFERENT, ALONE, WORSE, EQUIVALENT, HALF_WIDTH };

static double next_noise(double noise, double correlation, struct random *random)
{
    return correlation * noise + sqrt(1 - correlation * correlation) * random_next_normal(random);
}

/* All of a, then all of b. */
static void make_trials(const struct campaign *c, struct random *random, double *a, double *b)
{
    const double step = c->moves / (double)(2 * c->count - 1);

    for (size_t arm = 0; arm < 2; arm++) {
        double *const x = arm ? b : a, noise = random_next_normal(random);

        for (size_t i = 0; i < c->count; i++) {
            x[i] = exp(c->spread * noise + step * (double)(arm * c->count + i) +
                       (arm ? c->effect : 0));
            noise = next_noise(noise, c->neighbours, random);
        }
    }
}

/* Half of the pairs with either arm first, drawn, as a plan has them. */
static void make_pairs(const struct campaign *c, struct random *random, double *a, double *b,
                       bool *b_first)
{
    const double step = c->moves / (double)(2 * c->count - 1) + c->second;
    uint32_t drawn[COUNT_MAX];
    double ratio = random_next_normal(random);

    random_shuffle(random, drawn, c->count);
    for (size_t k = 0; k < c->count; k++) {
        const double pair = c->moves * (double)(2 * k) / (double)(2 * c->count - 1);

        b_first[k] = drawn[k] % 2;
        a[k] = exp(c->spread * random_next_normal(random) + pair + (b_first[k] ? step : 0));
        b[k] = a[k] * exp(M_SQRT2 * c->spread * ratio + c->effect + (b_first[k] ? -step : step) -
                          (b_first[k] ? 0 : c->carries));
        ratio = next_noise(ratio, c->neighbours, random);
    }
}

static struct comparison compare_one(const struct campaign *c, uint64_t seed, uint64_t index)
{
    const struct compare_options options = compare_options_default();
    double a[COUNT_MAX], b[COUNT_MAX];
    bool b_first[COUNT_MAX];
    struct comparison ret;
    struct random random;
    enum status status;

    random_init(&random, seed ^ 0x6f72646572u, index);
    if (c->paired) {
        make_pairs(c, &random, a, b, b_first);
        status = crossover_analyze(a, b, b_first, c->count, &options, &ret, NULL);
    } else {
        make_trials(c, &random, a, b);
        status = unpaired_analyze(a, c->count, b, c->count, &options, &ret, NULL);
    }
    if (status != STATUS_OK) {
        fputs("calibration: a comparison failed\n", stderr);
        exit(2);
    }
    return ret;
}

/* The half-width of Student's t alone. */
static double width_alone(const struct comparison *c)
{
    return student_quantile(0.5 + 0.5 * c->confidence, c->df) * c->sd / sqrt((double)c->count_a);
}

static double count_one(const struct comparison *c, enum counted counted)
{
    switch (counted) {
    case DIFFERENT:
        return c->differs && !c->undetermined;
    case ALONE:
        return fabs(log(c->ratio.value)) > width_alone(c);
    case WORSE:
        return comparison_beyond_margin(c) > 0;
    case EQUIVALENT:
        return c->verdict == COMPARE_EQUIVALENT;
    case HALF_WIDTH:
        break;
    }
    return (log(c->ratio.hi) - log(c->ratio.lo)) / 2 / width_alone(c);
}

static void describe(const struct campaign *c, char *ret, size_t size)
{
    int used = snprintf(ret, size, "%zu %s, sd %.3g %%", c->count,
                        c->paired ? "pairs" : "and as many trials", 100 * c->spread);

    if (c->effect > 0)
        used +=
            snprintf(ret + used, size - (size_t)used, ", effect %.3g %%", 100 * expm1(c->effect));
    if (c->neighbours > 0)
        used += snprintf(ret + used, size - (size_t)used, ", neighbours %.3g", c->neighbours);
    if (c->moves > 0)
        used += snprintf(ret + used, size - (size_t)used, ", moves %.3g %%", 100 * c->moves);
    if (c->carries > 0)
        used +=
            snprintf(ret + used, size - (size_t)used, ", b profits by %.3g %%", 100 * c->carries);
    if (c->second > 0)
        snprintf(ret + used, size - (size_t)used, ", the second slower by %.3g %%",
                 100 * c->second);
}

static void add(const struct settings *settings, const struct campaign *c, enum counted counted,
                const char *what, double low, double high, struct table *table)
{
    struct row row = {.what = what,
                      .low = low,
                      .high = high,
                      .mean = NAN,
                      .series = settings->pairs,
                      .trials = settings->pairs};
    const long count = (long)settings->pairs;
    double total[2] = {0}, sum = 0, squares = 0;
    uint64_t base = 5381;
    char key[160];

    describe(c, row.where, sizeof(row.where));
    snprintf(key, sizeof(key), "order of %ld comparisons, %s, counted %d", count, row.where,
             (int)counted);
    for (const char *at = row.where; *at; at++)
        base = base * 33 + (unsigned char)*at;
    base = (base & 0xffffff) << 32;
    if (!parts_take(settings->parts, key, total, sizeof(total))) {
#pragma omp parallel for reduction(+ : sum, squares) schedule(static)
        for (long i = 0; i < count; i++) {
            const struct comparison one = compare_one(c, settings->seed, base + (uint64_t)i);
            const double value = count_one(&one, counted);

            sum += value;
            squares += value * value;
        }
        total[0] = sum;
        total[1] = squares;
        parts_keep(settings->parts, key, total, sizeof(total));
    }
    if (counted == HALF_WIDTH) {
        row.mean = total[0] / (double)count;
        row.error = sqrt(fmax(total[1] / (double)count - row.mean * row.mean, 0) / (double)count);
        row.trials = 0;
    }
    row.hits = (size_t)total[0];
    table_add(table, &row);
}

/* Without a difference, and at one of the margin: what is called one, and by Student's t alone. */
static void add_dependent(const struct settings *settings, struct campaign c, struct table *table)
{
    add(settings, &c, DIFFERENT, "order: false differences", NAN, NAN, table);
    add(settings, &c, ALONE, "order: false differences by Student's t alone", NAN, NAN, table);
    c.effect = log1p(compare_options_default().margin);
    if (!c.paired)
        add(settings, &c, WORSE, "order: at the margin, called worse than it", NAN, NAN, table);
}

static void add_plain(const struct settings *settings, struct campaign c, struct table *table)
{
    add(settings, &c, DIFFERENT, "order: false differences", 0.04, 0.06, table);
    add(settings, &c, HALF_WIDTH, "order: half-width, Student's t alone = 1", NAN, 1.05, table);
    c.effect = log1p(compare_options_default().margin);
    add(settings, &c, EQUIVALENT, "order: at the margin, called equivalent", NAN, 0.055, table);
    add(settings, &c, WORSE, "order: at the margin, called worse than it", NAN, 0.03, table);
}

static void measure_trials(const struct settings *settings, size_t count, struct table *table)
{
    const struct campaign plain = {.count = count, .spread = 0.008};
    struct campaign c = plain;

    add_plain(settings, c, table);
    c.neighbours = 0.45;
    add_dependent(settings, c, table);
    c.neighbours = 0.75;
    add_dependent(settings, c, table);
    c = plain;
    c.moves = 0.025;
    add_dependent(settings, c, table);
}

static void measure_pairs(const struct settings *settings, size_t count, struct table *table)
{
    const struct campaign plain = {.count = count, .paired = true, .spread = 0.008};
    struct campaign c = plain;

    add_plain(settings, c, table);
    c.moves = 0.025;
    add(settings, &c, DIFFERENT, "order: false differences", NAN, 0.06, table);
    c = plain;
    c.second = 0.025;
    add(settings, &c, DIFFERENT, "order: false differences", NAN, 0.06, table);
    for (int i = 1; i <= 2; i++) {
        c = plain;
        c.carries = 0.0125 * i;
        add_dependent(settings, c, table);
    }
    c = plain;
    c.neighbours = 0.45;
    add_dependent(settings, c, table);
}

/* A baseline that so many candidates are held against, each with trials of its own: any is worse.
 */
static bool any_is_worse(const struct campaign *c, size_t looks, uint64_t seed, uint64_t index)
{
    const struct compare_options options = compare_options_default();
    double a[COUNT_MAX], b[COUNT_MAX], others[COUNT_MAX];
    struct comparison comparison;
    struct random random;
    bool worse = false;

    random_init(&random, seed ^ 0x6c6f6f6b73u, index);
    make_trials(c, &random, a, b);
    for (size_t i = 0; i < looks && !worse; i++) {
        if (unpaired_analyze(a, c->count, b, c->count, &options, &comparison, NULL) != STATUS_OK)
            abort();
        worse = comparison.p_worse <= 0.5 * (1 - options.confidence);
        make_trials(c, &random, others, b);
    }
    return worse;
}

static void add_looks(const struct settings *settings, const struct campaign *c, size_t looks,
                      struct table *table)
{
    struct row row = {.what = "order: a gate calls one of many looks worse",
                      .low = NAN,
                      .high = NAN,
                      .mean = NAN,
                      .series = settings->pairs / LOOKS_SHARE,
                      .trials = settings->pairs / LOOKS_SHARE};
    const long count = (long)row.series;
    char campaign[80], key[160];
    size_t hits = 0;

    describe(c, campaign, sizeof(campaign));
    snprintf(row.where, sizeof(row.where), "%zu looks, %s", looks, campaign);
    snprintf(key, sizeof(key), "%ld gates of %s", count, row.where);
    if (!parts_take(settings->parts, key, &hits, sizeof(hits))) {
#pragma omp parallel for reduction(+ : hits) schedule(static)
        for (long i = 0; i < count; i++)
            hits += any_is_worse(c, looks, settings->seed, (uint64_t)(looks << 32) + (uint64_t)i);
        parts_keep(settings->parts, key, &hits, sizeof(hits));
    }
    row.hits = hits;
    table_add(table, &row);
}

/* Nothing is spent over looks: each has its own error rate. */
static void measure_looks(const struct settings *settings, struct table *table)
{
    static const size_t looks[] = {1, 10, 40};

    for (size_t i = 0; i < 3; i++) {
        struct campaign c = {.count = 8, .spread = 0.008};

        add_looks(settings, &c, looks[i], table);
        c.effect = log1p(compare_options_default().margin);
        add_looks(settings, &c, looks[i], table);
    }
}

void measure_dependence(const struct settings *settings, struct table *table)
{
    static const size_t counts[2][3] = {{6, 9, 16}, {6, 10, 18}}; /* of trials, and of pairs */
    struct campaign c = {.count = 10, .paired = true, .spread = 0.005};

    if (!strstr("order", settings->only))
        return;
    for (size_t i = 0; i < 3; i++)
        measure_trials(settings, counts[0][i], table);
    for (size_t i = 0; i < 3; i++)
        measure_pairs(settings, counts[1][i], table);
    measure_looks(settings, table);
    add(settings, &c, EQUIVALENT, "order: equivalent within 1 %", 0.97, NAN, table);
    c.effect = log1p(0.01);
    add(settings, &c, DIFFERENT, "order: the interval shows the difference", 0.95, NAN, table);
    add(settings, &c, EQUIVALENT, "order: at the margin, called equivalent", NAN, 0.055, table);
}
