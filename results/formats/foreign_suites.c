/* results-summary.jsonl of SuperBench: an object a line, one for each node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "results/formats/foreign_json.h"
#include "results/formats/foreign_text.h"
#include "results/formats/import.h"

static const struct foreign_lack of_superbench[] = {
    {"import.warmup", "SuperBench's summary does not have the steps of the warmup"},
    {"import.raw_samples", "the mean over the steps is there, no single step"},
    {"import.units", "the file has no units: those of model benchmarks are documented, values of "
                     "others are left out"},
    {0}};

/* "BENCHMARK/MODEL/METRIC": one whose return code, at any of these levels, is not 0 has no result.
 */
static enum status check_return(const struct foreign_entry *entry, const char *key,
                                struct error *err)
{
    for (const char *slash = strchr(key, '/'); slash; slash = strchr(slash + 1, '/')) {
        AUTO_FREE char *name = text_format("%.*s/return_code", (int)(slash - key), key);
        const json_t *code = name ? json_object_get(entry->fields, name) : NULL;

        if (!name)
            return error_no_memory(err);
        else if (code && !(json_is_number(code) && json_number_value(code) == 0))
            return error_set(err, STATUS_INVALID, "%s: %.100s: its %.100s is not 0", entry->where,
                             key, name);
    }
    return STATUS_OK;
}

/* A value of a node's line; those without a documented unit are left out. */
static enum status add_superbench(const struct foreign_program *program,
                                  struct import_claims *claims, const struct foreign_entry *entry,
                                  const char *key, const char *node, struct error *err)
{
    const bool is_model =
        !strncmp(key, "model-benchmarks", 16) || !strncmp(key, "megatron-gpt", 12);
    const bool is_rate = text_ends_in(key, "_throughput"),
               is_time = text_ends_in(key, "_step_time");
    struct store_claim *claim;
    double value;

    if (!is_model || (!is_rate && !is_time))
        return STATUS_OK;
    TRY(check_return(entry, key, err));
    TRY(claim_get_positive(entry->fields, entry->where, key, &value, err));
    TRY(foreign_begin(program, claims, entry, key, json_pack("{s:s}", "metric", key), &claim, err));
    claim->rate = is_rate ? value : 0;
    claim->mean_ns = is_time ? value * 1e6 : 0;
    claim->item_name = is_rate ? "sample" : NULL;
    claim->items = is_rate ? 1 : 0;
    json_decref(claim->fields);
    claim->fields =
        json_pack("{s:s?, s:O}", "node", node, key, json_object_get(entry->fields, key));
    if (!claim->fields)
        return error_no_memory(err);
    return foreign_finish(program, claim, node, "node", NULL, "name of the processor", NULL,
                          "time of the measurement", err);
}

/* A line that is no object is one of a log. */
static enum status add_node(const struct foreign_program *program, struct import_claims *claims,
                            const char *path, const char *where, const char *bytes, size_t length,
                            struct error *err)
{
    struct error why = ERROR_INIT;
    json_t *line = NULL, *value;
    const char *key;
    enum status status;

    if (!foreign_text_begins(bytes, length, false))
        return STATUS_OK;
    status = foreign_text_parse(bytes, length, where, &line, &why);
    status = import_claims_entry(claims, claims->count, status, &why, err);
    json_object_foreach(line, key, value)
    {
        const size_t before = claims->count;

        if (status != STATUS_OK || why.code != STATUS_OK)
            break;
        status = add_superbench(program, claims,
                                &(const struct foreign_entry){line, line, path, where, NULL}, key,
                                claim_text_about(line, "node"), &why);
        status = import_claims_entry(claims, before, status, &why, err);
        why = (struct error)ERROR_INIT;
    }
    json_decref(line);
    return status;
}

enum status superbench_read(const char *path, const char *bytes, size_t length,
                            struct import_claims *ret, struct error *err)
{
    static const struct foreign_program self = {.name = "superbench",
                                                .description = "a model benchmark of SuperBench",
                                                .lacks = of_superbench};
    struct import_claims claims = {0};
    char where[FOREIGN_WHERE_SIZE];
    size_t number = 0;
    enum status status = STATUS_OK;

    for (const char *at = bytes, *end = bytes + length; at < end && status == STATUS_OK;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((newline ? newline : end) - at);

        snprintf(where, sizeof(where), "%.200s:%zu", path, ++number);
        status = add_node(&self, &claims, path, where, at, size, err);
        at += size + 1;
    }
    return import_claims_settle(&claims, status, path,
                                "has no throughput and no step time of a model benchmark; the "
                                "units of others are not in the file",
                                ret, err);
}
