/* table - the rows of device_check: measurements, what they are compared with, and the marks. */
#ifndef ASSAY_TESTS_DEVICE_TABLE_H
#define ASSAY_TESTS_DEVICE_TABLE_H

#include <stdbool.h>

struct row {
    char what[64], reference_what[160], note[512];
    double value, reference, mark; /* NAN: none */
    const char *unit;
    bool passed;  /* a test, not a number */
    bool untried; /* it has a mark, and nothing to compare with */
    bool absent;  /* the device's library does not do it, which is an answer */
};

/* A new row, to be filled; the last one again where there are too many. */
struct row *table_add_row(const char *what, double value, const char *unit);
/* A row without a number, whose mark is not reached. */
void table_fail_row(const char *what, const char *reason);

/* Prints each new row on stderr at once, so that a time limit loses none of them. */
void table_print_new(void);

/* The table on stdout. `small`: there are no marks. True when all that could be tried are reached.
 */
bool table_print(bool small, const char *db);

#endif
