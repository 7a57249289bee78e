/* hyperfine's JSON as samples. */
#include "results/formats/csv_import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define BYTES_MAX ((size_t)256 << 20)

struct reading {
    FILE *file;
    size_t bytes;
};

/* jansson would read an endless stream forever. */
static size_t read_some(void *buffer, size_t length, void *context)
{
    struct reading *reading = context;
    size_t got = fread(buffer, 1, length, reading->file);

    reading->bytes += got;
    return reading->bytes > BYTES_MAX || (got == 0 && ferror(reading->file)) ? (size_t)-1 : got;
}

static enum status shape(const char *origin, struct error *err)
{
    return error_set(err, STATUS_INVALID,
                     "%s: this JSON is not what hyperfine --export-json writes: an object with "
                     "\"results\", each with \"command\" and \"times\" in seconds",
                     origin);
}

static enum status take_result(const json_t *result, const char *origin, struct csv_series *ret,
                               struct error *err)
{
    const json_t *times = json_object_get(result, "times");
    const json_t *codes = json_object_get(result, "exit_codes");
    const char *command = json_string_value(json_object_get(result, "command"));
    const size_t count = json_array_size(times);
    struct csv_trial *trial;

    if (!command || !command[0] || count == 0)
        return shape(origin, err);
    ret->name = strndup(command, CSV_IMPORT_NAME_MAX);
    ret->trials = trial = calloc(1, sizeof(*trial));
    if (trial) {
        ret->trial_count = 1;
        trial->name = strdup("1");
        trial->sample_ns = calloc(count, sizeof(*trial->sample_ns));
    }
    if (!ret->name || !trial || !trial->name || !trial->sample_ns)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory for its samples", origin);
    for (size_t i = 0; i < count; i++) {
        const double ns = json_number_value(json_array_get(times, i)) * 1e9;
        const json_t *code = json_array_get(codes, i);

        if (code && json_integer_value(code) != 0)
            return error_set(err, STATUS_INVALID,
                             "%s: run %zu of \"%.60s\" ended with exit code %lld: times of failed "
                             "runs are not analysed",
                             origin, i + 1, ret->name, (long long)json_integer_value(code));
        if (!(ns >= 0.5 && ns <= 0x1p62))
            return shape(origin, err);
        trial->sample_ns[trial->count++] = llround(ns);
    }
    return STATUS_OK;
}

enum status csv_import_hyperfine(FILE *file, const char *origin, struct csv_samples *ret,
                                 struct error *err)
{
    struct reading reading = {.file = file};
    json_error_t where;
    json_t *root = json_load_callback(read_some, &reading, JSON_REJECT_DUPLICATES, &where);
    const json_t *results = json_object_get(root, "results");
    struct csv_samples samples = {0};
    enum status status = STATUS_OK;

    if (!root)
        return error_set(err, STATUS_INVALID, "%s:%d: %s", origin, where.line, where.text);
    if (json_array_size(results) == 0 || json_array_size(results) > CSV_IMPORT_SERIES_MAX)
        status = shape(origin, err);
    else if (!(samples.series = calloc(json_array_size(results), sizeof(*samples.series))))
        status = error_set(err, STATUS_NO_MEMORY, "%s: no memory for its samples", origin);
    for (size_t i = 0; i < json_array_size(results) && status == STATUS_OK; i++)
        status = take_result(json_array_get(results, i), origin,
                             &samples.series[samples.series_count++], err);
    json_decref(root);
    if (status == STATUS_OK)
        *ret = samples;
    else
        csv_samples_finish(&samples);
    return status;
}
