/*
 * phoronix-test-suite result-file-to-json, in the three forms that it has had: "results" is an
 * object by test (2015), a list (from 2019), or an object by a hash with other names of its members
 * and with the systems (from 10.8 on, 2021). PHP writes an empty object as [] and leaves out
 * members without content, so a test that failed on a system has no value there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "results/formats/foreign_json.h"
#include "results/formats/foreign_text.h"
#include "results/formats/import.h"

static const struct foreign_lack of_phoronix[] = {
    {"import.warmup", "the Phoronix Test Suite does not say whether it discarded a run"},
    {"device.name", "the file names the parts of a system, and not which of them a test measures"},
    {0}};

static const struct foreign_program phoronix = {.name = "phoronix-test-suite",
                                                .list = "results",
                                                .description = "a test of the Phoronix Test Suite",
                                                .lacks = of_phoronix};

/* Units whose meaning is plain; another is no time and no rate that could be told here. */
static const struct scale_unit {
    const char *unit, *item; /* item NULL: a time */
    double factor;           /* to ns, or to items a second */
} scale_units[] = {{"Seconds", NULL, 1e9},
                   {"Milliseconds", NULL, 1e6},
                   {"ms", NULL, 1e6},
                   {"Microseconds", NULL, 1e3},
                   {"us", NULL, 1e3},
                   {"Nanoseconds", NULL, 1},
                   {"ns", NULL, 1},
                   {"MB/s", "byte", 1e6},
                   {"GB/s", "byte", 1e9},
                   {"MiB/s", "byte", 0x1p20},
                   {"GiB/s", "byte", 0x1p30},
                   {"Frames Per Second", "frame", 1},
                   {"FPS", "frame", 1},
                   {"Tokens Per Second", "token", 1},
                   {"images/sec", "image", 1},
                   {"Iterations Per Second", "iteration", 1},
                   {"Requests Per Second", "request", 1}};

/* "ms", and "Inference Time Cost (ms)". */
static const struct scale_unit *unit_named(const char *name)
{
    const char *bracket = name ? strrchr(name, '(') : NULL;

    for (size_t i = 0; name && i < sizeof(scale_units) / sizeof(scale_units[0]); i++) {
        const struct scale_unit *unit = &scale_units[i];
        const size_t length = strlen(unit->unit);

        if (!strcmp(unit->unit, name))
            return unit;
        if (bracket && !unit->item && !strncmp(bracket + 1, unit->unit, length) &&
            !strcmp(bracket + 1 + length, ")"))
            return unit;
    }
    return NULL;
}

/* A test as each form tells it, under the names of the newest. */
struct test {
    const char *identifier, *description, *scale;
    const char *arguments, *app_version; /* NULL in the older forms */
    json_t *results;                     /* by system */
};

static enum status read_test(const char *key, const json_t *about, const char *where,
                             struct test *ret, struct error *err)
{
    const bool newest = json_object_get(about, "scale") || json_object_get(about, "identifier");
    const char *const names[] = {newest ? "identifier" : "test",
                                 newest ? "description" : "arguments", newest ? "scale" : "units",
                                 newest ? "arguments" : "", newest ? "app_version" : ""};
    struct test test = {.results = json_object_get(about, "results")};
    const char **const texts[] = {&test.identifier, &test.description, &test.scale, &test.arguments,
                                  &test.app_version};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        TRY(claim_get_text(about, where, names[i], texts[i], err));
    if (!test.identifier)
        test.identifier = key;
    if (!test.identifier || strlen(test.identifier) > IMPORT_TEXT_MAX)
        return error_set(err, STATUS_INVALID, "%s: must name its test", where);
    *ret = test;
    return STATUS_OK;
}

/* "Processor: X, Graphics: Y"; NULL for none. Heap. */
static char *join_parts(json_t *parts)
{
    struct text text = TEXT_INIT;
    const char *name;
    json_t *value;

    if (json_object_size(parts) == 0)
        return NULL;
    json_object_foreach(parts, name, value)
    {
        if (json_is_string(value))
            text_append_format(&text, "%s%s: %s", text.length ? ", " : "", name,
                               json_string_value(value));
    }
    return text_steal(&text);
}

static void declare_parts(struct store_claim *claim, const char *reading, const json_t *system,
                          const char *name)
{
    AUTO_FREE char *parts = join_parts(json_object_get(system, name));

    claim_declare(claim, phoronix.name, reading, parts, name);
}

/* raw_values, a list; all_results of the older forms, "100:101". */
static void declare_raw(struct store_claim *claim, const json_t *fields, const char *scale)
{
    const json_t *list = json_object_get(fields, "raw_values");
    const char *joined = member_string(fields, "all_results");
    CLEANUP(text_finish) struct text text = TEXT_INIT;
    size_t count = 0;

    EACH(value, list) {
        AUTO_FREE char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));

        text_append_format(&text, "%s%s", value_at ? ", " : "", shown ? shown : "?");
        count++;
    }
    for (const char *c = joined; !list && c && *c; c++) {
        count += c == joined || *c == ':';
        if (*c == ':')
            text_append(&text, ", ");
        else
            text_append_char(&text, *c);
    }
    text_append_format(&text, " %s", scale);
    claim_declare(claim, phoronix.name, "import.raw_values", count ? text.data : NULL,
                  list ? "raw_values" : "all_results");
    reading_add_integer(&claim->readings, "import.repetitions", (int64_t)count, NULL,
                        list ? "raw_values" : "all_results");
}

/* The newest form has the systems. */
static enum status finish(struct store_claim *claim, const struct test *test,
                          const struct foreign_entry *entry, const char *system, struct error *err)
{
    const json_t *told = member_in(entry->root, "systems", system);
    const char *when = claim_text_about(told, "timestamp");
    const char *processor = claim_text_about(json_object_get(told, "hardware"), "Processor");

    TRY(foreign_finish(&phoronix, claim, system, "name of the system", NULL, "processor", when,
                       "time of the measurement", err));
    claim_declare(claim, phoronix.name, "host.cpu.model", processor, "Processor");
    declare_parts(claim, "import.hardware", told, "hardware");
    declare_parts(claim, "import.software", told, "software");
    declare_raw(claim, entry->fields, test->scale);
    return claim->readings.failed ? error_no_memory(err) : STATUS_OK;
}

/* One test on one system. */
static enum status add(struct import_claims *claims, const struct foreign_entry *entry,
                       const struct test *test, const char *system, struct error *err)
{
    const struct scale_unit *unit = unit_named(test->scale);
    const json_t *value = json_object_get(entry->fields, "value");
    struct store_claim *claim;
    double number;
    AUTO_FREE char *words = NULL;

    if (!value || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
        return error_set(err, STATUS_INVALID, "%s: has no value: the test failed there",
                         entry->where);
    if (!unit)
        return error_set(err, STATUS_INVALID,
                         "%s: its unit \"%.40s\" is not known as a time or a rate (Seconds, MB/s, "
                         "Frames Per Second ...)",
                         entry->where, test->scale ? test->scale : "");
    TRY(claim_get_positive(entry->fields, entry->where, "value", &number, err));
    words = text_format("%s%s%s", test->identifier, test->description ? " " : "",
                        test->description ? test->description : "");
    TRY(words
            ? foreign_begin(&phoronix, claims, entry, words,
                            json_pack("{s:s, s:s?, s:s, s:s*, s:s*}", "test", test->identifier,
                                      "arguments", test->description, "units", test->scale,
                                      "options", test->arguments, "app_version", test->app_version),
                            &claim, err)
            : error_no_memory(err));
    if (unit->item)
        claim->rate = number * unit->factor;
    else
        claim->mean_ns = number * unit->factor;
    claim->item_name = unit->item;
    claim->items = unit->item ? 1 : 0;
    return finish(claim, test, entry, system, err);
}

/* A test on every system that has it. */
static enum status add_test(struct import_claims *claims, const json_t *root, const char *path,
                            const char *key, const json_t *about, struct error *err)
{
    struct test test = {0};
    char where[FOREIGN_WHERE_SIZE];
    struct error why = ERROR_INIT;
    const char *system;
    json_t *fields;
    enum status status;

    snprintf(where, sizeof(where), "%.120s: %.60s", path, key ? key : "a result");
    status = read_test(key, about, where, &test, &why);
    if (status != STATUS_OK)
        return import_claims_entry(claims, claims->count, status, &why, err);
    json_object_foreach(test.results, system, fields)
    {
        const size_t before = claims->count;

        snprintf(where, sizeof(where), "%.90s: %.50s %.50s on %.40s", path, test.identifier,
                 test.description ? test.description : "", system);
        status = strlen(system) <= IMPORT_TEXT_MAX
                     ? add(claims, &(const struct foreign_entry){root, fields, path, where, NULL},
                           &test, system, &why)
                     : error_set(&why, STATUS_INVALID, "%s: the system's name is too long", where);
        TRY(import_claims_entry(claims, before, status, &why, err));
    }
    if (json_object_size(test.results) == 0)
        return import_claims_leave_out(claims, err, "%.120s: %.80s: has no result of any system",
                                       path, test.identifier);
    return STATUS_OK;
}

/* One version of the systems' clients, or none. */
static bool note_version(struct import_claims *claims, json_t *systems)
{
    const char *name, *version = NULL;
    json_t *system;

    json_object_foreach(systems, name, system)
    {
        const char *own = member_string(system, "client_version");

        if (!own || strlen(own) > IMPORT_TEXT_MAX || (version && strcmp(own, version) != 0))
            return true;
        version = own;
    }
    if (version)
        claims->program_version = strdup(version);
    return !version || claims->program_version;
}

enum status phoronix_read(const char *path, const char *bytes, size_t length,
                          struct import_claims *ret, struct error *err)
{
    struct import_claims claims = {0};
    json_t *root = NULL, *results, *about;
    const char *key;
    bool cut = false;
    size_t i;
    enum status status = STATUS_OK;

    TRY(foreign_text_find(bytes, length, path, "results", &root, &cut, err));
    results = json_object_get(root, "results");
    if (!json_is_object(results) && !json_is_array(results))
        status = error_set(err, STATUS_INVALID, "%s: must be an object with \"results\"", path);
    json_object_foreach(results, key, about)
    {
        if (status == STATUS_OK)
            status = add_test(&claims, root, path, key, about, err);
    }
    json_array_foreach(results, i, about)
    {
        if (status == STATUS_OK)
            status = add_test(&claims, root, path, NULL, about, err);
    }
    if (status == STATUS_OK && cut)
        status = import_claims_leave_out(&claims, err, "%s: ends early", path);
    if (status == STATUS_OK && !note_version(&claims, json_object_get(root, "systems")))
        status = error_no_memory(err);
    json_decref(root);
    return import_claims_settle(&claims, status, path, "none of its tests has a result", ret, err);
}
