/* JSON as samples: what hyperfine writes, and a plain list of numbers. */
#include "results/formats/csv_import.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/cleanup.h"
#include "harness/core/file_form.h"
#include "harness/core/member.h"
#include "results/formats/csv_unit.h"
#include "results/formats/foreign_text.h"
#include "results/formats/hyperfine.h"

#define BYTES_MAX ((size_t)256 << 20)
#define WHERE_SIZE 256
#define PEEK_SIZE 2048 /* bytes by which a file is recognised, less than stdio's buffer */

/* All of a file that is no longer than BYTES_MAX. */
static enum status read_all(FILE *file, const char *origin, char **ret, size_t *ret_length,
                            struct error *err)
{
    size_t capacity = (size_t)1 << 16, length = 0, got;
    char *bytes = malloc(capacity), *grown;

    while (bytes && (got = fread(bytes + length, 1, capacity - length, file)) > 0) {
        length += got;
        if (length > BYTES_MAX) {
            free(bytes);
            return error_set(err, STATUS_INVALID, "%s: is longer than %zu MiB", origin,
                             BYTES_MAX >> 20);
        }
        if (length == capacity) {
            grown = realloc(bytes, capacity *= 2);
            if (!grown)
                free(bytes);
            bytes = grown;
        }
    }
    if (!bytes)
        return error_no_memory(err);
    if (ferror(file)) {
        free(bytes);
        return error_set(err, STATUS_IO, "%s: cannot be read", origin);
    }
    *ret = bytes;
    *ret_length = length;
    return STATUS_OK;
}

static enum status shape(const char *origin, struct error *err)
{
    return error_set(err, STATUS_INVALID,
                     "%s: this JSON is neither a list of numbers nor what hyperfine --export-json "
                     "writes: an object with \"results\", each with \"command\" and \"times\" in "
                     "seconds",
                     origin);
}

/* `times` in units of `unit_ns`, as one trial of the series `name`. */
static enum status take_times(const json_t *times, double unit_ns, const char *name,
                              const char *where, struct csv_series *ret, struct error *err)
{
    const size_t count = json_array_size(times);
    struct csv_trial *trial;

    ret->name = strdup(name);
    ret->trials = trial = calloc(1, sizeof(*trial));
    if (trial) {
        ret->trial_count = 1;
        trial->name = strdup("1");
        trial->sample_ns = calloc(count, sizeof(*trial->sample_ns));
    }
    if (!ret->name || !trial || !trial->name || !trial->sample_ns)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(times, i);
        const double ns = json_number_value(value) * unit_ns;

        if (!json_is_number(value) || !(ns >= 0.5 && ns <= 0x1p62)) {
            AUTO_FREE char *shown = json_dumps(value, JSON_ENCODE_ANY);

            error_set(err, STATUS_INVALID, "%s: time %zu is %.40s: must be from 1 ns to 2^62 ns",
                      where, i + 1, shown ? shown : "no number");
            return STATUS_INVALID;
        }
        trial->sample_ns[trial->count++] = llround(ns);
    }
    return STATUS_OK;
}

static enum status take_result(const json_t *result, const char *name, const char *where,
                               struct csv_series *ret, struct error *err)
{
    const json_t *times = json_object_get(result, "times");

    if (!name)
        return error_set(err, STATUS_INVALID, "%s: command: is missing", where);
    if (json_array_size(times) == 0)
        return error_set(err, STATUS_INVALID, "%s: times: must be a list of the runs' seconds",
                         where);
    TRY(hyperfine_check_runs(result, where, err));
    return take_times(times, 1e9, name, where, ret, err);
}

static void finish_series(struct csv_series *series)
{
    for (size_t i = 0; i < series->trial_count; i++) {
        free(series->trials[i].name);
        free(series->trials[i].sample_ns);
    }
    free(series->trials);
    free(series->name);
    *series = (struct csv_series){0};
}

static enum status leave_out(struct csv_samples *samples, const char *message, struct error *err)
{
    if (!samples->left_out)
        samples->left_out = json_array();
    /* It quotes the file, and may be cut within a character. */
    return samples->left_out &&
                   json_array_append_new(samples->left_out, printable_or_null(message)) == 0
               ? STATUS_OK
               : error_no_memory(err);
}

/* A result with a failed run is left out and named; a file of such alone is refused. */
static enum status take_results(const json_t *results, const char *origin,
                                struct csv_samples *samples, struct error *err)
{
    json_auto_t *names = hyperfine_names(results);
    enum status status = STATUS_OK;

    samples->series = calloc(json_array_size(results), sizeof(*samples->series));
    if (!samples->series || !names)
        status = error_no_memory(err);
    for (size_t i = 0; i < json_array_size(results) && status == STATUS_OK; i++) {
        struct csv_series *series = &samples->series[samples->series_count];
        const char *name = json_string_value(json_array_get(names, i));
        struct error why = ERROR_INIT;
        char where[WHERE_SIZE];

        snprintf(where, sizeof(where), "%.100s: result %zu, \"%.60s\"", origin, i + 1,
                 name ? name : "");
        status = take_result(json_array_get(results, i), name, where, series, &why);
        if (status == STATUS_OK) {
            samples->series_count++;
            continue;
        }
        finish_series(series);
        status = status == STATUS_INVALID ? leave_out(samples, why.message, err)
                                          : error_set(err, status, "%s", why.message);
    }
    if (status == STATUS_OK && samples->series_count == 0)
        status = error_set(err, STATUS_INVALID, "%s",
                           json_string_value(json_array_get(samples->left_out, 0)));
    return status;
}

/* Whether an object ends with its line, and the next line begins another. */
static bool is_lines(const char *bytes, size_t length)
{
    const char *end = bytes[0] == '{' ? memchr(bytes, '\n', length) : NULL;
    const char *last = end;

    while (last && last > bytes && strchr(" \t\r", last[-1]))
        last--;
    return end && last > bytes && last[-1] == '}' && end + 1 < bytes + length && end[1] == '{';
}

/* Reads the JSON of `file`; `list`: the member of the object that is looked for, NULL: a list. */
static enum status read_json(FILE *file, const char *origin, const char *list, json_t **ret,
                             bool *ret_cut, struct error *err)
{
    AUTO_FREE char *bytes = NULL;
    size_t length = 0, mark;
    const char *remedy;
    enum status status = STATUS_OK;

    TRY(read_all(file, origin, &bytes, &length, err));
    mark = length >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
    remedy = file_form_remedy(bytes, length);
    if (remedy)
        return error_set(err, STATUS_INVALID, "%s: %s", origin, remedy);
    if (list)
        status = foreign_text_find(bytes + mark, length - mark, origin, list, ret, ret_cut, err);
    else
        status = foreign_text_parse(bytes + mark, length - mark, origin, ret, err);
    if (status == STATUS_INVALID && is_lines(bytes + mark, length - mark))
        return error_set(err, status,
                         "%s: is JSON lines, an object a line: make a list of its numbers, for "
                         "instance by `jq -s 'map(.latency_ms)'`, and name their unit with --unit",
                         origin);
    return status;
}

enum status csv_import_hyperfine(FILE *file, const char *origin, struct csv_samples *ret,
                                 struct error *err)
{
    struct csv_samples samples = {0};
    json_auto_t *root = NULL;
    const json_t *results;
    bool cut = false;
    enum status status = STATUS_OK;

    TRY(read_json(file, origin, "results", &root, &cut, err));
    results = json_object_get(root, "results");
    if (json_array_size(results) == 0 || json_array_size(results) > CSV_IMPORT_SERIES_MAX)
        status = shape(origin, err);
    else
        status = take_results(results, origin, &samples, err);
    if (status == STATUS_OK && cut)
        status = leave_out(&samples,
                           "the file ends early: what follows the last whole result is "
                           "not in it",
                           err);
    if (status == STATUS_OK)
        *ret = samples;
    else
        csv_samples_finish(&samples);
    return status;
}

/* A JSON list of numbers. */
static enum status import_list(FILE *file, const char *origin, const char *unit,
                               struct csv_samples *ret, struct error *err)
{
    struct csv_samples samples = {0};
    json_auto_t *root = NULL;
    double unit_ns = 0;
    enum status status = STATUS_OK;

    TRY(read_json(file, origin, NULL, &root, NULL, err));
    if (json_array_size(root) == 0 || json_is_object(json_array_get(root, 0)) ||
        json_is_array(json_array_get(root, 0)))
        status = shape(origin, err);
    if (status == STATUS_OK)
        status = csv_unit_find(unit, "a list of numbers has no unit", origin, &unit_ns, err);
    if (status == STATUS_OK && !(samples.series = calloc(1, sizeof(*samples.series))))
        status = error_no_memory(err);
    if (status == STATUS_OK) {
        samples.series_count = 1;
        status = take_times(root, unit_ns, origin, origin, samples.series, err);
    }
    if (status == STATUS_OK)
        *ret = samples;
    else
        csv_samples_finish(&samples);
    return status;
}

enum form { FORM_CSV, FORM_HYPERFINE, FORM_LIST };

/* By the first bytes, which stay to be read: an object may come after lines of a log. */
static enum form form_of(FILE *file)
{
    char head[PEEK_SIZE];
    size_t length = 0, first = 0;
    int c;

    while (length < sizeof(head) && (c = getc(file)) != EOF)
        head[length++] = (char)c;
    for (size_t i = length; i > 0; i--)
        ungetc((unsigned char)head[i - 1], file);
    while (first < length && strchr(" \t\r\n\xef\xbb\xbf", head[first]) && head[first])
        first++;
    if (foreign_text_begins(head + first, length - first, false))
        return FORM_HYPERFINE;
    return first < length && head[first] == '[' ? FORM_LIST : FORM_CSV;
}

enum status csv_import_any(FILE *file, const char *origin, const struct csv_columns *columns,
                           struct csv_samples *ret, struct error *err)
{
    switch (form_of(file)) {
    case FORM_HYPERFINE:
        return csv_import_hyperfine(file, origin, ret, err);
    case FORM_LIST:
        return import_list(file, origin, columns ? columns->unit : NULL, ret, err);
    default:
        return csv_import_samples(file, origin, columns, ret, err);
    }
}
