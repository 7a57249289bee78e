/*
 * Results of suites that write JSON of other shapes: the Phoronix Test Suite an object a test,
 * SuperBench an object a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "results/formats/foreign_json.h"
#include "results/formats/import.h"

/* ---- Phoronix Test Suite ---- */

static const struct foreign_lack of_phoronix[] = {
    {"import.warmup", "the Phoronix Test Suite does not say whether it discarded a run"},
    {"import.system",
     "this form of the file names systems, and has neither their hardware nor software"},
    {0}};

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

static const struct scale_unit *unit_named(const char *name)
{
    for (size_t i = 0; name && i < sizeof(scale_units) / sizeof(scale_units[0]); i++)
        if (!strcmp(scale_units[i].unit, name))
            return &scale_units[i];
    return NULL;
}

/* One test on one system. */
static enum status add_phoronix(const struct foreign_program *program, struct import_claims *claims,
                                const struct foreign_entry *entry, const char *test,
                                const json_t *about, const char *system, struct error *err)
{
    const char *arguments, *units;
    const struct scale_unit *unit;
    struct store_claim *claim;
    char *words;
    double value;
    enum status status = claim_get_text(about, entry->where, "arguments", &arguments, err);

    if (status == STATUS_OK)
        status = claim_get_text(about, entry->where, "units", &units, err);
    if (status != STATUS_OK)
        return status;
    unit = unit_named(units);
    if (!unit)
        return STATUS_OK;
    status = claim_get_positive(entry->fields, entry->where, "value", &value, err);
    if (status != STATUS_OK)
        return status;
    words = text_format("%s%s%s", test, arguments ? " " : "", arguments ? arguments : "");
    status = words ? foreign_begin(program, claims, entry, words,
                                   json_pack("{s:s, s:s?, s:s}", "test", test, "arguments",
                                             arguments, "units", units),
                                   &claim, err)
                   : error_set(err, STATUS_NO_MEMORY, "%s: out of memory", entry->where);
    free(words);
    if (status != STATUS_OK)
        return status;
    if (unit->item)
        claim->rate = value * unit->factor;
    else
        claim->mean_ns = value * unit->factor;
    claim->item_name = unit->item;
    claim->items = unit->item ? 1 : 0;
    return foreign_finish(program, claim, system, "name of the system", NULL,
                          "name of the processor", NULL, "time of the measurement", err);
}

enum status phoronix_read(const char *path, const char *bytes, size_t length,
                          struct import_claims *ret, struct error *err)
{
    static const struct foreign_program self = {
        "phoronix-test-suite", "results", "a test of the Phoronix Test Suite", of_phoronix, NULL};
    struct import_claims claims = {0};
    json_t *root = NULL, *about, *fields;
    const char *test, *system;
    char where[FOREIGN_WHERE_SIZE];
    enum status status = claim_parse(bytes, length, path, &root, err);

    if (status != STATUS_OK)
        return status;
    json_object_foreach(json_object_get(root, "results"), test, about)
    {
        json_object_foreach(json_object_get(about, "results"), system, fields)
        {
            if (status != STATUS_OK || strlen(system) > IMPORT_TEXT_MAX)
                break;
            snprintf(where, sizeof(where), "%.120s: %.60s on %.40s", path, test, system);
            status = add_phoronix(&self, &claims,
                                  &(const struct foreign_entry){root, fields, path, where}, test,
                                  about, system, err);
        }
    }
    if (status == STATUS_OK && claims.count == 0)
        status = error_set(err, STATUS_INVALID,
                           "%s: none of its results has a unit that is known as a time or a rate "
                           "(Seconds, MB/s, Frames Per Second ...)",
                           path);
    json_decref(root);
    if (status == STATUS_OK)
        *ret = claims;
    else
        import_claims_finish(&claims);
    return status;
}

/* ---- SuperBench ---- */

static const struct foreign_lack of_superbench[] = {
    {"import.warmup", "SuperBench's summary does not have the steps of the warmup"},
    {"import.raw_samples", "the mean over the steps is there, no single step"},
    {"import.units", "the file has no units: those of model benchmarks are documented, values of "
                     "others are left out"},
    {0}};

static bool ends_with(const char *key, const char *end)
{
    const size_t length = strlen(key), tail = strlen(end);

    return length >= tail && !strcmp(key + length - tail, end);
}

/* A value of a node's line; those without a documented unit are left out. */
static enum status add_superbench(const struct foreign_program *program,
                                  struct import_claims *claims, const struct foreign_entry *entry,
                                  const char *key, const char *node, struct error *err)
{
    const bool is_model =
        !strncmp(key, "model-benchmarks", 16) || !strncmp(key, "megatron-gpt", 12);
    const bool is_rate = ends_with(key, "_throughput"), is_time = ends_with(key, "_step_time");
    struct store_claim *claim;
    double value;
    enum status status;

    if (!is_model || (!is_rate && !is_time))
        return STATUS_OK;
    status = claim_get_positive(entry->fields, entry->where, key, &value, err);
    if (status == STATUS_OK)
        status = foreign_begin(program, claims, entry, key, json_pack("{s:s}", "metric", key),
                               &claim, err);
    if (status != STATUS_OK)
        return status;
    claim->rate = is_rate ? value : 0;
    claim->mean_ns = is_time ? value * 1e6 : 0;
    claim->item_name = is_rate ? "sample" : NULL;
    claim->items = is_rate ? 1 : 0;
    json_decref(claim->fields);
    claim->fields =
        json_pack("{s:s?, s:O}", "node", node, key, json_object_get(entry->fields, key));
    if (!claim->fields)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", entry->where);
    return foreign_finish(program, claim, node, "node", NULL, "name of the processor", NULL,
                          "time of the measurement", err);
}

static enum status add_node(const struct foreign_program *program, struct import_claims *claims,
                            const char *path, const char *where, const char *bytes, size_t length,
                            struct error *err)
{
    json_t *line = NULL, *value;
    const char *key, *node = NULL;
    enum status status = claim_parse(bytes, length, where, &line, err);

    if (status == STATUS_OK && !json_is_object(line))
        status = error_set(err, STATUS_INVALID, "%s: must be an object", where);
    if (status == STATUS_OK)
        status = claim_get_text(line, where, "node", &node, err);
    json_object_foreach(line, key, value)
    {
        if (status != STATUS_OK)
            break;
        status =
            add_superbench(program, claims, &(const struct foreign_entry){line, line, path, where},
                           key, node, err);
    }
    json_decref(line);
    return status;
}

enum status superbench_read(const char *path, const char *bytes, size_t length,
                            struct import_claims *ret, struct error *err)
{
    static const struct foreign_program self = {
        "superbench", NULL, "a model benchmark of SuperBench", of_superbench, NULL};
    struct import_claims claims = {0};
    char where[FOREIGN_WHERE_SIZE];
    size_t number = 0;
    enum status status = STATUS_OK;

    for (const char *at = bytes, *end = bytes + length; at < end && status == STATUS_OK;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((newline ? newline : end) - at);

        snprintf(where, sizeof(where), "%.200s:%zu", path, ++number);
        if (size > 0)
            status = add_node(&self, &claims, path, where, at, size, err);
        at += size + 1;
    }
    if (status == STATUS_OK && claims.count == 0)
        status = error_set(err, STATUS_INVALID,
                           "%s: has no throughput and no step time of a model benchmark; the units "
                           "of others are not in the file",
                           path);
    if (status == STATUS_OK)
        *ret = claims;
    else
        import_claims_finish(&claims);
    return status;
}
