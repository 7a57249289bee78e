/*
 * calibration_serving - does the analysis of trials under load keep what it promises?
 *
 * As calibration.c, on simulated queues. Exit 0: no promise is broken beyond what chance explains;
 * 1: one is (with --strict: one is not met); 2: it could not be measured.
 */
#include <stdlib.h>
#include <string.h>

#include <getopt.h>

#include "tests/calibration/measure_serving.h"
#include "tests/calibration/queues.h"

/* "short" is for every test run: what is quick. */
static void measure(const struct settings *settings, struct table *table)
{
    static const double loads[] = {0.5, 0.8, 0.9}, held_out[] = {0.63, 0.77, 0.93};
    const bool quick = !strcmp(settings->only, "short");

    if (quick || strstr("loads", settings->only))
        measure_serving_loads(settings, loads, quick ? 1 : 3, table);
    if (strstr("held-out", settings->only))
        measure_serving_loads(settings, held_out, 3, table);
    if (quick || strstr("few", settings->only))
        measure_serving_few(settings, loads, quick ? 1 : 3, table);
    if (quick || strstr("faults", settings->only))
        measure_serving_faults(settings, quick ? 1 : QUEUE_KIND_COUNT, table);
    if (quick || strstr("arrivals", settings->only))
        measure_serving_arrivals(settings, table);
    if (quick || strstr("rare", settings->only))
        measure_serving_rare(settings, loads, quick ? 1 : 2, table);
    if (quick || strstr("traces", settings->only))
        measure_serving_traces(settings, table);
    if (quick || strstr("pairs", settings->only))
        measure_serving_pairs(settings, loads, quick ? 1 : 2, table);
    if (strstr("capacity", settings->only))
        measure_serving_capacity(settings, table);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 'd'},  {"series", required_argument, NULL, 's'},
        {"parts", required_argument, NULL, 'p'}, {"only", required_argument, NULL, 'o'},
        {"strict", no_argument, NULL, 't'},      {0}};
    struct settings settings = {.seed = 1, .series = 40, .only = ""};
    const double confidence = 1 - 1e-6;
    const char *folder = NULL;
    bool strict = false;
    struct error err = ERROR_INIT;
    struct table table = {0};
    struct parts parts;
    size_t broken, missed;
    int key;

    while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (key == 'd')
            settings.seed = strtoull(optarg, NULL, 10);
        else if (key == 's')
            settings.series = strtoull(optarg, NULL, 10);
        else if (key == 'p')
            folder = optarg;
        else if (key == 'o')
            settings.only = optarg;
        else if (key == 't')
            strict = true;
        else
            return 2;
    }
    if (settings.series == 0 || optind < argc) {
        fputs("usage: calibration_serving [--seed N] [--series N] [--parts DIR] [--strict] "
              "[--only loads|held-out|few|faults|arrivals|rare|traces|pairs|capacity|short]\n",
              stderr);
        return 2;
    }
    if (parts_open(&parts, folder, settings.seed, &err) != STATUS_OK) {
        fprintf(stderr, "calibration: %s\n", err.message);
        return 2;
    }
    settings.parts = &parts;
    measure(&settings, &table);
    table_print(&table, confidence, stdout);
    broken = table_count(&table, confidence, ROW_BROKEN);
    missed = table_count(&table, confidence, ROW_CHANCE);
    printf("\n%zu promises met, %zu within chance, %zu broken\n",
           table_count(&table, confidence, ROW_MET), missed, broken);
    table_finish(&table);
    return broken > 0 || (strict && missed > 0);
}
