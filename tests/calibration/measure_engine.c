#include "tests/calibration/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "tests/calibration/experiment.h"

static bool wanted(const struct settings *settings, const char *what)
{
    return strstr(what, settings->only) != NULL;
}

static void add_width(const struct experiment *x, double high, struct table *table)
{
    struct row row = experiment_row(x, "mean width, oracle = 1", NAN, high);
    double oracle = normal_quantile(0.975) * GENERATOR_LEVEL_NS * x->generator.sd *
                    generator_mean_sd(x->generator.count, x->generator.phi);
    double sum = 0, squares = 0, n = 0;
    size_t i;

    for (i = 0; i < x->series; i++) {
        if (!x->outcomes[i].given)
            continue;
        sum += x->outcomes[i].width / oracle;
        n++;
    }
    row.mean = sum / n;
    for (i = 0; i < x->series; i++) {
        double d = x->outcomes[i].width / oracle - row.mean;

        if (x->outcomes[i].given)
            squares += d * d;
    }
    row.error = sqrt(squares / (n * (n - 1)));
    table_add(table, &row);
}

static void add_percentiles(const struct experiment *x, const char *what, struct table *table)
{
    static const char *const names[EXPERIMENT_PERCENTILES] = {"p50", "p90", "p99"};
    size_t i, p;

    for (p = 0; p < EXPERIMENT_PERCENTILES; p++) {
        struct row row = experiment_row(x, what, 0.935, NAN);

        snprintf(row.where + strlen(row.where), sizeof(row.where) - strlen(row.where), ", %s%s",
                 names[p],
                 x->generator.kind == GENERATOR_LOGNORMAL ? " lognormal"
                 : x->generator.quantum_ns > 0            ? " in ticks of 1.6 %"
                                                          : "");
        for (i = 0; i < x->series; i++) {
            row.trials += x->outcomes[i].percentile_given[p];
            row.hits += x->outcomes[i].percentile_covered[p];
        }
        /* A refusal of every series is a valid result too, with nothing to count. */
        if (row.trials < x->series / 50 + 5)
            row.low = NAN;
        table_add(table, &row);
    }
}

static void add_place(const struct experiment *x, size_t place, double high, struct table *table)
{
    struct row row = experiment_row(x, "mean error of the step's place", NAN, high);
    double sum = 0, squares = 0, n = 0;
    size_t i;

    for (i = 0; i < x->series; i++) {
        if (x->outcomes[i].verdict != ESTIMATE_WARMUP)
            continue;
        sum += fabs((double)x->outcomes[i].from - (double)place);
        n++;
    }
    row.mean = n > 0 ? sum / n : NAN;
    for (i = 0; i < x->series; i++) {
        double d = fabs((double)x->outcomes[i].from - (double)place) - row.mean;

        if (x->outcomes[i].verdict == ESTIMATE_WARMUP)
            squares += d * d;
    }
    row.error = n > 1 ? sqrt(squares / (n * (n - 1))) : 0;
    table_add(table, &row);
}

static void measure_means(const struct settings *settings, struct table *table)
{
    static const struct {
        double phi;
        size_t count;
        double low, high, width;
        bool percentiles;
    } cases[] = {
        {0, 100, 0.945, 0.98, NAN, false},    {0, 300, 0.945, 0.98, 1.25, false},
        {0, 1000, 0.945, 0.98, 1.25, true},   {0.5, 100, 0.945, 0.98, NAN, false},
        {0.5, 300, 0.945, 0.98, 1.25, false}, {0.5, 1000, 0.945, 0.98, 1.25, true},
        {0.8, 300, NAN, NAN, 1.25, false},    {0.9, 100, 0.91, NAN, NAN, false},
        {0.9, 300, 0.935, NAN, 1.25, false},  {0.9, 1000, 0.945, NAN, 1.25, true},
        {0.99, 1000, 0.93, NAN, NAN, false},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct experiment x = {.generator = {.kind = GENERATOR_STATIONARY,
                                             .count = cases[i].count,
                                             .sd = 0.01,
                                             .phi = cases[i].phi},
                               .series = settings->series};

        experiment_run(settings, &x, cases[i].percentiles);
        experiment_add_coverage(&x, "95 % interval of the mean covers", cases[i].low, cases[i].high,
                                table);
        if (!isnan(cases[i].width))
            add_width(&x, cases[i].width, table);
        if (cases[i].percentiles)
            add_percentiles(&x, "percentile interval covers", table);
        free(x.outcomes);
    }
}

static void measure_percentiles(const struct settings *settings, struct table *table)
{
    static const struct generator generators[] = {
        {.kind = GENERATOR_LOGNORMAL, .count = 2000, .sd = 0.3},
        {.kind = GENERATOR_LOGNORMAL, .count = 2000, .sd = 0.3, .phi = 0.8},
        /* A clock so coarse that nearly all samples are one of two ticks, and the median the lower
           one. */
        {.kind = GENERATOR_STATIONARY, .count = 1000, .sd = 0.005, .quantum_ns = 16001},
        {.kind = GENERATOR_STATIONARY,
         .count = 1000,
         .sd = 0.005,
         .phi = 0.9,
         .quantum_ns = 16001}};
    size_t i;

    for (i = 0; i < sizeof(generators) / sizeof(generators[0]); i++) {
        struct experiment x = {.generator = generators[i], .series = settings->series};

        experiment_run(settings, &x, true);
        add_percentiles(&x, "percentile interval covers", table);
        free(x.outcomes);
    }
    for (i = 0; i < 3; i++) {
        static const size_t counts[] = {8, 28, 298};
        static const char *const what = "percentile given below the table of needed samples";
        struct experiment x = {
            .generator = {.kind = GENERATOR_STATIONARY, .count = counts[i], .sd = 0.01},
            .series = settings->series};
        struct row row;
        size_t k, p = i == 0 ? 1 : i;

        experiment_run(settings, &x, true);
        row = experiment_row(&x, what, NAN, 0);
        snprintf(row.where + strlen(row.where), sizeof(row.where) - strlen(row.where), ", %s",
                 p == 1 ? "p90" : "p99");
        row.trials = x.series;
        for (k = 0; k < x.series; k++)
            row.hits += x.outcomes[k].percentile_given[p];
        table_add(table, &row);
        free(x.outcomes);
    }
}

static void measure_states(const struct settings *settings, struct table *table)
{
    static const size_t counts[] = {1000, 5000};
    size_t i;

    for (i = 0; i < 2; i++) {
        struct experiment x = {.generator = {.kind = GENERATOR_TWO_STATE,
                                             .count = counts[i],
                                             .sd = 0.01,
                                             .size = 0.05,
                                             .where = counts[i] == 1000 ? 40 : 100},
                               .series = settings->series};

        experiment_run(settings, &x, false);
        experiment_add_verdict(&x, "sticky two-state: flagged", ESTIMATE_BIMODAL, false,
                               counts[i] == 5000 ? 0.95 : NAN, NAN, table);
        experiment_add_coverage(&x, "sticky two-state: interval covers",
                                counts[i] == 5000 ? 0.95 : NAN, NAN, table);
        free(x.outcomes);
    }
}

/* Independent samples of few levels, which change nothing and move nowhere. */
static void measure_levels(const struct settings *settings, struct table *table)
{
    static const size_t counts[] = {20, 40, 80, 300, 2000};
    static const struct {
        double sd, size, where, shape, quantum_ns;
        bool bimodal; /* enough of both levels, and they are none of a clock's steps */
    } cases[] = {
        {0, 0.885, 0.5, 0.302, 0, true},  {0, 0.885, 0.5, 0, 0, true},
        {0, 0.885, 0.25, 0, 0, true},     {0.01, 0.2, 0.5, 0, 0, true},
        {0.05, 1, 0.5, 0, 0, true},       {0, 0.5, 0.1, 0, 0, false},
        {0.01, 0.5, 0.1, 0, 0, false},    {0, 0.5, 0.03, 8, 0, false},
        {0.004, 0.5, 0.5, 0, 5e5, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
            struct experiment x = {.generator = {.kind = GENERATOR_LEVELS,
                                                 .count = counts[k],
                                                 .sd = cases[i].sd,
                                                 .size = cases[i].size,
                                                 .where = cases[i].where,
                                                 .shape = cases[i].shape,
                                                 .quantum_ns = cases[i].quantum_ns},
                                   .series = settings->series};

            experiment_run(settings, &x, false);
            /* One slow sample among twenty is a slow start where it is the first. */
            experiment_add_changes(&x, "levels in no order: called a change",
                                   counts[k] > 20 ? 0.02 : 0.04, table);
            if (cases[i].bimodal && counts[k] >= 300) {
                experiment_add_verdict(&x, "levels in no order: called bimodal", ESTIMATE_BIMODAL,
                                       false, 0.98, NAN, table);
                experiment_add_coverage(&x, "its interval of the mean covers", 0.935, NAN, table);
            }
            free(x.outcomes);
        }
    }
}

static void measure_flat(const struct settings *settings, struct table *table)
{
    static const double phis[] = {0, 0.5, 0.8, 0.9, 0.95};
    size_t i, j;

    for (i = 0; i < 5; i++) {
        for (j = 0; j < 2; j++) {
            struct experiment x = {.generator = {.kind = GENERATOR_STATIONARY,
                                                 .count = j ? 2000 : 1000,
                                                 .sd = j ? 0.01 : 0.03,
                                                 .phi = phis[i],
                                                 .spikes = j ? 0.01 : 0},
                                   .series = settings->series};

            experiment_run(settings, &x, false);
            experiment_add_verdict(&x, "flat series called anything else", ESTIMATE_STEADY, true,
                                   NAN, 0.01, table);
            free(x.outcomes);
        }
    }
}

static void measure_changes(const struct settings *settings, struct table *table)
{
    static const double phis[] = {0, 0.5, 0.8, 0.9};
    size_t i;

    for (i = 0; i < 4; i++) {
        struct experiment x = {.generator = {.kind = GENERATOR_STEP,
                                             .count = 2000,
                                             .sd = 0.01,
                                             .phi = phis[i],
                                             .size = 0.02,
                                             .where = 1.0 / 7},
                               .series = settings->series};

        experiment_run(settings, &x, false);
        experiment_add_verdict(&x, "2 % step at a seventh: found", ESTIMATE_WARMUP, false, 0.95,
                               NAN, table);
        add_place(&x, (size_t)(2000 * (1.0 / 7)), 40, table);
        free(x.outcomes);
    }
    for (i = 0; i < 4; i++) {
        struct experiment x = {.generator = {.kind = GENERATOR_DRIFT,
                                             .count = 1000,
                                             .sd = 0.01,
                                             .phi = phis[i],
                                             .size = 0.05},
                               .series = settings->series};

        experiment_run(settings, &x, false);
        experiment_add_verdict(&x, "5 % drift: flagged", ESTIMATE_DRIFT, false,
                               phis[i] > 0.8 ? 0.92 : 0.99, NAN, table);
        free(x.outcomes);
    }
}

/* Shapes without a promise: shown for information. */
static void measure_shapes(const struct settings *settings, struct table *table)
{
    static const struct {
        const char *what;
        struct generator generator;
        enum estimate_verdict verdict;
    } cases[] = {
        {"exponential warmup of 10 %: called warmup",
         {.kind = GENERATOR_APPROACH, .size = 0.1, .where = 0.05},
         ESTIMATE_WARMUP},
        {"thermal slowdown of 5 %: called slowdown",
         {.kind = GENERATOR_SLOWDOWN, .size = 0.05, .where = 0.05},
         ESTIMATE_SLOWDOWN},
        {"late shift of 3 % at 85 %: called non_stationary",
         {.kind = GENERATOR_LATE_SHIFT, .size = 0.03, .where = 0.85},
         ESTIMATE_NON_STATIONARY},
        {"periodic, 2 %, every 50: called flat",
         {.kind = GENERATOR_PERIODIC, .size = 0.02, .where = 50},
         ESTIMATE_STEADY},
        {"quantised to 2 % of a sample: called flat",
         {.kind = GENERATOR_STATIONARY, .quantum_ns = 2e4},
         ESTIMATE_STEADY},
        {"wandering clock: called flat", {.kind = GENERATOR_CLOCK}, ESTIMATE_STEADY},
        {"lognormal, sd 50 %: called flat",
         {.kind = GENERATOR_LOGNORMAL, .sd = 0.5},
         ESTIMATE_STEADY},
        {"AR(2): called flat", {.kind = GENERATOR_STATIONARY, .phi2 = 0.3}, ESTIMATE_STEADY},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct experiment x = {.generator = cases[i].generator, .series = settings->series};

        x.generator.count = 1000;
        x.generator.phi = x.generator.phi2 != 0 ? 0.6 : 0.5;
        if (x.generator.sd == 0)
            x.generator.sd = 0.01;
        experiment_run(settings, &x, false);
        experiment_add_verdict(&x, cases[i].what, cases[i].verdict, false, NAN, NAN, table);
        if (x.generator.kind != GENERATOR_LATE_SHIFT && x.generator.kind != GENERATOR_CLOCK)
            experiment_add_coverage(&x, "its interval of the mean covers", NAN, NAN, table);
        free(x.outcomes);
    }
}

void measure_engine(const struct settings *settings, struct table *table)
{
    static const struct {
        const char *name;
        void (*measure)(const struct settings *settings, struct table *table);
    } parts[] = {
        {"mean", measure_means},       {"percentile", measure_percentiles},
        {"two-state", measure_states}, {"levels", measure_levels},
        {"flat", measure_flat},        {"change", measure_changes},
        {"shape", measure_shapes},
    };
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (wanted(settings, parts[i].name))
            parts[i].measure(settings, table);
    }
}
