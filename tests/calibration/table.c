#include "tests/calibration/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"

void table_add(struct table *table, const struct row *row)
{
    struct row *grown = realloc(table->rows, (table->count + 1) * sizeof(*grown));

    if (!grown) {
        fputs("calibration: out of memory\n", stderr);
        exit(2);
    }
    table->rows = grown;
    table->rows[table->count++] = *row;
}

double row_measured(const struct row *row)
{
    if (isfinite(row->mean) && row->trials == 0)
        return row->mean;
    return row->trials > 0 ? (double)row->hits / (double)row->trials : NAN;
}

void row_interval(const struct row *row, double confidence, double *ret_lo, double *ret_hi)
{
    double n = (double)row->trials, k = (double)row->hits, tail = 0.5 * (1 - confidence);

    if (row->trials == 0) {
        double half = normal_quantile(1 - tail) * row->error;

        *ret_lo = row->mean - half;
        *ret_hi = row->mean + half;
        return;
    }
    *ret_lo = k > 0 ? beta_quantile(tail, k, n - k + 1) : 0;
    *ret_hi = k < n ? beta_quantile(1 - tail, k + 1, n - k) : 1;
}

enum row_state row_judge(const struct row *row, double confidence)
{
    double value = row_measured(row), lo, hi;

    if (isnan(row->low) && isnan(row->high))
        return ROW_SHOWN;
    if (isnan(value))
        return ROW_BROKEN; /* nothing was given at all */
    if (!(value < row->low) && !(value > row->high))
        return ROW_MET;
    row_interval(row, confidence, &lo, &hi);
    return hi < row->low || lo > row->high ? ROW_BROKEN : ROW_CHANCE;
}

const char *row_state_name(enum row_state state)
{
    static const char *const names[] = {"", "met", "within chance", "BROKEN"};

    return names[state];
}

static void format_promise(const struct row *row, char *ret, size_t size)
{
    double scale = row->trials > 0 || isnan(row->mean) ? 100 : 1;
    const char *unit = scale > 1 ? " %" : "";

    if (isnan(row->low) && isnan(row->high))
        snprintf(ret, size, "-");
    else if (isnan(row->high))
        snprintf(ret, size, ">= %.4g%s", scale * row->low, unit);
    else if (isnan(row->low))
        snprintf(ret, size, "<= %.4g%s", scale * row->high, unit);
    else
        snprintf(ret, size, "%.4g-%.4g%s", scale * row->low, scale * row->high, unit);
}

void table_print(const struct table *table, double confidence, FILE *file)
{
    const char *before = "";
    size_t i;

    fprintf(file, "| what | case | promise | measured | 99 %% interval | series | |\n");
    fprintf(file, "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        double scale = row->trials > 0 ? 100 : 1, lo, hi;
        char promise[48];

        format_promise(row, promise, sizeof(promise));
        row_interval(row, 0.99, &lo, &hi);
        fprintf(file, "| %s | %s | %s | ", strcmp(before, row->what) ? row->what : "", row->where,
                promise);
        if (isnan(row_measured(row)))
            fprintf(file, "none given | - | %zu", row->series);
        else
            fprintf(file, "%.4g%s | %.4g-%.4g | %zu", scale * row_measured(row),
                    row->trials > 0 ? " %" : "", scale * lo, scale * hi, row->series);
        if (row->trials > 0 && row->trials != row->series)
            fprintf(file, " (%zu counted)", row->trials);
        fprintf(file, " | %s |\n", row_state_name(row_judge(row, confidence)));
        before = row->what;
    }
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *table_to_json(const struct table *table, double confidence)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        json_t *object = json_object();
        double lo, hi;

        row_interval(row, 0.99, &lo, &hi);
        json_object_set_new(object, "what", json_string(row->what));
        json_object_set_new(object, "case", json_string(row->where));
        json_object_set_new(object, "promise_low", real_or_null(row->low));
        json_object_set_new(object, "promise_high", real_or_null(row->high));
        json_object_set_new(object, "measured", real_or_null(row_measured(row)));
        json_object_set_new(object, "interval99_low", real_or_null(lo));
        json_object_set_new(object, "interval99_high", real_or_null(hi));
        json_object_set_new(object, "series", json_integer((json_int_t)row->series));
        json_object_set_new(object, "counted", json_integer((json_int_t)row->trials));
        json_object_set_new(object, "state",
                            json_string(row_state_name(row_judge(row, confidence))));
        json_array_append_new(array, object);
    }
    return array;
}

size_t table_count(const struct table *table, double confidence, enum row_state state)
{
    size_t i, count = 0;

    for (i = 0; i < table->count; i++)
        count += row_judge(&table->rows[i], confidence) == state;
    return count;
}

void table_finish(struct table *table)
{
    free(table->rows);
    table->rows = NULL;
    table->count = 0;
}
