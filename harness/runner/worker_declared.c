#include "harness/runner/worker_declared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/declaration.h"
#include "harness/core/embed.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "workloads/declaration.h"

#define FILE_MAX ((size_t)8 << 20)

extern const struct embed_file worker_files[];
extern const size_t worker_files_count;

static const struct declaration_schema word_entry = {ENTRY_STRING(1, 64)};

static const struct declaration_field runs_fields[] = {
    FIELD_STRING("kind", FIELD_REQUIRED, struct worker_runs, kind, 1, 64),
    FIELD_LIST("precisions", FIELD_REQUIRED, struct worker_runs, precisions,
               &workload_precision_entry, 1, 16),
    FIELD_LIST("devices", FIELD_REQUIRED, struct worker_runs, devices, &word_entry, 1, 16),
    FIELD_END};
static const struct declaration_schema runs_entry = {ENTRY_GROUP(struct worker_runs, runs_fields)};

static const struct declaration_field fields[] = {
    FIELD_STRING("worker", FIELD_REQUIRED, struct worker_values, name, 1, 64),
    FIELD_STRING("description", FIELD_REQUIRED, struct worker_values, description, 1, 200),
    FIELD_LIST("versions", FIELD_REQUIRED, struct worker_values, versions, &word_entry, 1, 100),
    FIELD_LIST("modes", FIELD_OPTIONAL, struct worker_values, modes, &word_entry, 1, 16),
    FIELD_STRING("entry", FIELD_REQUIRED, struct worker_values, entry, 1, 200),
    FIELD_STRING("interface", FIELD_OPTIONAL, struct worker_values, interface, 1, 64),
    FIELD_STRING("library", FIELD_OPTIONAL, struct worker_values, library, 1, 200),
    FIELD_STRING("interpreter", FIELD_OPTIONAL, struct worker_values, interpreter, 1, 64),
    FIELD_LIST("runs", FIELD_REQUIRED, struct worker_values, runs, &runs_entry, 1, 32),
    FIELD_INT("threads", FIELD_OPTIONAL, struct worker_values, threads),
    FIELD_BOOL("simulated", FIELD_OPTIONAL, struct worker_values, simulated),
    FIELD_END};

static const struct declaration_schema schema = {ENTRY_GROUP(struct worker_values, fields)};

static const struct declaration_field library_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct stack_library, name, 1, 32),
    FIELD_STRING("path", FIELD_REQUIRED, struct stack_library, path, 1, 200), FIELD_END};
static const struct declaration_schema library_entry = {
    ENTRY_GROUP(struct stack_library, library_fields)};

static const struct declaration_field stack_fields[] = {
    FIELD_STRING("stack", FIELD_REQUIRED, struct worker_values, name, 1, 64),
    FIELD_STRING("description", FIELD_REQUIRED, struct worker_values, description, 1, 200),
    FIELD_LIST("versions", FIELD_REQUIRED, struct worker_values, versions, &word_entry, 1, 100),
    FIELD_STRING("driver", FIELD_OPTIONAL, struct worker_values, library, 1, 200),
    FIELD_LIST("libraries", FIELD_OPTIONAL, struct worker_values, libraries, &library_entry, 1, 16),
    FIELD_END};

static const struct declaration_schema stack_schema = {
    ENTRY_GROUP(struct worker_values, stack_fields)};

const char *declared_form_name(enum declared_form form)
{
    return form == DECLARED_STACK ? "stack" : "worker";
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* It becomes part of a folder's name and of words such as onnxruntime@1.32.0,mode=eager. */
static bool is_word(const char *text)
{
    return strchr(LETTERS, text[0]) && !text[strspn(text, LETTERS "._-+")];
}

static enum status check_words(const struct declaration *declaration, const char *key,
                               char *const *words, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_word(words[i]))
            return declaration_error(declaration, key, err,
                                     "`%s` has \"%s\": write letters, digits, `.`, `_`, `-` and "
                                     "`+`, a letter or digit first",
                                     key, words[i]);
    return STATUS_OK;
}

static bool is_inside(const char *path)
{
    return path[0] != '/' && !strstr(path, "..");
}

static enum status check_stack(const struct declaration *declaration, struct error *err)
{
    struct worker_values *values = declaration->data;

    TRY(check_words(declaration, "stack", &values->name, 1, err));
    TRY(check_words(declaration, "versions", values->versions, values->versions_count, err));
    if (!values->library == !values->libraries_count)
        return declaration_error(declaration, "stack", err,
                                 "a stack has `driver` or `libraries`, and not both");
    if (values->library && !is_inside(values->library))
        return declaration_error(declaration, "driver", err,
                                 "`driver` leads elsewhere: write a path below the folder");
    for (uint32_t i = 0; i < values->libraries_count; i++)
        if (!is_inside(values->libraries[i].path))
            return declaration_error(declaration, "libraries", err,
                                     "`libraries`: \"%s\" leads elsewhere: write a path below "
                                     "site-packages",
                                     values->libraries[i].path);
    return STATUS_OK;
}

static enum status check(const struct declaration *declaration, struct error *err)
{
    struct worker_values *values = declaration->data;
    const bool own = !strcmp(values->entry, WORKER_ENTRY_ASSAY);

    TRY(check_words(declaration, "worker", &values->name, 1, err));
    TRY(check_words(declaration, "versions", values->versions, values->versions_count, err));
    TRY(check_words(declaration, "modes", values->modes, values->modes_count, err));
    if (own ? !values->interface || !values->library || values->interpreter
            : values->interface || values->library)
        return declaration_error(declaration, "entry", err,
                                 "`entry: assay` takes `interface` and `library` and no "
                                 "`interpreter`, a program none of the first two");
    if (!is_inside(own ? values->library : values->entry))
        return declaration_error(declaration, own ? "library" : "entry", err,
                                 "`%s` leads elsewhere: write a path below the folder",
                                 own ? "library" : "entry");
    if (values->threads < 0 || values->threads > 65536)
        return declaration_error(declaration, "threads", err,
                                 "`threads` is %lld: write 0 (as many as the device uses) to 65536",
                                 (long long)values->threads);
    if (values->interpreter && !strcmp(values->interpreter, "none")) {
        free(values->interpreter);
        values->interpreter = NULL;
    }
    return STATUS_OK;
}

/* "onnxruntime/worker.yaml" of the compiled files; NULL: there is none. */
static const struct embed_file *find_file(const char *folder, const char *file)
{
    const size_t length = strlen(folder);

    for (size_t i = 0; i < worker_files_count; i++) {
        const char *name = worker_files[i].name;

        if (!strncmp(name, folder, length) && name[length] == '/' &&
            !strcmp(name + length + 1, file))
            return &worker_files[i];
    }
    return NULL;
}

static const char *file_name(enum declared_form form)
{
    return form == DECLARED_STACK ? "stack.yaml" : "worker.yaml";
}

bool worker_declared_name(enum declared_form form, size_t index, char ret[WORKER_NAME_SIZE])
{
    for (size_t i = 0; i < worker_files_count; i++) {
        const char *slash = strchr(worker_files[i].name, '/');

        if (!slash || strcmp(slash + 1, file_name(form)) != 0 || index-- > 0)
            continue;
        snprintf(ret, WORKER_NAME_SIZE, "%.*s", (int)(slash - worker_files[i].name),
                 worker_files[i].name);
        return true;
    }
    return false;
}

static enum status unknown(enum declared_form form, const char *name, struct error *err)
{
    char one[WORKER_NAME_SIZE];
    CLEANUP(text_finish) struct text names;

    text_init(&names);
    for (size_t i = 0; worker_declared_name(form, i, one); i++)
        text_append_format(&names, "%s, ", one);
    return error_set(err, STATUS_NOT_FOUND,
                     "there is no %s \"%s\"; there are %s%sand the path of a %s",
                     declared_form_name(form), name, form == DECLARED_WORKER ? "assay, " : "",
                     text_ok(&names) ? names.data : "", file_name(form));
}

enum status worker_declared_find(enum declared_form form, const char *name,
                                 struct worker_declared *ret, struct error *err)
{
    const struct declaration_schema *of = form == DECLARED_STACK ? &stack_schema : &schema;
    const struct embed_file *file = find_file(name, file_name(form));
    CLEANUP(worker_declared_finish)
    struct worker_declared worker = {.built_in = file != NULL, .form = form};
    json_auto_t *json = NULL;
    AUTO_FREE char *origin = NULL;

    if (!file && !declaration_is_path(name))
        return unknown(form, name, err);
    origin =
        file ? text_format("backends/%ss/%s", declared_form_name(form), file->name) : strdup(name);
    worker.declaration = calloc(1, sizeof(*worker.declaration));
    if (!origin || !worker.declaration)
        return error_no_memory(err);
    TRY(file ? declaration_parse(origin, file->text, file->length, of, worker.declaration, err)
             : declaration_load(origin, of, worker.declaration, err));
    TRY(form == DECLARED_STACK ? check_stack(worker.declaration, err)
                               : check(worker.declaration, err));
    TRY(declaration_to_json(worker.declaration, &json, err));
    TRY(canonical_digest(json, &worker.digest, err));
    worker.values = worker.declaration->data;
    worker.origin = worker.declaration->origin;
    *ret = worker;
    worker = (struct worker_declared){0};
    return STATUS_OK;
}

void worker_declared_finish(struct worker_declared *worker)
{
    declaration_finish(worker->declaration);
    free(worker->declaration);
    memset(worker, 0, sizeof(*worker));
}

bool worker_declared_has(char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

const struct worker_runs *worker_declared_runs(const struct worker_declared *worker,
                                               const char *kind)
{
    for (uint32_t i = 0; i < worker->values->runs_count; i++)
        if (!strcmp(worker->values->runs[i].kind, kind))
            return &worker->values->runs[i];
    return NULL;
}

bool worker_declared_opens(const struct worker_declared *worker, const char *backend)
{
    const struct worker_values *values = worker->values;

    for (uint32_t i = 0; i < values->runs_count; i++)
        if (worker_declared_has(values->runs[i].devices, values->runs[i].devices_count, backend))
            return true;
    return false;
}

const char *worker_declared_module(size_t *ret_length)
{
    const struct embed_file *file = find_file("python", WORKER_MODULE);

    *ret_length = file->length;
    return file->text;
}

enum status worker_declared_read(const struct worker_declared *worker, const char *file, char **ret,
                                 size_t *ret_length, struct error *err)
{
    const struct embed_file *embedded =
        worker->built_in ? find_file(worker->values->name, file) : NULL;
    char *path, *copy;
    enum status status;

    if (worker->built_in && !embedded)
        return error_set(err, STATUS_NOT_FOUND, "%s has no file %s in its folder", worker->origin,
                         file);
    if (embedded) {
        copy = malloc(embedded->length + 1);
        if (!copy)
            return error_no_memory(err);
        memcpy(copy, embedded->text, embedded->length + 1);
        *ret = copy;
        *ret_length = embedded->length;
        return STATUS_OK;
    }
    path = file_beside(worker->origin, file);
    if (!path)
        return error_no_memory(err);
    status = file_read(path, FILE_MAX, ret, ret_length, err);
    free(path);
    return status;
}
