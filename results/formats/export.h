/*
 * export - stored results in the formats that other programs read.
 *
 * Every format is a row of one table (export.c), so that the command, its help and its tests know
 * the same ones. A writer reads the store and writes to `file` as it goes; what was written before
 * an error stays. Each number is exported with its context: result, workload, precision, batch,
 * scenario, implementation, protocol, device, and whether it was simulated or imported.
 */
#ifndef ASSAY_RESULTS_FORMATS_EXPORT_H
#define ASSAY_RESULTS_FORMATS_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/core/status.h"
#include "results/evidence/dsse.h"
#include "results/store/store.h"

struct export_request {
    const int64_t *cells; /* row ids, in the order to write */
    size_t count;
    bool without_times;               /* openmetrics: no time stamps */
    const struct dsse_signer *signer; /* intoto: NULL: unsigned */
};

typedef enum status export_fn(struct store *store, const struct export_request *request, FILE *file,
                              struct error *err);

struct export_format {
    const char *name;
    const char *summary; /* one line, for help */
    bool single;         /* describes one result only */
    export_fn *write;
};

/* The format of this name; NULL: INVALID, which names the nearest, or all. */
const struct export_format *export_format_find(const char *name, struct error *err);

/*
 * Writes the results as `format`. INVALID when a format of one result is asked for several; IO or
 * NO_SPACE when `file` cannot be written.
 */
enum status export_write(struct store *store, const struct export_format *format,
                         const struct export_request *request, FILE *file, struct error *err);

/* ---- the writers; export_write checks their preconditions ---- */

/* A row of `assay results` each, as CSV. */
export_fn export_csv;
/* Raw samples of every attempt, each row with its context, as CSV. */
export_fn export_csv_samples;
/* Whole records (store_cell_json): an array, indented; or a canonical one a line. */
export_fn export_json, export_jsonl;
/* The stack of one result as a CycloneDX 1.6 bill of materials. */
export_fn export_cyclonedx;
/* An in-toto Statement v1 about the results; in a DSSE envelope with a signer. */
export_fn export_intoto;
/* OpenMetrics text: rates, times and counts of trials, the context as labels. */
export_fn export_openmetrics;
/* The columns of export_csv as Parquet, by the program duckdb; UNAVAILABLE where there is none. */
export_fn export_parquet;
/* Lines `:::MLLOG {...}` as MLPerf's logs have them. */
export_fn export_mlperf;

/* ---- shared by the writers ---- */

/* IO or NO_SPACE when a write to `file` has failed. */
enum status export_check(FILE *file, struct error *err);

/* Writes `json` with these jansson flags and a newline; takes the reference, NULL is NO_MEMORY. */
enum status export_put_json(json_t *json, size_t flags, FILE *file, struct error *err);

/* Row of store_list_results for each cell, in the request's order; new array. */
enum status export_rows(struct store *store, const struct export_request *request, json_t **ret,
                        struct error *err);

/* Canonical form of a cell's record, the line that export_jsonl writes; heap. */
enum status export_record_line(struct store *store, int64_t cell, char **ret, json_t **ret_record,
                               struct error *err);

/* The value of a reading that is a text, else NULL. */
const char *export_reading(const json_t *readings, const char *name);

/*
 * A copy of untrusted JSON whose texts, names of members included, are safe on a terminal
 * (text_append_printable); NULL: no memory.
 */
json_t *export_printable(const json_t *json);

/* "urn:assay:result:<uid>:<ordinal>" of a record, heap: an id that needs no database. */
char *export_result_urn(const json_t *record);

#endif
