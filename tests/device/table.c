#include "tests/device/table.h"

#include <math.h>
#include <stdio.h>

#include "harness/core/text.h"

#define ROWS_MAX 64

static struct row rows[ROWS_MAX];
static size_t row_count, rows_told;

struct row *table_add_row(const char *what, double value, const char *unit)
{
    struct row *row = &rows[row_count < ROWS_MAX ? row_count++ : ROWS_MAX - 1];

    *row = (struct row){.value = value, .unit = unit, .reference = NAN, .mark = NAN};
    snprintf(row->what, sizeof(row->what), "%s", what);
    return row;
}

void table_fail_row(const char *what, const char *reason)
{
    struct row *row = table_add_row(what, NAN, "");

    snprintf(row->note, sizeof(row->note), "%s", reason);
    row->mark = 1.0; /* a mark that is not reached */
}

void table_print_new(void)
{
    for (; rows_told < row_count; rows_told++) {
        const struct row *row = &rows[rows_told];
        char value[TEXT_HUMAN_SIZE] = "no result ";

        if (row->absent)
            snprintf(value, sizeof(value), "absent");
        else if (!isnan(row->value))
            text_human_si(row->value, value);
        fprintf(stderr, "    %s: %s%s; %s\n", row->what, row->passed ? "passed " : value,
                isnan(row->value) ? "" : row->unit, row->note);
    }
}

bool table_print(bool small, const char *db)
{
    bool reached = true;
    size_t untried = 0;

    printf("\n%-40s %14s %14s %6s %6s  %s\n", "what", "measured", "reference", "ratio", "mark", "");
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        const double ratio = row->value / row->reference;
        const bool marked = !isnan(row->mark);
        const bool good = marked && ratio >= row->mark;
        char value[TEXT_HUMAN_SIZE] = "no result", reference[TEXT_HUMAN_SIZE] = "";
        char ratio_text[16] = "", mark[16] = "";

        if (row->passed)
            snprintf(value, sizeof(value), "passed");
        else if (row->absent)
            snprintf(value, sizeof(value), "absent");
        else if (!isnan(row->value))
            text_human_si(row->value, value);
        if (!isnan(row->reference))
            text_human_si(row->reference, reference);
        if (!isnan(ratio))
            snprintf(ratio_text, sizeof(ratio_text), "%.3f", ratio);
        if (marked && !isnan(row->reference))
            snprintf(mark, sizeof(mark), "%.2f", row->mark);
        printf("%-40s %10s%-6s %14s %6s %6s  %s%s%s%s\n", row->what, value,
               isnan(row->value) ? "" : row->unit, reference, ratio_text, mark,
               marked         ? (good ? "ok; " : "BELOW; ")
               : row->untried ? "untried: "
                              : "",
               row->reference_what, row->reference_what[0] != '\0' ? "; " : "", row->note);
        /* A row without a number fails, except with a stand-in, whose times mean nothing. */
        untried += row->untried ? 1 : 0;
        reached = reached && (!marked || good) && (!isnan(row->value) || small || row->absent);
    }
    if (small)
        printf("\na small run, without marks");
    else
        printf("\n%s", reached ? "all marks reached" : "NOT all marks reached");
    if (untried > 0)
        printf(" (%zu could not be tried: \"untried\" above)", untried);
    printf("; every sample is in %s: assay report --db %s --html report.html\n", db, db);
    return reached;
}
