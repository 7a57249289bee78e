#include "tests/calibration/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/compare.h"

#define ORDER_BY_CHANCE 0.02
#define CELLS 50
#define TRIALS_MAX 10
#define FAMILIES_LEAST 400
#define PAIRS_A_FAMILY 10 /* a family for each so many of --pairs */

/* Cells compared together: log estimates of fresh processes with sd `spread`, `slower` of the cells
 * with b slower by `effect` (log), the others without a difference. */
struct family {
    bool unpaired;
    size_t trials; /* of each arm */
    double spread, effect;
    size_t slower;
};

/* Of one family: 1 or 0, and of FALSE_SHARE the share. */
enum measured {
    ANY_FALSE_DIFFERENCE,
    FOUND,
    ANY_EQUIVALENCE,
    FALSE_SHARE /* of those that the screening names */
};

static void simulate(const struct family *f, struct random *random, struct comparison *cells)
{
    const struct compare_options options = compare_options_default();
    double a[TRIALS_MAX], b[TRIALS_MAX];
    enum status status = STATUS_OK;

    for (size_t i = 0; i < CELLS && status == STATUS_OK; i++) {
        for (size_t k = 0; k < f->trials; k++) {
            a[k] = exp(f->spread * random_next_normal(random));
            b[k] = exp(f->spread * random_next_normal(random) + (i < f->slower ? f->effect : 0));
        }
        status = f->unpaired
                     ? unpaired_analyze(a, f->trials, b, f->trials, &options, &cells[i], NULL)
                     : paired_analyze(a, b, f->trials, &options, &cells[i], NULL);
    }
    if (status != STATUS_OK || comparison_family(cells, CELLS, NULL) != STATUS_OK) {
        fputs("calibration: a family failed\n", stderr);
        exit(2);
    }
}

static double measure_one(const struct family *f, const struct comparison *cells,
                          enum measured measured)
{
    size_t false_ones = 0, equivalent = 0, named = 0, falsely = 0;

    for (size_t i = 0; i < CELLS; i++) {
        const double alpha = 1 - cells[i].confidence;

        false_ones += i >= f->slower && cells[i].p_difference_family <= alpha;
        equivalent += cells[i].verdict == COMPARE_EQUIVALENT;
        named += cells[i].q_difference <= alpha;
        falsely += i >= f->slower && cells[i].q_difference <= alpha;
    }
    switch (measured) {
    case ANY_FALSE_DIFFERENCE:
        return false_ones > 0;
    case FOUND:
        return cells[0].verdict == COMPARE_SLOWER;
    case ANY_EQUIVALENCE:
        return equivalent > 0;
    case FALSE_SHARE:
        break;
    }
    return named > 0 ? (double)falsely / (double)named : 0;
}

static void add(const struct settings *settings, const struct family *f, uint64_t number,
                enum measured measured, const char *what, double low, double high,
                struct table *table)
{
    const size_t families = settings->pairs / PAIRS_A_FAMILY;
    const long count = (long)(families > FAMILIES_LEAST ? families : FAMILIES_LEAST);
    struct row row = {.what = what, .low = low, .high = high, .mean = NAN, .series = (size_t)count};
    struct {
        double sum, squares;
    } total = {0, 0};
    double *values = calloc((size_t)count, sizeof(*values));
    char key[160];

    snprintf(row.where, sizeof(row.where), "%d cells, %zu slower by %.3g %%, %s %zu, sd %.3g %%",
             CELLS, f->slower, 100 * expm1(f->effect), f->unpaired ? "trials" : "K", f->trials,
             100 * f->spread);
    snprintf(key, sizeof(key), "%ld families, %s, number %llu, measured %d", count, row.where,
             (unsigned long long)number, (int)measured);
    if (!values)
        exit(2);
    if (!parts_take(settings->parts, key, &total, sizeof(total))) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < count; i++) {
            struct comparison cells[CELLS];
            struct random random;

            random_init(&random, settings->seed ^ 0x66616d696c696573u,
                        (number << 40) + (uint64_t)i);
            simulate(f, &random, cells);
            values[i] = measure_one(f, cells, measured);
        }
        for (long i = 0; i < count; i++) {
            total.sum += values[i];
            total.squares += values[i] * values[i];
        }
        parts_keep(settings->parts, key, &total, sizeof(total));
    }
    free(values);
    if (measured == FALSE_SHARE) {
        const double n = (double)count;

        row.mean = total.sum / n;
        row.error = sqrt(fmax(total.squares / n - row.mean * row.mean, 0) / n);
    } else {
        row.trials = (size_t)count;
        row.hits = (size_t)total.sum;
    }
    table_add(table, &row);
}

/* What Bonferroni's level would find, which Holm's finds at least; written into the row's name. */
static double power_alone(const struct family *f, char what[96])
{
    const double alpha = 1 - compare_options_default().confidence;
    const double sd = sqrt(2) * f->spread; /* of the difference of two processes */
    const double power = paired_power((double)f->trials, sd, f->effect, 1 - alpha / CELLS);

    snprintf(what, 96, "families: the one is found; power at alpha / %d: %.6g %%", CELLS,
             100 * power);
    return power;
}

void measure_families(const struct settings *settings, struct table *table)
{
    const struct compare_options options = compare_options_default();
    const double alpha = 1 - options.confidence, effect = log1p(0.03);
    const struct family same = {false, 10, 0.005, 0, 0}, same_unpaired = {true, 5, 0.01, 0, 0};
    const struct family one = {false, 10, 0.005, effect, 1},
                        one_rough = {false, 10, 0.01, effect, 1};
    const struct family ten = {false, 10, 0.005, effect, 10};
    const struct family at_margin = {false, 10, 0.005, log1p(options.margin), CELLS};
    static char found[2][96];

    add(settings, &same, 1, ANY_FALSE_DIFFERENCE, "families, A/A, paired: any false difference",
        NAN, alpha, table);
    add(settings, &same_unpaired, 2, ANY_FALSE_DIFFERENCE,
        "families, A/A, Welch: any false difference", NAN, alpha, table);
    add(settings, &ten, 3, ANY_FALSE_DIFFERENCE, "families with differences: any false one", NAN,
        alpha, table);
    /* Less those whose order of pairs is certain by chance, and whose interval admits it. */
    add(settings, &one, 4, FOUND, found[0], power_alone(&one, found[0]) - ORDER_BY_CHANCE, NAN,
        table);
    power_alone(&one_rough, found[1]);
    add(settings, &one_rough, 5, FOUND, found[1], NAN, NAN, table);
    add(settings, &at_margin, 6, ANY_EQUIVALENCE, "families: any false equivalence", NAN, 0.055,
        table);
    add(settings, &ten, 7, FALSE_SHARE, "families, screening at 5 %: share of false ones", NAN,
        alpha, table);
}
