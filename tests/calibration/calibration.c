/*
 * calibration - does the engine keep what it promises?
 *
 * Makes series whose truth is known, lets the engine judge them, and prints the table of promised
 * and measured error rates. Exit 0: no promise is broken beyond what chance explains; 1: one is
 * (with --strict: one is not met); 2: it could not be measured.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/estimate.h"
#include "tests/calibration/measure.h"

struct arguments {
    struct settings settings;
    const char *folder;
    bool json, strict;
};

static const struct argp_option options[] = {
    {"seed", 's', "SEED", 0, "seed of all series (1)", 0},
    {"series", 'n', "N", 0, "series for each case of the engine (200)", 0},
    {"pairs", 'p', "N", 0, "comparisons for each case (20 times the series)", 0},
    {"only", 'o', "PART", 0,
     "one part: mean, percentile, two-state, levels, flat, change, shape, hard, disturbed, trials, "
     "grades, percentiles, marked, verdicts, campaigns, days, needed, compare, order, history, "
     "acceptance, rivals",
     0},
    {"parts", 'd', "DIR", 0,
     "keep each case in this folder when it is done, and go on from there; says how far it is", 0},
    {"json", 'j', NULL, 0, "print JSON instead of a table", 0},
    {"strict", 't', NULL, 0, "fail when a promise is not met, chance or not", 0},
    {0}};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    char *end = value;

    switch (key) {
    case 's':
        arguments->settings.seed = strtoull(value, &end, 0);
        break;
    case 'n':
        arguments->settings.series = strtoull(value, &end, 10);
        break;
    case 'p':
        arguments->settings.pairs = strtoull(value, &end, 10);
        break;
    case 'o':
        arguments->settings.only = value;
        break;
    case 'd':
        arguments->folder = value;
        break;
    case 'j':
        arguments->json = true;
        break;
    case 't':
        arguments->strict = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (value && key != 'o' && key != 'd' && (*end || end == value))
        argp_error(state, "'%s' is not a number", value);
    return 0;
}

static void measure(const struct settings *settings, struct table *table)
{
    measure_engine(settings, table);
    measure_hard(settings, table);
    measure_disturbed(settings, table);
    measure_cells(settings, table);
    measure_comparisons(settings, table);
    measure_dependence(settings, table);
    measure_history(settings, table);
    measure_acceptance(settings, table);
    measure_rivals(settings, table);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     NULL,
                                     "Measures the error rates of the measurement engine on series "
                                     "whose truth is known.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct arguments arguments = {.settings = {.seed = 1, .series = 200, .only = ""}};
    struct error err = ERROR_INIT;
    struct table table = {0};
    struct parts parts;
    /* About two hundred rows: at this confidence chance breaks one run in five thousand. */
    const double confidence = 1 - 1e-6;
    size_t broken, missed;

    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments))
        return 2;
    if (arguments.settings.pairs == 0)
        arguments.settings.pairs = 20 * arguments.settings.series;
    if (parts_open(&parts, arguments.folder, arguments.settings.seed, &err) != STATUS_OK) {
        fprintf(stderr, "calibration: %s\n", err.message);
        return 2;
    }
    arguments.settings.parts = &parts;
    parts.counting = true;
    measure(&arguments.settings, &table);
    table_finish(&table);
    parts.counting = false;
    parts.telling = arguments.folder != NULL;
    measure(&arguments.settings, &table);
    broken = table_count(&table, confidence, ROW_BROKEN);
    missed = table_count(&table, confidence, ROW_CHANCE);
    if (arguments.json) {
        json_t *json = json_object();

        json_object_set_new(json, "engine", json_integer(ESTIMATE_VERSION));
        json_object_set_new(json, "seed", json_integer((json_int_t)arguments.settings.seed));
        json_object_set_new(json, "rows", table_to_json(&table, confidence));
        json_dumpf(json, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(json);
    } else {
        table_print(&table, confidence, stdout);
        printf("\nengine %d, seed %llu, %zu series and %zu comparisons a case: %zu promises met, "
               "%zu within chance, %zu broken\n",
               ESTIMATE_VERSION, (unsigned long long)arguments.settings.seed,
               arguments.settings.series, arguments.settings.pairs,
               table_count(&table, confidence, ROW_MET), missed, broken);
    }
    table_finish(&table);
    return broken > 0 || (arguments.strict && missed > 0);
}
