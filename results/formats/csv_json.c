/* JSON as samples: what some programs write, a row each, and a plain list of numbers. */
#include "results/formats/csv_import.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/file_form.h"
#include "harness/core/member.h"
#include "results/formats/claims.h"
#include "results/formats/csv_unit.h"
#include "results/formats/foreign_json.h"
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
    return error_set(
        err, STATUS_INVALID,
        "%s: this JSON is neither a list of numbers nor what one of these programs "
        "writes: hyperfine (\"results\"), pytest-benchmark, Google Benchmark and GuideLLM "
        "(\"benchmarks\"), llama-bench (a list of objects with \"samples_ns\"), vLLM's "
        "benchmarks (\"latencies\", or with --save-detailed \"ttfts\"), genai-perf "
        "(\"experiments\"), aiperf (lines with \"metrics\")",
        origin);
}

/* ---- series that are filled ---- */

struct building {
    struct csv_samples samples;
    json_t *places; /* of each series, by its name */
};

static enum status begin_building(struct building *ret, struct error *err)
{
    ret->places = json_object();
    return ret->places ? STATUS_OK : error_no_memory(err);
}

static void finish_building(struct building *building)
{
    json_decref(building->places);
    csv_samples_finish(&building->samples);
}

/* A zeroed series behind the others; NULL: no memory, or there are too many. */
static struct csv_series *new_series(struct building *building)
{
    struct csv_samples *samples = &building->samples;

    if (samples->series_count >= 2 * CSV_IMPORT_SERIES_MAX ||
        !ARRAY_ROOM(samples->series, samples->series_count, 1))
        return NULL;
    samples->series[samples->series_count] = (struct csv_series){0};
    return &samples->series[samples->series_count++];
}

/* The one trial of the series `name`, which is made where there is none; NULL: no memory. */
static struct csv_trial *trial_of(struct building *building, const char *name)
{
    const json_t *place = json_object_get(building->places, name);
    struct csv_series *series;

    if (place)
        return building->samples.series[json_integer_value(place)].trials;
    series = new_series(building);
    if (!series)
        return NULL;
    series->name = strdup(name);
    series->trials = calloc(1, sizeof(*series->trials));
    if (!series->name || !series->trials)
        return NULL;
    series->trial_count = 1;
    series->trials->name = strdup("1");
    return series->trials->name &&
                   json_object_set_new(
                       building->places, name,
                       json_integer((json_int_t)building->samples.series_count - 1)) == 0
               ? series->trials
               : NULL;
}

static enum status check_time(const json_t *value, double unit_ns, const char *where, size_t place,
                              struct error *err)
{
    const double ns = json_number_value(value) * unit_ns;

    if (!json_is_number(value) || !(ns >= 0.5 && ns <= 0x1p62)) {
        AUTO_FREE char *shown = json_dumps(value, JSON_ENCODE_ANY);

        return error_set(err, STATUS_INVALID, "%s: time %zu is %.40s: must be from 1 ns to 2^62 ns",
                         where, place, shown ? shown : "no number");
    }
    return STATUS_OK;
}

/* Adds `times`, a list in units of `unit_ns`, to the series `name`: all of it, or nothing. */
static enum status add_times(struct building *building, const char *name, const json_t *times,
                             double unit_ns, const char *where, struct error *err)
{
    const size_t count = json_array_size(times);
    struct csv_trial *trial;

    for (size_t i = 0; i < count; i++)
        TRY(check_time(json_array_get(times, i), unit_ns, where, i + 1, err));
    trial = trial_of(building, name);
    if (!trial)
        return error_no_memory(err);
    TRY(ARRAY_GROW(trial->sample_ns, trial->count, count, err));
    for (size_t i = 0; i < count; i++)
        trial->sample_ns[trial->count++] =
            llround(json_number_value(json_array_get(times, i)) * unit_ns);
    return STATUS_OK;
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

/* ---- programs ---- */

/* An entry of a program's list. */
struct entry {
    const json_t *root; /* the file */
    const json_t *fields;
    const char *name; /* of its series; NULL: it has none */
    const char *where;
    size_t place; /* in the list, from 1 */
};

/* Adds the samples of an entry. INVALID: it has none, and is left out with the message. */
typedef enum status add_fn(struct building *building, const struct entry *entry, struct error *err);

static enum status add_listed(struct building *building, const struct entry *entry,
                              const json_t *times, double unit_ns, const char *member,
                              const char *remedy, struct error *err)
{
    if (!entry->name)
        return error_set(err, STATUS_INVALID, "%s: its name is missing", entry->where);
    if (json_array_size(times) == 0)
        return error_set(err, STATUS_INVALID, "%s: %s: %s", entry->where, member, remedy);
    return add_times(building, entry->name, times, unit_ns, entry->where, err);
}

static enum status add_hyperfine(struct building *building, const struct entry *entry,
                                 struct error *err)
{
    TRY(hyperfine_check_runs(entry->fields, entry->where, err));
    return add_listed(building, entry, json_object_get(entry->fields, "times"), 1e9, "times",
                      "must be a list of the runs' seconds", err);
}

static enum status add_pytest(struct building *building, const struct entry *entry,
                              struct error *err)
{
    const json_t *stats = json_object_get(entry->fields, "stats");

    return add_listed(building, entry, json_object_get(stats, "data"), 1e9, "stats.data",
                      "the rounds are not in the file: run pytest with --benchmark-save-data", err);
}

static enum status add_llama_bench(struct building *building, const struct entry *entry,
                                   struct error *err)
{
    AUTO_FREE char *name = NULL;
    struct entry named = *entry;

    TRY(llama_bench_name(entry->fields, entry->where, &name, err));
    named.name = name;
    return add_listed(building, &named, json_object_get(entry->fields, "samples_ns"), 1,
                      "samples_ns", "must be a list of the repetitions' nanoseconds", err);
}

/* A repetition is an entry, with its mean time of an iteration; statistics are no samples. */
static enum status add_google(struct building *building, const struct entry *entry,
                              struct error *err)
{
    json_auto_t *times = NULL;
    double ns = 0;

    if (!foreign_google_is_measured(entry->root, entry->fields))
        return STATUS_OK;
    TRY(foreign_google_time(entry->fields, entry->where, &ns, err));
    times = json_pack("[f]", ns);
    return times ? add_listed(building, entry, times, 1, "real_time", "is missing", err)
                 : error_no_memory(err);
}

/* ---- programs that load servers: a time for each request that was answered ---- */

/* vLLM's latency benchmark: seconds. */
static enum status add_vllm_latency(struct building *building, const struct entry *entry,
                                    struct error *err)
{
    const json_t *times = json_object_get(entry->fields, "latencies");

    return json_array_size(times) > 0
               ? add_times(building, "latency", times, 1e9, entry->where, err)
               : error_set(err, STATUS_INVALID, "%s: latencies: must be a list of seconds",
                           entry->where);
}

/* Whether request `i` failed: its time is 0. */
static bool has_failed(const json_t *fields, size_t i)
{
    const char *error = json_string_value(json_array_get(json_object_get(fields, "errors"), i));

    return error && error[0];
}

/* vLLM's benchmark of a server: seconds to the first output, and between outputs. */
static enum status add_vllm_serve(struct building *building, const struct entry *entry,
                                  struct error *err)
{
    json_auto_t *first = json_array(), *between = json_array();

    EACH(time, json_object_get(entry->fields, "ttfts")) {
        if (!has_failed(entry->fields, time_at))
            json_array_append(first, time);
    }
    EACH(times, json_object_get(entry->fields, "itls")) {
        if (json_is_array(times) && !has_failed(entry->fields, times_at))
            json_array_extend(between, times);
    }
    if (!first || !between)
        return error_no_memory(err);
    if (json_array_size(first) == 0)
        return error_set(err, STATUS_INVALID, "%s: no request was answered", entry->where);
    TRY(add_times(building, "time to first output", first, 1e9, entry->where, err));
    return json_array_size(between) > 0
               ? add_times(building, "time between outputs", between, 1e9, entry->where, err)
               : STATUS_OK;
}

/* Member `member` of each object of a list, without those that lack it. */
static json_t *column_of(const json_t *list, const char *member)
{
    json_t *column = json_array();

    EACH(row, list) {
        json_t *value = json_object_get(row, member);

        if (json_is_number(value))
            json_array_append(column, value);
    }
    return column;
}

/* A series "NUMBER: NAME" of these times, where there are some. */
static enum status add_numbered(struct building *building, const struct entry *entry,
                                const char *name, const json_t *times, double unit_ns,
                                struct error *err)
{
    AUTO_FREE char *series = text_format("%zu: %s", entry->place, name);

    if (!series || !times)
        return error_no_memory(err);
    return json_array_size(times) > 0
               ? add_times(building, series, times, unit_ns, entry->where, err)
               : STATUS_OK;
}

/* GuideLLM: a benchmark at each rate, with the requests that were answered. */
static enum status add_guidellm(struct building *building, const struct entry *entry,
                                struct error *err)
{
    const json_t *answered = member_in(entry->fields, "requests", "successful");
    json_auto_t *whole = column_of(answered, "request_latency");
    json_auto_t *first = column_of(answered, "time_to_first_token_ms");

    if (json_array_size(whole) == 0 && json_array_size(first) == 0)
        return error_set(err, STATUS_INVALID, "%s: it keeps no request that was answered",
                         entry->where);
    TRY(add_numbered(building, entry, "latency", whole, 1e9, err));
    return add_numbered(building, entry, "time to first output", first, 1e6, err);
}

/* Between two moments in ns, which a double does not hold; null: they are none. */
static json_t *time_between(const json_t *from, const json_t *to)
{
    int64_t ns;

    return json_is_integer(from) && json_is_integer(to) &&
                   !__builtin_sub_overflow(json_integer_value(to), json_integer_value(from), &ns)
               ? json_integer(ns)
               : json_null();
}

/* genai-perf: moments in ns of each request and of its answers. */
static enum status add_genai_perf(struct building *building, const struct entry *entry,
                                  struct error *err)
{
    json_auto_t *whole = json_array(), *first = json_array();

    EACH(request, json_object_get(entry->fields, "requests")) {
        const json_t *answers = json_object_get(request, "response_timestamps");
        const size_t count = json_array_size(answers);
        const json_t *sent = json_object_get(request, "timestamp");

        if (count == 0)
            continue;
        json_array_append_new(whole, time_between(sent, json_array_get(answers, count - 1)));
        json_array_append_new(first, time_between(sent, json_array_get(answers, 0)));
    }
    if (json_array_size(whole) == 0)
        return error_set(err, STATUS_INVALID, "%s: no request was answered", entry->where);
    TRY(add_numbered(building, entry, "latency", whole, 1, err));
    return add_numbered(building, entry, "time to first output", first, 1, err);
}

/* aiperf: a request with its metrics, of which those count that are times. */
static enum status add_aiperf(struct building *building, const struct entry *entry,
                              struct error *err)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"sec", 1e9}, {"s", 1e9}};
    const char *name;
    json_t *metric;

    json_object_foreach(json_object_get(entry->fields, "metrics"), name, metric)
    {
        const char *unit = member_text(metric, "unit");
        json_t *value = json_object_get(metric, "value");
        json_auto_t *one = json_is_number(value) ? json_pack("[O]", value) : NULL;

        for (size_t i = 0; one && i < sizeof(units) / sizeof(units[0]); i++)
            if (!strcmp(unit, units[i].name) && json_number_value(value) > 0)
                TRY(add_times(building, name, one, units[i].ns, entry->where, err));
    }
    return STATUS_OK;
}

#define WHOLE "" /* in place of a list: the object is the only entry */

static const struct program {
    const char *list;   /* the member of the object with its entries; NULL: they are the list */
    const char *member; /* that its entries have, and those of no other program with that list */
    const char *name;   /* the member with an entry's name */
    add_fn *add;
} programs[] = {{"results", "command", "command", add_hyperfine},
                {"benchmarks", "stats", "fullname", add_pytest},
                {"benchmarks", "real_time", "name", add_google},
                {"benchmarks", "requests", "name", add_guidellm},
                {"experiments", "requests", "name", add_genai_perf},
                {WHOLE, "latencies", "name", add_vllm_latency},
                {WHOLE, "ttfts", "name", add_vllm_serve},
                {NULL, "metrics", "name", add_aiperf},
                {NULL, "samples_ns", "model_type", add_llama_bench}};

/* A new reference. */
static json_t *entries_of(const struct program *program, const json_t *root)
{
    if (!program->list)
        return json_incref((json_t *)root);
    return strcmp(program->list, WHOLE) != 0 ? json_incref(json_object_get(root, program->list))
           : json_is_object(root)            ? json_pack("[O]", root)
                                             : NULL;
}

/* NULL: none. By any entry: the first may be one that failed. */
static const struct program *program_of(const json_t *root)
{
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        json_auto_t *entries = entries_of(&programs[i], root);

        EACH(entry, entries) {
            if (json_object_get(entry, programs[i].member))
                return &programs[i];
        }
    }
    return NULL;
}

/* Names of the entries, as an array; null where one has none. NULL: no memory. */
static json_t *names_of(const struct program *program, const json_t *entries)
{
    json_t *names;

    if (program->add == add_hyperfine)
        return hyperfine_names(entries);
    names = json_array();
    EACH(entry, entries) {
        json_t *name = json_object_get(entry, program->name);

        if (names)
            json_array_append(names, json_is_string(name) ? name : json_null());
    }
    return names;
}

/* An entry without samples is left out and named; a file of such alone is refused. */
static enum status add_entries(const struct program *program, const json_t *root,
                               const char *origin, struct building *building, struct error *err)
{
    json_auto_t *entries = entries_of(program, root);
    json_auto_t *names = names_of(program, entries);

    if (!names)
        return error_no_memory(err);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        struct error why = ERROR_INIT;
        char where[WHERE_SIZE];
        const struct entry entry = {root, json_array_get(entries, i), name, where, i + 1};
        enum status status;

        snprintf(where, sizeof(where), "%.100s: result %zu, \"%.60s\"", origin, i + 1,
                 name ? name : "");
        status = program->add(building, &entry, &why);
        if (status == STATUS_INVALID)
            TRY(leave_out(&building->samples, why.message, err));
        else if (status != STATUS_OK)
            return error_set(err, status, "%s", why.message);
    }
    if (building->samples.series_count > 0)
        return STATUS_OK;
    if (!building->samples.left_out)
        return error_set(err, STATUS_INVALID, "%s: the file has aggregates alone, and no samples",
                         origin);
    return error_set(err, STATUS_INVALID, "%s",
                     json_string_value(json_array_get(building->samples.left_out, 0)));
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

/* The object or array of objects that the file has, by the lists of all programs. */
static enum status read_root(const char *bytes, size_t length, const char *origin, json_t **ret,
                             bool *ret_cut, struct error *err)
{
    static const char *const lists[] = {"results", "benchmarks", "experiments"};
    struct error why = ERROR_INIT; /* of the first list */
    enum status status = STATUS_INVALID;

    for (size_t i = 0; i < 3 && status == STATUS_INVALID; i++)
        status =
            foreign_text_find(bytes, length, origin, lists[i], ret, ret_cut, i == 0 ? &why : NULL);
    if (status == STATUS_INVALID &&
        foreign_text_parse(bytes, length, origin, ret, NULL) == STATUS_OK)
        status = STATUS_OK;
    return status == STATUS_OK ? status : error_set(err, status, "%s", why.message);
}

/* An object a line as a list of them, as far as they can be read. */
static enum status read_lines(const char *bytes, size_t length, json_t **ret, struct error *err)
{
    json_auto_t *list = json_array();

    while (list && length > 0) {
        const char *end = memchr(bytes, '\n', length);
        const size_t line = end ? (size_t)(end - bytes) : length;
        json_t *object = json_loadb(bytes, line, 0, NULL);

        if (object)
            json_array_append_new(list, object);
        bytes += line + (end != NULL);
        length -= line + (end != NULL);
    }
    if (!list)
        return error_no_memory(err);
    *ret = json_incref(list);
    return STATUS_OK;
}

/* Reads the JSON of `file`: an object, perhaps between lines of a log, or a list. */
static enum status read_json(FILE *file, const char *origin, json_t **ret, bool *ret_cut,
                             struct error *err)
{
    AUTO_FREE char *bytes = NULL;
    size_t length = 0, mark;
    const char *remedy;
    enum status status;

    TRY(read_all(file, origin, &bytes, &length, err));
    mark = length >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
    remedy = file_form_remedy(bytes, length);
    if (remedy)
        return error_set(err, STATUS_INVALID, "%s: %s", origin, remedy);
    status = foreign_text_begins(bytes + mark, length - mark, false)
                 ? read_root(bytes + mark, length - mark, origin, ret, ret_cut, err)
                 : foreign_text_parse(bytes + mark, length - mark, origin, ret, err);
    if (status == STATUS_INVALID && is_lines(bytes + mark, length - mark)) {
        TRY(read_lines(bytes + mark, length - mark, ret, err));
        if (program_of(*ret)) {
            if (err)
                *err = (struct error)ERROR_INIT;
            return STATUS_OK;
        }
        json_decref(*ret);
        *ret = NULL;
        return error_set(err, status,
                         "%s: is JSON lines, an object a line: make a list of its numbers, for "
                         "instance by `jq -s 'map(.latency_ms)'`, and name their unit with --unit",
                         origin);
    }
    return status;
}

static enum status build(const json_t *root, const char *unit, const char *origin,
                         struct building *building, struct error *err)
{
    const struct program *program = program_of(root);
    json_auto_t *entries = program ? entries_of(program, root) : NULL;
    const json_t *first = json_array_get(root, 0);
    double unit_ns = 0;

    if (program && json_array_size(entries) <= CSV_IMPORT_SERIES_MAX) {
        TRY(begin_building(building, err));
        return add_entries(program, root, origin, building, err);
    }
    if (!first || json_is_object(first) || json_is_array(first))
        return shape(origin, err);
    TRY(csv_unit_find(unit, origin, &unit_ns, err));
    TRY(begin_building(building, err));
    building->samples.is_bare = !unit;
    return add_times(building, origin, root, unit_ns, origin, err);
}

enum status csv_import_json(FILE *file, const char *origin, const char *unit,
                            struct csv_samples *ret, struct error *err)
{
    CLEANUP(finish_building) struct building building = {0};
    json_auto_t *root = NULL;
    bool cut = false;

    TRY(read_json(file, origin, &root, &cut, err));
    TRY(build(root, unit, origin, &building, err));
    if (cut)
        TRY(leave_out(&building.samples,
                      "the file ends early: what follows the last whole result is not in it", err));
    *ret = building.samples;
    building.samples = (struct csv_samples){0};
    return STATUS_OK;
}

/* By the first bytes, which stay to be read: an object may come after lines of a log. */
static bool is_json(FILE *file)
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
    return foreign_text_begins(head + first, length - first, false) ||
           (first < length && head[first] == '[');
}

enum status csv_import_any(FILE *file, const char *origin, const struct csv_columns *columns,
                           struct csv_samples *ret, struct error *err)
{
    return is_json(file) ? csv_import_json(file, origin, columns ? columns->unit : NULL, ret, err)
                         : csv_import_samples(file, origin, columns, ret, err);
}
