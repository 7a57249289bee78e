#include "workloads/declaration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"

const struct declaration_name workload_scenario_strings[WORKLOAD_SCENARIO_COUNT] = {
    {"single_stream", SCENARIO_SINGLE_STREAM},
    {"offline", SCENARIO_OFFLINE},
    {"server", SCENARIO_SERVER},
};

#define PRECISION_STRVAL(code, name, storage) {name, PRECISION_##code},
static const struct declaration_name precision_strings[] = {
    PRECISION_MAP(PRECISION_STRVAL){"unknown", PRECISION_UNKNOWN}};
#undef PRECISION_STRVAL

const struct declaration_schema workload_precision_entry = {
    ENTRY_ENUM(enum precision, precision_strings, PRECISION_COUNT + 1)};

const struct declaration_schema workload_batch_entry = {ENTRY_INT(0, int64_t)};

#define BATCH_MAX (1 << 20)

bool workload_name_is_valid(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length < WORKLOAD_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

enum status workload_declaration_check_count(const struct declaration *declaration,
                                             const char *path, int64_t value, int64_t max,
                                             const char *unit, struct error *err)
{
    if (value < 1)
        return declaration_error(declaration, path, err,
                                 "`%s` is %lld; write a number of %s from 1 up", path,
                                 (long long)value, unit);
    if (value > max)
        return declaration_error(declaration, path, err,
                                 "`%s` is %lld; write a number of %s up to %lld", path,
                                 (long long)value, unit, (long long)max);
    return STATUS_OK;
}

static bool runs_in(enum precision precision, const enum precision *runs, size_t count)
{
    size_t i = 0;

    while (i < count && runs[i] != precision)
        i++;
    return i < count;
}

enum status workload_declaration_check_precisions(const struct declaration *declaration,
                                                  const struct workload_declaration *common,
                                                  const enum precision *runs, size_t count,
                                                  struct error *err)
{
    for (uint32_t i = 0; i < common->precisions_count; i++) {
        char path[32], words[128] = "";

        if (runs_in(common->precisions[i], runs, count))
            continue;
        for (size_t r = 0, length = 0; r < count; r++)
            length += (size_t)snprintf(words + length, sizeof(words) - length, "%s%s",
                                       r == 0           ? ""
                                       : r == count - 1 ? " or "
                                                        : ", ",
                                       precision_name(runs[r]));
        snprintf(path, sizeof(path), "precisions[%u]", i);
        return declaration_error(declaration, path, err, "%s does not run in %s; write %s",
                                 common->kind, precision_name(common->precisions[i]), words);
    }
    return STATUS_OK;
}

static enum status check_lists(const struct declaration *declaration,
                               const struct workload_declaration *common,
                               const struct workload_kind *kind, struct error *err)
{
    const int64_t largest = kind->largest_batch > 0 ? kind->largest_batch : BATCH_MAX;
    const char *unit = kind->batch_unit != NULL ? kind->batch_unit : "sequences or items";
    char path[32];

    for (uint32_t i = 0; i < common->precisions_count; ++i) {
        snprintf(path, sizeof(path), "precisions[%u]", i);
        if (common->precisions[i] == PRECISION_UNKNOWN && !workload_is_its_own(kind))
            return declaration_error(
                declaration, path, err,
                "only the precision of an endpoint or a program may be unknown; write "
                "another");
        for (uint32_t j = 0; j < i; ++j) {
            if (common->precisions[i] != common->precisions[j])
                continue;
            return declaration_error(declaration, path, err,
                                     "precision %s is listed twice; remove one",
                                     precision_name(common->precisions[i]));
        }
    }
    for (uint32_t i = 0; i < common->batches_count; ++i) {
        snprintf(path, sizeof(path), "batches[%u]", i);
        TRY(workload_declaration_check_count(declaration, path, common->batches[i], largest, unit,
                                             err));
        for (uint32_t j = 0; j < i; ++j)
            if (common->batches[i] == common->batches[j])
                return declaration_error(declaration, path, err,
                                         "batch %lld is listed twice; remove one",
                                         (long long)common->batches[i]);
    }
    return STATUS_OK;
}

static enum status check_common(const struct declaration *declaration,
                                const struct workload_declaration *common,
                                const struct workload *workload, struct error *err)
{
    if (!workload_name_is_valid(common->workload))
        return declaration_error(declaration, "workload", err,
                                 "\"%s\" is not a name; write 1 to %d of a-z, 0-9, _ and -",
                                 common->workload, WORKLOAD_NAME_MAX - 1);
    if (common->version < 1)
        return declaration_error(declaration, "version", err,
                                 "`version` is %lld; write a whole number from 1 up, raised at "
                                 "each change of meaning",
                                 (long long)common->version);
    if (strcmp(common->kind, workload->kind->name) != 0)
        return declaration_error(declaration, "kind", err, "`kind` is \"%s\"; write %s",
                                 common->kind, workload->kind->name);
    return check_lists(declaration, common, workload->kind, err);
}

static enum status check_serving(const struct declaration *declaration,
                                 struct workload_declaration *common,
                                 const struct workload_kind *kind, struct error *err)
{
    const bool is_server = common->scenario == SCENARIO_SERVER;

    if (kind->is_endpoint && !is_server)
        return declaration_error(declaration, "scenario", err,
                                 "an endpoint is measured under load; write `scenario: server`");
    if (kind->is_endpoint && common->batches_count > 0 &&
        (common->batches_count > 1 || common->batches[0] != 1))
        return declaration_error(declaration, "batches", err,
                                 "an endpoint forms its batches itself; remove `batches`");
    if (is_server && !kind->is_endpoint && !kind->serve)
        return declaration_error(
            declaration, "scenario", err,
            "`scenario: server` is not for the kind %s; write offline or single_stream",
            kind->name);
    if (is_server && !kind->is_endpoint && common->batches_count > 0 &&
        (common->batches_count > 1 || common->batches[0] != common->serving.batching.max_batch))
        return declaration_error(declaration, "batches", err,
                                 "a server's batch is `batching.max_batch`; remove `batches`");
    for (size_t i = 0; i < 2; i++) {
        const char *path = i ? "batching.chunk" : "batching.max_tokens";

        if (declaration_has(declaration, path) && !kind->admit)
            return declaration_error(declaration, path, err,
                                     "requests of the kind %s have no prompts; remove `%s`",
                                     kind->name, path);
    }
    return serving_check(declaration, &common->serving,
                         !is_server          ? SERVED_BY_NONE
                         : kind->is_endpoint ? SERVED_ELSEWHERE
                                             : SERVED_HERE,
                         kind->serves_tokens, err);
}

/* Heap, because declaration_finish() frees them as if it had read them. */
static enum status fill_defaults(struct workload_declaration *common,
                                 const struct workload_kind *kind, struct error *err)
{
    if (common->precisions == NULL) {
        common->precisions = malloc(sizeof(*common->precisions));
        if (common->precisions == NULL)
            return error_no_memory(err);
        common->precisions[0] = workload_is_its_own(kind) ? PRECISION_UNKNOWN : PRECISION_FP32;
        common->precisions_count = 1;
    }
    if (common->batches == NULL) {
        common->batches = malloc(sizeof(*common->batches));
        if (common->batches == NULL)
            return error_no_memory(err);
        common->batches[0] = common->scenario == SCENARIO_SERVER && !kind->is_endpoint
                                 ? common->serving.batching.max_batch
                                 : 1;
        common->batches_count = 1;
    }
    return STATUS_OK;
}

static enum status copy_serving(const struct serving_declaration *serving,
                                struct workload *workload, struct error *err)
{
    const size_t rate_bytes = serving->load.rates_count * sizeof(*serving->load.rates);

    workload->serving = malloc(sizeof(*workload->serving));
    if (workload->serving == NULL)
        return error_no_memory(err);
    *workload->serving = *serving;
    /* The declaration's own: who reads a trace takes them from the JSON. */
    workload->serving->load.arrivals.path = workload->serving->load.arrivals.sha256 = NULL;
    workload->serving->load.arrivals.columns = (struct serving_columns){0};
    /* Without rates they follow from the trace, as one. */
    workload->serving->load.rates = malloc(rate_bytes + sizeof(double));
    if (workload->serving->load.rates == NULL)
        return error_no_memory(err);
    if (rate_bytes > 0)
        memcpy(workload->serving->load.rates, serving->load.rates, rate_bytes);
    return STATUS_OK;
}

static enum status copy_common(const struct workload_declaration *common, const char *origin,
                               struct workload *workload, struct error *err)
{
    size_t precision_bytes = common->precisions_count * sizeof(*common->precisions);
    size_t batch_bytes = common->batches_count * sizeof(*common->batches);

    strcpy(workload->name, common->workload); /* its length is checked */
    workload->version = common->version;
    workload->scenario = common->scenario;
    workload->description = strdup(common->description);
    workload->origin = strdup(origin);
    workload->precisions = malloc(precision_bytes);
    workload->batches = malloc(batch_bytes);
    if (workload->description == NULL || workload->origin == NULL || workload->precisions == NULL ||
        workload->batches == NULL)
        return error_no_memory(err);
    memcpy(workload->precisions, common->precisions, precision_bytes);
    memcpy(workload->batches, common->batches, batch_bytes);
    workload->precision_count = common->precisions_count;
    workload->batch_count = common->batches_count;
    return common->scenario == SCENARIO_SERVER ? copy_serving(&common->serving, workload, err)
                                               : STATUS_OK;
}

enum status workload_declaration_load(struct workload *workload, const char *origin,
                                      const char *yaml, size_t length, struct error *err)
{
    const struct workload_form *form = workload->kind->form;
    CLEANUP(declaration_finish) struct declaration declaration = {0};
    CLEANUP(workload_finish) struct workload loaded = {.kind = workload->kind};
    struct workload_declaration *common;

    TRY(declaration_parse(origin, yaml, length, form->schema, &declaration, err));
    common = declaration.data;
    if (!declaration_has(&declaration, "scenario"))
        common->scenario = SCENARIO_OFFLINE;
    TRY(check_common(&declaration, common, &loaded, err));
    TRY(check_serving(&declaration, common, loaded.kind, err));
    TRY(fill_defaults(common, loaded.kind, err));
    TRY(copy_common(common, origin, &loaded, err));
    TRY(form->check(&declaration, &loaded, err));
    TRY(declaration_to_json(&declaration, &loaded.json, err));
    TRY(canonical_digest(loaded.json, &loaded.digest, err));
    *workload = loaded;
    loaded = (struct workload){0};
    return STATUS_OK;
}
