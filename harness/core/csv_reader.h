/* csv_reader - rows of a CSV file with a known header, one at a time, with their line numbers. */
#ifndef ASSAY_CORE_CSV_READER_H
#define ASSAY_CORE_CSV_READER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/core/status.h"

#define CSV_READER_FIELDS_MAX 64
#define CSV_READER_FIELD_BYTES_MAX 4096

/* Called for each row after the header; not OK stops the reading with that error. */
typedef enum status csv_row_fn(void *context, const char *const *fields, uint64_t line,
                               struct error *err);

/*
 * Reads `file` to its end. The header must be exactly `columns` (a byte-order mark before it is
 * skipped). INVALID with "ORIGIN:LINE: ..." for another header, a wrong number of fields, an open
 * quote, a NUL byte, text that is not UTF-8, or a field that is too long, and with what to do for a
 * compressed file or one in UTF-16; IO when reading fails.
 * Empty lines are skipped. A missing newline at the end is fine.
 */
enum status csv_reader_run(FILE *file, const char *origin, const char *const *columns,
                           size_t column_count, csv_row_fn *row, void *context, struct error *err);

/*
 * Of a header of one column: that semicolons or tabs divide it, and what to do; NULL: they do not.
 * Static.
 */
const char *csv_reader_separator(const char *const *columns, size_t count);

/* Called with the names in the header, whatever they are. */
typedef enum status csv_header_fn(void *context, const char *const *columns, size_t count,
                                  struct error *err);

/* The same for a file with any header; every row has as many fields as the header. */
enum status csv_reader_run_any(FILE *file, const char *origin, csv_header_fn *header,
                               csv_row_fn *row, void *context, struct error *err);

#endif
