#include "results/formats/csv_import.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "harness/core/csv_reader.h"
#include "results/formats/csv_unit.h"
#include "results/store/name_index.h"

#define SAMPLE_NS_MAX ((int64_t)1 << 62)

/* State of both readers. */
struct import {
    const char *origin;
    const char *shown; /* the same as UTF-8: it names the only series */
    uint64_t rows;
    struct name_index series_index; /* of series */
    struct name_index member_index; /* of "SERIES\x1fTRIAL", or pairs */
    struct csv_samples *samples;
    struct csv_pairs *pairs;
    unsigned char **seen;              /* pairs: bit 0 arm a, bit 1 arm b, by series */
    uint64_t *last_line;               /* pairs: line of a series' last row */
    const struct csv_columns *columns; /* of samples */
    int value, trial, series;          /* places of the columns; -1: there is none */
    double unit_ns;
};

static enum status refuse(const struct import *import, uint64_t line, struct error *err,
                          const char *what, const char *field)
{
    CLEANUP(text_finish) struct text shown = TEXT_INIT;

    text_append_printable(&shown, field, strlen(field) < 60 ? strlen(field) : 60);
    return error_set_at(err, STATUS_INVALID, import->origin, line, "\"%s\": %s",
                        text_ok(&shown) ? shown.data : "", what);
}

static enum status check_row(struct import *import, const char *series, const char *member,
                             uint64_t line, struct error *err)
{
    if (++import->rows > CSV_IMPORT_ROWS_MAX)
        return error_set_at(err, STATUS_INVALID, import->origin, line,
                            "more than %u rows: split the file by series", CSV_IMPORT_ROWS_MAX);
    if (!series[0] || strlen(series) > CSV_IMPORT_NAME_MAX)
        return refuse(import, line, err, "a series' name has 1 to 256 bytes", series);
    if (!member[0] || strlen(member) > CSV_IMPORT_NAME_MAX)
        return refuse(import, line, err, "this name has 1 to 256 bytes", member);
    return STATUS_OK;
}

/* ---- samples ---- */

static enum status find_series(struct import *import, const char *name, uint64_t line,
                               struct csv_series **ret, struct error *err)
{
    struct csv_samples *samples = import->samples;
    size_t at;

    if (name_index_find(&import->series_index, name, "", &at)) {
        *ret = &samples->series[at];
        return STATUS_OK;
    }
    if (samples->series_count == CSV_IMPORT_SERIES_MAX)
        return refuse(import, line, err, "more than 100000 series: split the file", name);
    TRY(ARRAY_GROW(samples->series, samples->series_count, 1, err));
    *ret = &samples->series[samples->series_count];
    **ret = (struct csv_series){.name = strdup(name)};
    if (!(*ret)->name || !name_index_add(&import->series_index, name, "", samples->series_count))
        return error_no_memory(err);
    samples->series_count++;
    return STATUS_OK;
}

static enum status find_trial(struct import *import, struct csv_series *series, const char *name,
                              struct csv_trial **ret, struct error *err)
{
    size_t at;

    if (name_index_find(&import->member_index, series->name, name, &at)) {
        *ret = &series->trials[at];
        return STATUS_OK;
    }
    TRY(ARRAY_GROW(series->trials, series->trial_count, 1, err));
    *ret = &series->trials[series->trial_count];
    **ret = (struct csv_trial){.name = strdup(name)};
    if (!(*ret)->name ||
        !name_index_add(&import->member_index, series->name, name, series->trial_count))
        return error_no_memory(err);
    series->trial_count++;
    return STATUS_OK;
}

static enum status read_value(const struct import *import, const char *field, uint64_t line,
                              int64_t *ret, struct error *err)
{
    double number;

    /* Whole nanoseconds stay exact. */
    if (import->unit_ns == 1 && text_parse_i64(field, ret) && *ret >= 1 && *ret <= SAMPLE_NS_MAX)
        return STATUS_OK;
    if (!text_parse_double(field, &number) || !(number * import->unit_ns >= 0.5) ||
        number * import->unit_ns >= (double)SAMPLE_NS_MAX)
        return refuse(
            import, line, err,
            import->samples && import->samples->is_bare
                ? "write a number from 1e-9 to 4e9, or larger and smaller ones with --unit"
                : "write a sample as a time from 1 ns to 2^62 ns",
            field);
    *ret = llround(number * import->unit_ns);
    return STATUS_OK;
}

static enum status take_sample(void *context, const char *const *fields, uint64_t line,
                               struct error *err)
{
    struct import *import = context;
    struct csv_series *series = NULL;
    struct csv_trial *trial = NULL;
    const char *series_name = import->series < 0 ? import->shown : fields[import->series];
    const char *trial_name = import->trial < 0 ? "1" : fields[import->trial];
    int64_t value;

    TRY(check_row(import, series_name, trial_name, line, err));
    TRY(read_value(import, fields[import->value], line, &value, err));
    TRY(find_series(import, series_name, line, &series, err));
    TRY(find_trial(import, series, trial_name, &trial, err));
    TRY(ARRAY_GROW(trial->sample_ns, trial->count, 1, err));
    trial->sample_ns[trial->count++] = value;
    return STATUS_OK;
}

/* The place of a column; -1: there is none. `name` NULL: `usual`, which may be absent. */
static enum status find_column(const struct import *import, const char *const *columns,
                               size_t count, const char *name, const char *usual, bool required,
                               int *ret, struct error *err)
{
    CLEANUP(text_finish) struct text list = TEXT_INIT;

    *ret = -1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(columns[i], name ? name : usual) != 0)
            continue;
        if (*ret >= 0)
            return error_set(err, STATUS_INVALID,
                             "%s:1: two columns are named %s: give each a name of its own",
                             import->origin, name ? name : usual);
        *ret = (int)i;
    }
    if (*ret >= 0 || (!name && !required))
        return STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        text_append(&list, i ? ", " : "");
        text_append_printable(&list, columns[i], strlen(columns[i]));
    }
    error_set(err, STATUS_INVALID,
              "%s:1: there is no column %s; there are: %s (--column names that of the samples)",
              import->origin, name ? name : usual, text_ok(&list) ? list.data : "");
    return STATUS_INVALID;
}

enum status csv_unit_find(const char *unit, const char *origin, double *ret_ns, struct error *err)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

    for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(units[i].name, unit)) {
            *ret_ns = units[i].ns;
            return STATUS_OK;
        }
    *ret_ns = CSV_BARE_NS;
    return unit ? error_set(err, STATUS_INVALID, "%s: --unit is one of ns, us, ms and s", origin)
                : STATUS_OK;
}

/* That of --unit, else the ending of the column's name (NULL: it has none), else none. */
static enum status read_unit(struct import *import, const char *column, struct error *err)
{
    const char *underscore = column ? strrchr(column, '_') : NULL;
    struct error why = ERROR_INIT;

    if (!import->columns->unit && underscore &&
        csv_unit_find(underscore + 1, import->origin, &import->unit_ns, &why) == STATUS_OK)
        return STATUS_OK;
    import->samples->is_bare = !import->columns->unit;
    return csv_unit_find(import->columns->unit, import->origin, &import->unit_ns, err);
}

static bool is_summary_of_hyperfine(const char *const *columns, size_t count)
{
    return count >= 8 && !strcmp(columns[0], "command") && !strcmp(columns[1], "mean") &&
           !strcmp(columns[2], "stddev");
}

/* "1.5 ms", "1_000", "nan": a sample of its writer, and no name of a column. */
static bool is_nearly_number(const char *text)
{
    char *rest;

    strtod(text, &rest);
    return rest > text && (*rest == '\0' || !isalpha((unsigned char)*text));
}

/* One number a line: the first line is one of them, or names the only column. */
static enum status take_only_column(struct import *import, const char *first, struct error *err)
{
    double number;

    import->value = 0;
    import->trial = import->series = -1;
    if (!text_parse_double(first, &number) && is_nearly_number(first))
        return refuse(import, 1, err, "write numbers alone, and name their unit with --unit",
                      first);
    if (!text_parse_double(first, &number))
        return read_unit(import, first, err);
    TRY(read_unit(import, NULL, err));
    return take_sample(import, &first, 1, err);
}

static enum status take_header(void *context, const char *const *columns, size_t count,
                               struct error *err)
{
    struct import *import = context;
    const struct csv_columns *asked = import->columns;
    const char *separator = csv_reader_separator(columns, count);

    if (is_summary_of_hyperfine(columns, count))
        return error_set(
            err, STATUS_INVALID,
            "%s: hyperfine's CSV has a summary of each command and no samples, so there "
            "is nothing to analyse: write them with --export-json and analyse that",
            import->origin);
    if (separator)
        return error_set(err, STATUS_INVALID, "%s:1: %s", import->origin, separator);
    if (count == 1 && !asked->value && !asked->trial && !asked->series)
        return take_only_column(import, columns[0], err);
    TRY(find_column(import, columns, count, asked->value, "sample_ns", true, &import->value, err));
    TRY(find_column(import, columns, count, asked->trial, "trial", false, &import->trial, err));
    TRY(find_column(import, columns, count, asked->series, "series", false, &import->series, err));
    return read_unit(import, columns[import->value], err);
}

enum status csv_import_samples(FILE *file, const char *origin, const struct csv_columns *columns,
                               struct csv_samples *ret, struct error *err)
{
    static const struct csv_columns usual = {0};
    CLEANUP(csv_samples_finish) struct csv_samples samples = {0};
    CLEANUP(text_finish) struct text shown = TEXT_INIT;
    struct import import = {
        .origin = origin, .samples = &samples, .columns = columns ? columns : &usual};
    enum status status;

    text_append_printable(&shown, origin, strlen(origin));
    if (!text_ok(&shown))
        return error_no_memory(err);
    import.shown = shown.data;
    status = csv_reader_run_any(file, origin, take_header, take_sample, &import, err);
    name_index_finish(&import.series_index);
    name_index_finish(&import.member_index);
    TRY(status);
    if (samples.series_count == 0)
        return error_set(err, STATUS_INVALID, "%s:2: no samples after the header", origin);
    *ret = samples;
    samples = (struct csv_samples){0};
    return STATUS_OK;
}

void csv_samples_finish(struct csv_samples *samples)
{
    for (size_t i = 0; samples && i < samples->series_count; i++) {
        struct csv_series *series = &samples->series[i];

        for (size_t j = 0; j < series->trial_count; j++) {
            free(series->trials[j].name);
            free(series->trials[j].sample_ns);
        }
        free(series->trials);
        free(series->name);
    }
    if (samples) {
        free(samples->series);
        json_decref(samples->left_out);
        memset(samples, 0, sizeof(*samples));
    }
}

/* ---- pairs ---- */

static enum status find_pair_series(struct import *import, const char *name, uint64_t line,
                                    size_t *ret, struct error *err)
{
    struct csv_pairs *pairs = import->pairs;

    if (name_index_find(&import->series_index, name, "", ret))
        return STATUS_OK;
    if (pairs->series_count == CSV_IMPORT_SERIES_MAX)
        return refuse(import, line, err, "more than 100000 series: split the file", name);
    TRY(ARRAY_GROW(pairs->series, pairs->series_count, 1, err));
    TRY(ARRAY_GROW(import->seen, pairs->series_count, 1, err));
    TRY(ARRAY_GROW(import->last_line, pairs->series_count, 1, err));
    pairs->series[pairs->series_count] = (struct csv_pairs_series){.name = strdup(name)};
    import->seen[pairs->series_count] = NULL;
    *ret = pairs->series_count++;
    if (!pairs->series[*ret].name || !name_index_add(&import->series_index, name, "", *ret))
        return error_no_memory(err);
    return STATUS_OK;
}

static enum status find_pair(struct import *import, size_t at, const char *name, size_t *ret,
                             struct error *err)
{
    struct csv_pairs_series *series = &import->pairs->series[at];

    if (name_index_find(&import->member_index, series->name, name, ret))
        return STATUS_OK;
    TRY(ARRAY_GROW(series->a, series->count, 1, err));
    TRY(ARRAY_GROW(series->b, series->count, 1, err));
    TRY(ARRAY_GROW(import->seen[at], series->count, 1, err));
    import->seen[at][series->count] = 0;
    if (!name_index_add(&import->member_index, series->name, name, series->count))
        return error_no_memory(err);
    *ret = series->count++;
    return STATUS_OK;
}

static enum status take_arm(void *context, const char *const *fields, uint64_t line,
                            struct error *err)
{
    struct import *import = context;
    bool is_b = !strcmp(fields[2], "b");
    unsigned char bit = is_b ? 2 : 1;
    struct csv_pairs_series *series;
    size_t at, pair;
    double value;

    TRY(check_row(import, fields[0], fields[1], line, err));
    if (!is_b && strcmp(fields[2], "a"))
        return refuse(import, line, err, "an arm is a or b", fields[2]);
    if (!text_parse_double(fields[3], &value) || !(value > 0) || value > (double)SAMPLE_NS_MAX)
        return refuse(import, line, err,
                      "write a value as a number of nanoseconds above 0 and up to 2^62", fields[3]);
    TRY(find_pair_series(import, fields[0], line, &at, err));
    TRY(find_pair(import, at, fields[1], &pair, err));
    series = &import->pairs->series[at];
    if (import->seen[at][pair] & bit)
        return refuse(import, line, err, "this pair already has a value for this arm", fields[1]);
    import->seen[at][pair] |= bit;
    import->last_line[at] = line;
    (is_b ? series->b : series->a)[pair] = value;
    return STATUS_OK;
}

static enum status check_complete(const struct import *import, struct error *err)
{
    const struct csv_pairs *pairs = import->pairs;

    for (size_t i = 0; i < pairs->series_count; i++)
        for (size_t k = 0; k < pairs->series[i].count; k++)
            if (import->seen[i][k] != 3)
                return refuse(import, import->last_line[i], err,
                              import->seen[i][k] == 1
                                  ? "a pair of this series has no arm b: every pair needs both"
                                  : "a pair of this series has no arm a: every pair needs both",
                              pairs->series[i].name);
    return STATUS_OK;
}

enum status csv_import_pairs(FILE *file, const char *origin, struct csv_pairs *ret,
                             struct error *err)
{
    static const char *const columns[] = {"series", "pair", "arm", "value_ns"};
    CLEANUP(csv_pairs_finish) struct csv_pairs pairs = {0};
    struct import import = {.origin = origin, .pairs = &pairs};
    enum status status = csv_reader_run(file, origin, columns, 4, take_arm, &import, err);

    if (status == STATUS_OK && pairs.series_count == 0)
        status = error_set(err, STATUS_INVALID, "%s:2: no pairs after the header", origin);
    if (status == STATUS_OK)
        status = check_complete(&import, err);
    name_index_finish(&import.series_index);
    name_index_finish(&import.member_index);
    for (size_t i = 0; i < pairs.series_count; i++)
        free(import.seen[i]);
    free(import.seen);
    free(import.last_line);
    TRY(status);
    *ret = pairs;
    pairs = (struct csv_pairs){0};
    return STATUS_OK;
}

void csv_pairs_finish(struct csv_pairs *pairs)
{
    for (size_t i = 0; pairs && i < pairs->series_count; i++) {
        free(pairs->series[i].name);
        free(pairs->series[i].a);
        free(pairs->series[i].b);
    }
    if (pairs) {
        free(pairs->series);
        memset(pairs, 0, sizeof(*pairs));
    }
}
