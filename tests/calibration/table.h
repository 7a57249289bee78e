/* table - promised and measured error rates, one row each. */
#ifndef ASSAY_TESTS_CALIBRATION_TABLE_H
#define ASSAY_TESTS_CALIBRATION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

enum row_state {
    ROW_SHOWN,  /* nothing is promised */
    ROW_MET,    /* measured within the promise */
    ROW_CHANCE, /* outside, by no more than this many series explain */
    ROW_BROKEN  /* outside beyond chance */
};

/* A rate (hits of trials) or, with trials = 0, a mean with its standard error. */
struct row {
    const char *what; /* static */
    char where[96];
    double low, high; /* promised; NAN where that side is open */
    size_t series;    /* made */
    size_t trials, hits;
    double mean, error;
};

struct table {
    struct row *rows;
    size_t count;
};

/* Copies the row; ends the program when memory is out. */
void table_add(struct table *table, const struct row *row);

double row_measured(const struct row *row);

/* Exact (Clopper-Pearson) or normal interval of what was measured. */
void row_interval(const struct row *row, double confidence, double *ret_lo, double *ret_hi);

/* BROKEN when the interval at `confidence` does not reach the promise. */
enum row_state row_judge(const struct row *row, double confidence);
const char *row_state_name(enum row_state state);

void table_print(const struct table *table, double confidence, FILE *file);
json_t *table_to_json(const struct table *table, double confidence);
size_t table_count(const struct table *table, double confidence, enum row_state state);
void table_finish(struct table *table);

#endif
