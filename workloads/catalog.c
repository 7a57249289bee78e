#include "workloads/catalog.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/embed.h"
#include "harness/core/file.h"
#include "workloads/declaration.h"
#include "workloads/kinds.h"

extern const struct embed_file workload_declared[];
extern const size_t workload_declared_count;
extern const struct embed_file suite_declared[];
extern const size_t suite_declared_count;

#define KIND_ENTRY(symbol) &symbol,
static const struct workload_kind *const kinds[] = {WORKLOAD_KIND_MAP(KIND_ENTRY)};
#undef KIND_ENTRY
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

#define CATALOG_MAX 256

struct catalog {
    struct catalog_entry entries[CATALOG_MAX];
    char names[CATALOG_MAX][WORKLOAD_NAME_MAX];
    size_t count;
};

static struct catalog workloads, suites;
static pthread_once_t catalogs_once = PTHREAD_ONCE_INIT;

const struct workload_kind *workload_kind_find(const char *name)
{
    for (size_t i = 0; i < KIND_COUNT; ++i)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static int compare_entries(const void *a, const void *b)
{
    const struct catalog_entry *left = a, *right = b;

    return strcmp(left->name, right->name);
}

/* The entry's name is the file's without ".yaml". */
static void fill_catalog(struct catalog *catalog, const struct embed_file *files, size_t count)
{
    for (size_t i = 0; i < count && catalog->count < CATALOG_MAX; ++i) {
        size_t length = strlen(files[i].name);
        char *name = catalog->names[catalog->count];
        struct catalog_entry *entry = &catalog->entries[catalog->count];

        if (length <= strlen(".yaml") || length - strlen(".yaml") >= WORKLOAD_NAME_MAX)
            continue;
        memcpy(name, files[i].name, length - strlen(".yaml"));
        name[length - strlen(".yaml")] = '\0';
        entry->name = name;
        entry->yaml = files[i].text;
        entry->length = files[i].length;
        ++catalog->count;
    }
    qsort(catalog->entries, catalog->count, sizeof(catalog->entries[0]), compare_entries);
}

static void fill_catalogs(void)
{
    fill_catalog(&workloads, workload_declared, workload_declared_count);
    fill_catalog(&suites, suite_declared, suite_declared_count);
}

const struct catalog_entry *catalog_workloads(size_t *ret_count)
{
    pthread_once(&catalogs_once, fill_catalogs);
    *ret_count = workloads.count;
    return workloads.entries;
}

const struct catalog_entry *catalog_suites(size_t *ret_count)
{
    pthread_once(&catalogs_once, fill_catalogs);
    *ret_count = suites.count;
    return suites.entries;
}

static const struct catalog_entry *lookup(const struct catalog_entry *entries, size_t count,
                                          const char *name)
{
    for (size_t i = 0; i < count; ++i)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

static enum status not_found(const struct catalog_entry *entries, size_t count, const char *what,
                             const char *name, struct error *err)
{
    const char *names[CATALOG_MAX];
    const char *nearest;

    for (size_t i = 0; i < count; ++i)
        names[i] = entries[i].name;
    nearest = text_nearest(name, names, count);
    if (nearest != NULL)
        return error_set(err, STATUS_NOT_FOUND, "there is no %s \"%s\"; did you mean \"%s\"?", what,
                         name, nearest);
    return error_set(err, STATUS_NOT_FOUND,
                     "there is no %s \"%s\"; `assay list` shows the built-in ones, a file is named "
                     "by a path with / or ending in .yaml",
                     what, name);
}

/* ---- which kind a text declares, before its schema is known ---- */

struct heading {
    char *workload, *suite, *kind;
};

static const struct declaration_field heading_fields[] = {
    FIELD_STRING("workload", FIELD_OPTIONAL, struct heading, workload, 0, FIELD_UNLIMITED),
    FIELD_STRING("suite", FIELD_OPTIONAL, struct heading, suite, 0, FIELD_UNLIMITED),
    FIELD_STRING("kind", FIELD_OPTIONAL, struct heading, kind, 0, FIELD_UNLIMITED),
    FIELD_END,
};

static const struct declaration_schema heading_schema = {
    DECLARATION_GROUP, DECLARATION_OPEN, sizeof(struct heading), .fields = heading_fields};

static void append_kinds(struct text *text)
{
    for (size_t i = 0; i < KIND_COUNT; ++i)
        text_append_format(text, "%s%s",
                           i == 0                ? ""
                           : i + 1 == KIND_COUNT ? " or "
                                                 : ", ",
                           kinds[i]->name);
}

static enum status find_kind(const struct declaration *declaration,
                             const struct workload_kind **ret, struct error *err)
{
    const struct heading *heading = declaration->data;
    CLEANUP(text_finish) struct text list;

    text_init(&list);
    append_kinds(&list);
    if (heading->suite != NULL && heading->workload == NULL)
        TRY(declaration_error(declaration, "suite", err,
                              "this declares a suite; a workload starts with `workload: NAME`"));
    else if (heading->kind == NULL)
        return error_set_at(err, STATUS_INVALID, declaration->origin, 1,
                            "`kind` is missing; write `kind: ` and %s", list.data);
    else if ((*ret = workload_kind_find(heading->kind)) == NULL)
        TRY(declaration_error(declaration, "kind", err, "there is no kind \"%s\"; write %s",
                              heading->kind, list.data));
    return STATUS_OK;
}

enum status workload_parse(const char *origin, const char *yaml, size_t length,
                           struct workload *ret, struct error *err)
{
    struct workload workload = {0};
    CLEANUP(declaration_finish) struct declaration declaration = {0};

    TRY(declaration_parse(origin, yaml, length, &heading_schema, &declaration, err));
    TRY(find_kind(&declaration, &workload.kind, err));
    TRY(workload_declaration_load(&workload, origin, yaml, length, err));
    *ret = workload;
    return STATUS_OK;
}

enum status workload_from_json(const json_t *json, struct workload *ret, struct error *err)
{
    AUTO_FREE char *text = NULL;

    TRY(canonical_dump(json, &text, err));
    return workload_parse("stored declaration", text, strlen(text), ret, err);
}

void catalog_text_finish(struct catalog_text *text)
{
    free(text->heap);
}

enum status catalog_read(const char *name_or_path, const struct catalog_entry *entries,
                         size_t count, const char *what, struct catalog_text *ret,
                         struct error *err)
{
    const struct catalog_entry *entry;
    struct catalog_text text = {.origin = name_or_path};

    if (declaration_is_path(name_or_path)) {
        TRY(file_read(name_or_path, DECLARATION_SIZE_MAX, &text.heap, &text.length, err));
        text.yaml = text.heap;
        *ret = text;
        return STATUS_OK;
    }
    entry = lookup(entries, count, name_or_path);
    if (entry == NULL)
        return not_found(entries, count, what, name_or_path, err);
    *ret =
        (struct catalog_text){.origin = "built-in", .yaml = entry->yaml, .length = entry->length};
    return STATUS_OK;
}

/* A file may copy a built-in workload, not take its name for another one: results show the name. */
static enum status check_name(const struct workload *workload, const char *path, struct error *err)
{
    size_t count;
    const struct catalog_entry *entries = catalog_workloads(&count);
    const struct catalog_entry *entry = lookup(entries, count, workload->name);
    CLEANUP(workload_finish) struct workload built_in = {0};

    if (entry == NULL)
        return STATUS_OK;
    TRY(workload_parse("built-in", entry->yaml, entry->length, &built_in, err));
    if (digest_equal(&built_in.digest, &workload->digest))
        return STATUS_OK;
    return error_set_at(
        err, STATUS_INVALID, path, 1,
        "\"%s\" is the name of a built-in workload that differs from this one; give "
        "this one a name of its own",
        workload->name);
}

enum status workload_find(const char *name_or_path, struct workload *ret, struct error *err)
{
    size_t count;
    const struct catalog_entry *entries = catalog_workloads(&count);
    CLEANUP(workload_finish) struct workload found = {0};
    CLEANUP(catalog_text_finish) struct catalog_text text = {0};

    TRY(catalog_read(name_or_path, entries, count, "workload", &text, err));
    TRY(workload_parse(text.origin, text.yaml, text.length, &found, err));
    if (declaration_is_path(name_or_path))
        TRY(check_name(&found, name_or_path, err));
    *ret = found;
    found = (struct workload){0};
    return STATUS_OK;
}

enum status declaration_is_suite(const char *path, bool *ret, struct error *err)
{
    CLEANUP(declaration_finish) struct declaration declaration = {0};

    TRY(declaration_load(path, &heading_schema, &declaration, err));

    *ret = ((const struct heading *)declaration.data)->suite != NULL;
    return STATUS_OK;
}

enum status declaration_is_workload(const char *path, bool *ret, struct error *err)
{
    CLEANUP(declaration_finish) struct declaration declaration = {0};
    const struct heading *heading;

    TRY(declaration_load(path, &heading_schema, &declaration, err));

    heading = declaration.data;
    *ret = heading->workload != NULL || heading->kind != NULL;
    return STATUS_OK;
}
