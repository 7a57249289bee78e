/*
 * csv_import - samples from any CSV file, for `assay analyze`.
 *
 * RFC 4180 through libcsv in strict mode; UTF-8; a header line, then rows in time order. Errors are
 * "FILE:LINE: what, and what to write instead". Memory is bounded by CSV_IMPORT_ROWS_MAX rows and
 * CSV_IMPORT_SERIES_MAX series, whatever the file's size.
 */
#ifndef ASSAY_RESULTS_FORMATS_CSV_IMPORT_H
#define ASSAY_RESULTS_FORMATS_CSV_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "harness/core/status.h"

#ifndef CSV_IMPORT_ROWS_MAX /* a test may lower the bound */
#define CSV_IMPORT_ROWS_MAX 50000000u
#endif
#define CSV_BARE_NS 1e9 /* what 1 of a file without a unit is, in the samples read */
#define CSV_IMPORT_SERIES_MAX 100000u
#define CSV_IMPORT_NAME_MAX 256 /* bytes of a series' or trial's name */

/* Samples of one trial, in the order of their rows. */
struct csv_trial {
    char *name;
    int64_t *sample_ns; /* each > 0 */
    size_t count;
};

/* Trials of one series, in the order in which they first appear. */
struct csv_series {
    char *name;
    struct csv_trial *trials;
    size_t trial_count;
};

struct csv_samples {
    struct csv_series *series; /* in the order in which they first appear */
    size_t series_count;
    bool is_bare;     /* no unit is declared: a sample is what the file has, times CSV_BARE_NS */
    json_t *left_out; /* array of messages on results that failed; NULL: none */
};

/* Which columns of the header are meant; all may be NULL. */
struct csv_columns {
    const char *value;  /* NULL: sample_ns, or the only column that there is */
    const char *trial;  /* NULL: `trial` where there is such a column, else all are of one trial */
    const char *series; /* NULL: `series` likewise, else all are of one series, named as the file */
    const char *unit;   /* "ns", "us", "ms", "s"; NULL: the ending of the value's name ("time_ms"),
                           and where that is none: there is none */
};

/*
 * Usually with the header `series,trial,sample_ns`; a file of one number a line needs no header. A
 * sample is a time from 1 ns to 2^62 ns;
 * decimals are rounded to nanoseconds. INVALID, with the columns that there are, for one that is
 * not there, and for a unit that is none; also without rows. hyperfine's CSV is refused; the
 * message says how to get its samples. `columns` may be NULL; `origin` names the file in messages.
 */
enum status csv_import_samples(FILE *file, const char *origin, const struct csv_columns *columns,
                               struct csv_samples *ret, struct error *err);

/*
 * JSON. A list of numbers is one series, named as the file, and needs `unit` (csv_columns). Of
 * hyperfine (--export-json) a series for each command, named by it, its runs in their order as one
 * trial; of several results of one command the name has the parameters, or a number. Of
 * pytest-benchmark (--benchmark-json with --benchmark-save-data) the rounds of each test, of Google
 * Benchmark (--benchmark_format=json) the repetitions of each benchmark, of llama-bench (-o json)
 * those of each test. An entry that failed or has no samples is left out and named; INVALID for a
 * file without another, and for another shape.
 */
enum status csv_import_json(FILE *file, const char *origin, const char *unit,
                            struct csv_samples *ret, struct error *err);

/* By the beginning of the file: JSON, or CSV. INVALID as these. */
enum status csv_import_any(FILE *file, const char *origin, const struct csv_columns *columns,
                           struct csv_samples *ret, struct error *err);

void csv_samples_finish(struct csv_samples *samples);

/* One series of pairs: a[k] and b[k] were measured side by side. */
struct csv_pairs_series {
    char *name;
    double *a, *b; /* ns per unit of work, finite and > 0 */
    size_t count;
};

struct csv_pairs {
    struct csv_pairs_series *series;
    size_t series_count;
};

/*
 * Header `series,pair,arm,value_ns`: every pair of a series has exactly one row with arm a and one
 * with arm b, in any order; pairs come out in the order in which they first appear. Values may have
 * decimals.
 */
enum status csv_import_pairs(FILE *file, const char *origin, struct csv_pairs *ret,
                             struct error *err);
void csv_pairs_finish(struct csv_pairs *pairs);

#endif
