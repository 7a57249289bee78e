#include "workloads/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "workloads/catalog.h"
#include "workloads/declaration.h"

#define SUITE_ENTRIES_MAX 1024

struct entry_declaration {
    char *workload;
    enum precision *precisions;
    uint32_t precisions_count;
    int64_t *batches;
    uint32_t batches_count;
};

struct suite_declaration {
    char *suite;
    int64_t version;
    char *description;
    struct entry_declaration *workloads;
    uint32_t workloads_count;
};

static const struct declaration_field entry_fields[] = {
    FIELD_STRING("workload", FIELD_REQUIRED, struct entry_declaration, workload, 1,
                 FIELD_UNLIMITED),
    FIELD_LIST("precisions", FIELD_OPTIONAL, struct entry_declaration, precisions,
               &workload_precision_entry, 1, WORKLOAD_NAMES_MAX),
    FIELD_LIST("batches", FIELD_OPTIONAL, struct entry_declaration, batches, &workload_batch_entry,
               1, WORKLOAD_NAMES_MAX),
    FIELD_END,
};

static const struct declaration_schema entry_schema = {
    ENTRY_GROUP(struct entry_declaration, entry_fields)};

static const struct declaration_field suite_fields[] = {
    FIELD_STRING("suite", FIELD_REQUIRED, struct suite_declaration, suite, 1, FIELD_UNLIMITED),
    FIELD_INT("version", FIELD_REQUIRED, struct suite_declaration, version),
    FIELD_STRING("description", FIELD_REQUIRED, struct suite_declaration, description, 1,
                 FIELD_UNLIMITED),
    FIELD_LIST("workloads", FIELD_REQUIRED, struct suite_declaration, workloads, &entry_schema, 1,
               SUITE_ENTRIES_MAX),
    FIELD_END,
};

static const struct declaration_schema suite_schema = {
    ENTRY_GROUP(struct suite_declaration, suite_fields)};

static enum status copy_entry(const struct entry_declaration *from, const char *origin,
                              struct suite_entry *to, struct error *err)
{
    to->workload = declaration_is_path(from->workload) ? file_beside(origin, from->workload)
                                                       : strdup(from->workload);
    to->precisions = malloc((from->precisions_count + 1) * sizeof(*to->precisions));
    to->batches = malloc((from->batches_count + 1) * sizeof(*to->batches));
    if (to->workload == NULL || to->precisions == NULL || to->batches == NULL)
        return error_no_memory(err);
    if (from->precisions_count > 0)
        memcpy(to->precisions, from->precisions, from->precisions_count * sizeof(*to->precisions));
    if (from->batches_count > 0)
        memcpy(to->batches, from->batches, from->batches_count * sizeof(*to->batches));
    to->precision_count = from->precisions_count;
    to->batch_count = from->batches_count;
    return STATUS_OK;
}

/* The entry narrows what its workload declares, and nothing else. */
static enum status check_entry(const struct declaration *declaration, size_t index,
                               const struct suite_entry *entry, struct error *err)
{
    CLEANUP(workload_finish) struct workload workload = {0};
    struct error cause = ERROR_INIT;
    char path[80];

    snprintf(path, sizeof(path), "workloads[%zu].workload", index);
    if (workload_find(entry->workload, &workload, &cause) != STATUS_OK)
        return declaration_error(declaration, path, err, "%s", cause.message);
    for (size_t i = 0; i < entry->precision_count; ++i) {
        size_t at = 0;

        while (at < workload.precision_count && workload.precisions[at] != entry->precisions[i])
            ++at;
        snprintf(path, sizeof(path), "workloads[%zu].precisions[%zu]", index, i);
        if (at == workload.precision_count)
            return declaration_error(declaration, path, err,
                                     "workload %s does not declare precision %s; choose from its "
                                     "own `precisions`",
                                     workload.name, precision_name(entry->precisions[i]));
    }
    for (size_t i = 0; i < entry->batch_count; ++i) {
        size_t at = 0;

        while (at < workload.batch_count && workload.batches[at] != entry->batches[i])
            ++at;
        snprintf(path, sizeof(path), "workloads[%zu].batches[%zu]", index, i);
        if (at == workload.batch_count)
            return declaration_error(declaration, path, err,
                                     "workload %s does not declare batch %lld; choose from its "
                                     "own `batches`",
                                     workload.name, (long long)entry->batches[i]);
    }
    return STATUS_OK;
}

static enum status check_suite(const struct declaration *declaration,
                               const struct suite_declaration *data, struct error *err)
{
    if (!workload_name_is_valid(data->suite))
        return declaration_error(declaration, "suite", err,
                                 "\"%s\" is not a name; write 1 to %d of a-z, 0-9, _ and -",
                                 data->suite, WORKLOAD_NAME_MAX - 1);
    if (data->version < 1)
        return declaration_error(declaration, "version", err,
                                 "`version` is %lld; write a whole number from 1 up",
                                 (long long)data->version);
    return STATUS_OK;
}

static enum status fill_suite(const struct declaration *declaration, struct suite *suite,
                              struct error *err)
{
    const struct suite_declaration *data = declaration->data;

    strcpy(suite->name, data->suite); /* its length is checked */
    suite->version = data->version;
    suite->description = strdup(data->description);
    suite->origin = strdup(declaration->origin);
    suite->entries = calloc(data->workloads_count, sizeof(*suite->entries));
    if (suite->description == NULL || suite->origin == NULL || suite->entries == NULL)
        return error_no_memory(err);
    suite->entry_count = data->workloads_count;
    for (size_t i = 0; i < suite->entry_count; ++i) {
        TRY(copy_entry(&data->workloads[i], declaration->origin, &suite->entries[i], err));
        TRY(check_entry(declaration, i, &suite->entries[i], err));
    }
    TRY(declaration_to_json(declaration, &suite->json, err));
    return canonical_digest(suite->json, &suite->digest, err);
}

static enum status parse_suite(const char *origin, const char *yaml, size_t length,
                               struct suite *ret, struct error *err)
{
    CLEANUP(declaration_finish) struct declaration declaration = {0};
    CLEANUP(suite_finish) struct suite suite = {0};

    TRY(declaration_parse(origin, yaml, length, &suite_schema, &declaration, err));
    TRY(check_suite(&declaration, declaration.data, err));
    TRY(fill_suite(&declaration, &suite, err));
    *ret = suite;
    suite = (struct suite){0};
    return STATUS_OK;
}

enum status suite_find(const char *name_or_path, struct suite *ret, struct error *err)
{
    size_t count;
    const struct catalog_entry *entries = catalog_suites(&count);
    CLEANUP(catalog_text_finish) struct catalog_text text = {0};

    TRY(catalog_read(name_or_path, entries, count, "suite", &text, err));
    return parse_suite(text.origin, text.yaml, text.length, ret, err);
}

void suite_finish(struct suite *suite)
{
    for (size_t i = 0; i < suite->entry_count; ++i) {
        free(suite->entries[i].workload);
        free(suite->entries[i].precisions);
        free(suite->entries[i].batches);
    }
    free(suite->entries);
    free(suite->description);
    free(suite->origin);
    json_decref(suite->json);
    memset(suite, 0, sizeof(*suite));
}
