/*
 * csv_export - results and raw samples as CSV (RFC 4180, UTF-8, a header line), through libcsv.
 *
 * Text is quoted, numbers are not, an empty field means not known. Rows go to `file` as they are
 * read; a failing write is IO or NO_SPACE, and what was written before it stays.
 */
#ifndef ASSAY_RESULTS_FORMATS_CSV_EXPORT_H
#define ASSAY_RESULTS_FORMATS_CSV_EXPORT_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * The wall_ns samples of a cell's trials that ended "ok", warmup included, with the header
 * `series,trial,sample_ns` that `assay analyze` reads. `series` is the result's id, `trial` the
 * place in the campaign's order; a sample is the time of iterations_per_sample iterations.
 */
enum status csv_export_samples(struct store *store, int64_t cell, FILE *file, struct error *err);

/*
 * Every series of every attempt of a cell, a row a sample, each with its context: the columns of
 * the header, which is written once per file.
 */
void csv_export_series_header(FILE *file);
enum status csv_export_series_rows(struct store *store, int64_t cell, FILE *file,
                                   struct error *err);

/* The columns of csv_export_results before those of metrics, in their order; NULL past the last. */
const struct member *csv_export_column(size_t index);

/* Rows of store_list_results, its keys as the header. */
enum status csv_export_results(const json_t *rows, FILE *file, struct error *err);

#endif
