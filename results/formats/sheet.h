/*
 * sheet - a CSV file that a buyer writes, with columns of a kind each, in any order. Numbers are
 * decimal with a point and no separators; days are YYYY-MM-DD.
 */
#ifndef ASSAY_RESULTS_FORMATS_SHEET_H
#define ASSAY_RESULTS_FORMATS_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

#define SHEET_BYTES_MAX ((size_t)4 << 20) /* of a file */
#define SHEET_ROWS_MAX 1000

enum sheet_kind { SHEET_TEXT, SHEET_NUMBER, SHEET_DAY, SHEET_BOOLEAN };

struct sheet_column {
    const char *name;
    enum sheet_kind kind;
    bool required;
};

struct sheet_form {
    const struct sheet_column *columns; /* in the order in which a row's JSON has them */
    size_t count;
    const char *required; /* "item, kind and amount must be there" */
    const char *command;  /* whose --help lists them */
    /* What the fields of a row must be together; the row may be completed. */
    enum status (*check)(void *context, const char *origin, json_t *row, uint64_t line,
                         struct error *err);
};

/*
 * Reads a text that came from `origin` into {"sha256", "rows": [{"line", ...; null where a field is
 * empty}]}, a new object in `ret`. `context` is for form->check. INVALID with "ORIGIN:LINE: ...".
 */
enum status sheet_parse(const struct sheet_form *form, void *context, const char *origin,
                        const char *text, size_t length, json_t **ret, struct error *err);

/* INVALID: "ORIGIN:LINE: COLUMN "FIELD": what". */
enum status sheet_refuse(const char *origin, uint64_t line, const char *column, const char *field,
                         const char *what, struct error *err);

#endif
