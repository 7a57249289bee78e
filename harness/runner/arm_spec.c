#include "harness/runner/arm_spec.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/backend.h"
#include "harness/core/file.h"
#include "harness/core/reading.h"
#include "harness/core/text.h"
#include "harness/runner/environment.h"

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for an arm's settings");
}

static enum status set_string(char **member, const char *value, const char *setting,
                              struct error *err)
{
    if (!value[0])
        return error_set(err, STATUS_INVALID, "\"%s\": the value is missing", setting);
    free(*member);
    *member = strdup(value);
    return *member ? STATUS_OK : no_memory(err);
}

/*
 * The harness itself reads it, for all trials: an arm that set it, or hid it, would change what is
 * recorded of its trials and not who measures them.
 */
static bool is_of_the_harness(const char *change)
{
    return strcspn(change, "=") == strlen("ASSAY_WORKER") && !strncmp(change, "ASSAY_WORKER", 12);
}

/* Takes the change. */
static enum status add_change(struct arm_spec *spec, char *change, struct error *err)
{
    enum status status = change ? backend_check_variable(change, err) : no_memory(err);

    if (status == STATUS_OK && is_of_the_harness(change))
        status = error_set(err, STATUS_INVALID,
                           "\"%s\": one worker measures both arms; set ASSAY_WORKER for `assay ab` "
                           "itself",
                           change);
    if (status != STATUS_OK) {
        free(change);
        return status;
    }
    if (spec->change_count == ARM_SPEC_CHANGES_MAX) {
        free(change);
        return error_set(err, STATUS_INVALID, "more than %d variables in one arm",
                         ARM_SPEC_CHANGES_MAX);
    }
    spec->changes[spec->change_count++] = change;
    return STATUS_OK;
}

static enum status add_library(struct arm_spec *spec, const char *text, const char *setting,
                               struct error *err)
{
    const char *equals = strchr(text, '=');
    char *change;

    if (!equals || equals == text || !equals[1])
        return error_set(err, STATUS_INVALID,
                         "\"%s\": write lib:NAME=PATH, such as lib:opencl=/opt/lib/libOpenCL.so.1",
                         setting);
    change = text_format("ASSAY_LIB_%s", text);
    for (char *c = change; c && *c != '='; c++)
        *c = (char)toupper((unsigned char)*c);
    return add_change(spec, change, err);
}

static enum status add_compiler(struct arm_spec *spec, const char *command, const char *setting,
                                struct error *err)
{
    char found[PATH_MAX];

    if (!command[0] || !file_find_program(command, found))
        return error_set(err, STATUS_INVALID, "\"%s\": there is no such program to compile with",
                         setting);
    return add_change(spec, text_format("ASSAY_CC=%s", command), err);
}

static enum status set_root(struct arm_spec *spec, const char *path, const char *setting,
                            struct error *err)
{
    struct stat info;

    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return error_set(err, STATUS_INVALID, "\"%s\": there is no such folder", setting);
    return set_string(&spec->root, path, setting, err);
}

enum status arm_spec_add(struct arm_spec *spec, const char *setting, struct error *err)
{
    if (!strncmp(setting, "device=", 7))
        return set_string(&spec->device, setting + 7, setting, err);
    if (!strncmp(setting, "workload=", 9))
        return set_string(&spec->workload, setting + 9, setting, err);
    if (!strncmp(setting, "backend=", 8))
        return set_string(&spec->device, setting + 8, setting, err);
    if (!strncmp(setting, "root=", 5))
        return set_root(spec, setting + 5, setting, err);
    if (!strncmp(setting, "cc=", 3))
        return add_compiler(spec, setting + 3, setting, err);
    if (!strncmp(setting, "lib:", 4))
        return add_library(spec, setting + 4, setting, err);
    if (!strncmp(setting, "env:", 4) && setting[4] && setting[4] != '=')
        return add_change(spec, strdup(setting + 4), err);
    if (!strncmp(setting, "precision=", 10)) {
        if (!precision_from_name(setting + 10, &spec->precision))
            return error_set(err, STATUS_INVALID, "\"%s\": no such precision", setting);
        spec->has_precision = true;
        return STATUS_OK;
    }
    if (!strncmp(setting, "implementation=", 15)) {
        if (!implementation_from_name(setting + 15, &spec->implementation))
            return error_set(err, STATUS_INVALID,
                             "\"%s\": write implementation=portable or implementation=vendor",
                             setting);
        spec->has_implementation = true;
        return STATUS_OK;
    }
    if (!strcmp(setting, "emulate")) {
        spec->emulate = true;
        return STATUS_OK;
    }
    return error_set(
        err, STATUS_INVALID,
        "\"%s\": write device=D, backend=B, precision=P, implementation=portable or vendor, "
        "emulate, workload=W, cc=COMMAND, lib:NAME=PATH, "
        "env:NAME=VALUE or root=DIR",
        setting);
}

void arm_spec_finish(struct arm_spec *spec)
{
    if (!spec)
        return;
    free(spec->workload);
    free(spec->device);
    free(spec->root);
    for (size_t i = 0; i < spec->change_count; i++)
        free(spec->changes[i]);
    memset(spec, 0, sizeof(*spec));
}

json_t *arm_spec_to_json(const struct arm_spec *spec)
{
    json_t *environment = json_array();

    for (size_t i = 0; i < spec->change_count; i++)
        json_array_append_new(environment, json_string(spec->changes[i]));
    return json_pack("{s:s*, s:o*, s:s?, s:s?, s:s?, s:s?, s:o}", "implementation",
                     spec->has_implementation ? implementation_name(spec->implementation) : NULL,
                     "emulate", spec->emulate ? json_true() : NULL, "workload", spec->workload,
                     "device", spec->device, "precision",
                     spec->has_precision ? precision_name(spec->precision) : NULL, "root",
                     spec->root, "environment", environment);
}

enum status arm_spec_from_json(const json_t *json, struct arm_spec *ret, struct error *err)
{
    struct arm_spec spec = {0};
    const char *root = json_string_value(json_object_get(json, "root"));
    const char *workload = json_string_value(json_object_get(json, "workload"));
    const char *device = json_string_value(json_object_get(json, "device"));
    const char *precision = json_string_value(json_object_get(json, "precision"));
    const char *implementation = json_string_value(json_object_get(json, "implementation"));
    enum status status = STATUS_OK;
    size_t i;
    json_t *change;

    if (root)
        status = set_string(&spec.root, root, "root", err);
    if (status == STATUS_OK && workload)
        status = set_string(&spec.workload, workload, "workload", err);
    if (status == STATUS_OK && device)
        status = set_string(&spec.device, device, "device", err);
    if (precision)
        spec.has_precision = precision_from_name(precision, &spec.precision);
    if (implementation)
        spec.has_implementation = implementation_from_name(implementation, &spec.implementation);
    spec.emulate = json_is_true(json_object_get(json, "emulate"));
    json_array_foreach(json_object_get(json, "environment"), i, change)
    {
        if (status == STATUS_OK && !json_is_string(change))
            status = error_set(err, STATUS_CORRUPT, "the plan's environment is not of strings");
        if (status == STATUS_OK)
            status = add_change(&spec, strdup(json_string_value(change)), err);
    }
    if (status != STATUS_OK) {
        arm_spec_finish(&spec);
        return status;
    }
    *ret = spec;
    return STATUS_OK;
}

static bool same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && !strcmp(a, b));
}

static bool has_change(const struct arm_spec *spec, const char *change)
{
    for (size_t i = 0; i < spec->change_count; i++)
        if (!strcmp(spec->changes[i], change))
            return true;
    return false;
}

static void vary(json_t *varied, const char *const *patterns, const char *factor)
{
    for (; *patterns; patterns++)
        json_object_set_new(varied, *patterns, json_string(factor));
}

/*
 * Variables that only one arm sets so. A library override moves everything that it may bring, and
 * so does the choice of a compiler: it and what it compiles to are one factor.
 */
static void vary_changes(json_t *varied, const struct arm_spec *spec, const struct arm_spec *other)
{
    static const char *const stack[] = {
        "library.*",         "compiler.*",       "driver.*",       "pocl.*",   "icd.*",  "device.*",
        "kernel.*.compiler", "kernel.*.options", "kernel.*.lanes", "choice.*", "gemm.*", NULL};
    static const char *const compiler[] = {"compiler.*",       "library.*",
                                           "device.compiler*", "device.threads.*",
                                           "device.fp*",       "kernel.*.compiler",
                                           "kernel.*.options", "kernel.*.lanes",
                                           "choice.*",         NULL};

    for (size_t i = 0; i < spec->change_count; i++) {
        size_t length = strcspn(spec->changes[i], "=");
        bool library = !strncmp(spec->changes[i], "ASSAY_LIB_", 10);
        char *pattern = text_format("variable.%.*s", (int)length, spec->changes[i]);
        const bool is_compiler = length == 8 && !strncmp(spec->changes[i], "ASSAY_CC", length);
        char *factor = is_compiler ? strdup("compiler")
                       : library
                           ? text_format("library %.*s", (int)length - 10, spec->changes[i] + 10)
                           : text_format("variable %.*s", (int)length, spec->changes[i]);

        if (pattern && factor && !has_change(other, spec->changes[i])) {
            json_object_set_new(varied, pattern, json_string(factor));
            if (library || is_compiler)
                vary(varied, library ? stack : compiler, factor);
        }
        free(pattern);
        free(factor);
    }
}

/* Does this member of the planned cells differ? Both lack it: no. */
static bool differs(const json_t *a, const json_t *b, const char *key)
{
    const json_t *one = json_object_get(a, key), *other = json_object_get(b, key);

    return one && other ? !json_equal(one, other) : one != other;
}

enum status arm_spec_varied(const json_t *a, const json_t *b, json_t **ret, struct error *err)
{
    /* clang-format off */
    static const char *const root[] = {
        "worker.root", "library.*", "compiler.*", "driver.*", "pocl.*", "icd.*", "device.*",
        "kernel.*.compiler", "kernel.*.options", "kernel.*.lanes", "choice.*", "gemm.*", NULL};
    static const char *const device[] = {
        "device.*", "library.*", "compiler.*", "driver.*", "firmware.*", "pocl.*", "icd.*",
        "kernel.*.compiler", "kernel.*.options", "kernel.*.prelude", "kernel.*.lanes", "choice.*",
        "gemm.*", NULL};
    /* clang-format on */
    static const char *const precision[] = {
        "identity.precision", "kernel.*.options", "kernel.*.lanes", "choice.*", "gemm.*", NULL};
    static const char *const implementation[] = {
        "identity.implementation", "kernel.*", "jit.*", "library.*", "choice.*", "gemm.*", NULL};
    static const char *const workload[] = {"identity.workload_digest", "kernel.*", "jit.*",
                                           "choice.*", NULL};
    static const char *const emulation[] = {"gemm.*", NULL};
    const json_t *cells[2] = {a, b};
    struct arm_spec specs[2] = {{0}, {0}};
    enum status status = STATUS_OK;
    json_t *varied = json_object();

    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        const json_t *spec = json_object_get(cells[i], "spec");

        if (json_is_object(spec))
            status = arm_spec_from_json(spec, &specs[i], err);
    }
    if (differs(a, b, "workload_digest"))
        vary(varied, workload, "workload");
    if (!same_text(specs[0].root, specs[1].root))
        vary(varied, root, "root directory");
    if (differs(a, b, "device"))
        vary(varied, device, "device");
    if (differs(a, b, "precision"))
        vary(varied, precision, "precision");
    if (differs(a, b, "implementation"))
        vary(varied, implementation, "implementation");
    if (differs(a, b, "emulate"))
        vary(varied, emulation, "emulation");
    vary_changes(varied, &specs[0], &specs[1]);
    vary_changes(varied, &specs[1], &specs[0]);
    arm_spec_finish(&specs[0]);
    arm_spec_finish(&specs[1]);
    if (status == STATUS_OK && !varied)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for what the arms set");
    if (status != STATUS_OK) {
        json_decref(varied);
        return status;
    }
    *ret = varied;
    return STATUS_OK;
}

/* Ignored here: variables, what may differ between any two runs, and what is chosen anew. */
static bool is_aside(const char *field)
{
    static const char *const beginnings[] = {"variable.", "choice."};

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (!strncmp(field, beginnings[i], strlen(beginnings[i])))
            return true;
    return strstr(field, ".lanes") != NULL;
}

static bool has_other_difference(const json_t *fields)
{
    size_t i;
    json_t *field;

    json_array_foreach(fields, i, field)
    {
        const char *name = json_string_value(json_object_get(field, "field"));
        const char *class = json_string_value(json_object_get(field, "class"));

        if (name && class && strcmp(class, "nuisance") != 0 && !is_aside(name) &&
            !json_equal(json_object_get(field, "a"), json_object_get(field, "b")))
            return true;
    }
    return false;
}

enum status arm_spec_ineffective(const json_t *varied, const json_t *judgement, char **ret,
                                 struct error *err)
{
    struct text names;
    const char *pattern;
    json_t *factor;
    size_t count = 0;
    bool cc = false;

    *ret = NULL;
    if (has_other_difference(json_object_get(judgement, "fields")))
        return STATUS_OK;
    text_init(&names);
    json_object_foreach((json_t *)(uintptr_t)varied, pattern, factor)
    {
        if (strncmp(pattern, "variable.", 9) != 0)
            continue;
        text_append_format(&names, "%s%s", count++ ? ", " : "", pattern + 9);
        cc = cc || !strcmp(pattern, "variable.CC");
    }
    if (count > 0 && text_ok(&names))
        *ret = text_format("warning: %s changed nothing that was recorded: both arms had the same "
                           "libraries, compiler and readings%s",
                           names.data,
                           cc ? " (cc=COMMAND chooses the compiler of the cpu backend)" : "");
    text_finish(&names);
    return count == 0 || *ret ? STATUS_OK : no_memory(err);
}

json_t *arm_spec_environment(const struct arm_spec *spec, const json_t *fixed)
{
    json_t *readings = json_deep_copy(fixed);
    struct reading_list list;
    json_t *changed;

    reading_list_init(&list);
    if (spec->root)
        reading_add_text(&list, "worker.root", spec->root, "assay ab");
    for (size_t i = 0; i < spec->change_count; i++) {
        const char *equals = strchr(spec->changes[i], '=');
        char *name =
            text_format("variable.%.*s", (int)strcspn(spec->changes[i], "="), spec->changes[i]);

        if (!name)
            list.failed = true;
        else if (equals)
            reading_add_text(&list, name, equals + 1, "assay ab");
        else
            json_object_del(readings, name);
        free(name);
    }
    changed = list.failed ? NULL : reading_list_to_json(&list);
    reading_list_finish(&list);
    if (!readings || !changed || json_object_update(readings, changed) < 0) {
        json_decref(readings);
        readings = NULL;
    }
    json_decref(changed);
    return readings;
}
