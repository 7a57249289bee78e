#include "results/analysis/fields.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/comparability.h"
#include "protocols/conduct.h"
#include "protocols/finding.h"
#include "protocols/same_stack.h"
#include "results/store/foreign_worker.h"
#include "results/store/store.h"

/* Fields under construction. */
struct fields {
    json_t *values;
    bool failed;
};

/* Takes the reference. A second, different value makes the field unknown. */
static void set(struct fields *fields, const char *prefix, const char *name, const char *suffix,
                json_t *value)
{
    AUTO_FREE char *key = text_format("%s%s%s", prefix, name, suffix);
    const json_t *before = key ? json_object_get(fields->values, key) : NULL;

    if (before && !json_equal(before, value)) {
        json_decref(value);
        value = json_null();
    }
    if (!key || json_object_set_new(fields->values, key, value) < 0)
        fields->failed = true;
}

static json_t *copy_or_null(const json_t *value)
{
    return value ? json_incref((json_t *)value) : json_null();
}

static json_t *reading_value(const json_t *reading)
{
    const char *status = member_string(reading, "status");
    const json_t *value = json_object_get(reading, "value");

    if (status && !strcmp(status, "not_applicable"))
        return json_string("(not applicable)");
    return copy_or_null(value);
}

static void add_readings(struct fields *fields, const json_t *readings)
{
    const char *name;
    json_t *reading;

    json_object_foreach((json_t *)readings, name, reading)
    {
        set(fields, "", name, "", reading_value(reading));
    }
}

/* Members of an object, `names` up to NULL; those alone that it has where `told`. */
static void add_members(struct fields *fields, const char *prefix, const json_t *object,
                        const char *const *names, bool told)
{
    for (; *names; names++)
        if (!told || json_object_get(object, *names))
            set(fields, prefix, *names, "", copy_or_null(json_object_get(object, *names)));
}

static void add_identity(struct fields *fields, const json_t *record)
{
    static const char *const names[] = {"workload_digest", "protocol_digest", "seed", NULL};
    const json_t *identity = json_object_get(record, "identity");
    const json_t *campaign = json_object_get(record, "campaign");
    const json_t *evidence = member_in(record, "protocol", "evidence");

    add_members(fields, "identity.", identity, names, false);
    for (size_t i = 0; i < store_case_type.count; i++)
        set(fields, "identity.", store_case_type.members[i].name, "",
            copy_or_null(json_object_get(identity, store_case_type.members[i].name)));
    set(fields, "identity.", "protocol_evidence", "", copy_or_null(evidence));
    set(fields, "tool.", "version", "", copy_or_null(json_object_get(campaign, "tool_version")));
    set(fields, "tool.", "digest", "", copy_or_null(json_object_get(campaign, "tool_digest")));
}

static void add_device(struct fields *fields, const json_t *device)
{
    static const char *const names[] = {"backend", "name",      "vendor", "uuid",
                                        "type",    "simulated", NULL};
    char key[32];

    add_readings(fields, json_object_get(device, "readings"));
    for (const char *const *name = names; *name; name++) {
        /* The device's own members take precedence over a reading of the same name. */
        snprintf(key, sizeof(key), "device.%s", *name);
        json_object_del(fields->values, key);
    }
    add_members(fields, "device.", device, names, false);
}

/* A folder of libraries that have nothing else in common, or one of an architecture in it. */
static bool is_shared_folder(const char *path, size_t length)
{
    static const char *const shared[] = {
        "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", NULL};

    for (size_t i = 0; shared[i]; i++) {
        const size_t folder = strlen(shared[i]);

        if (length >= folder && !strncmp(path, shared[i], folder) &&
            (length == folder ||
             (path[folder] == '/' && !memchr(path + folder + 1, '/', length - folder - 1))))
            return true;
    }
    return false;
}

/* The package that a file belongs to, or the folder of one that belongs to none. */
static void add_package(struct fields *fields, const char *name, const json_t *component)
{
    const char *path = member_string(component, "path");
    const char *package = member_string(component, "package");
    const char *version = member_string(component, "package_version");
    const size_t length = (size_t)(strrchr(path, '/') - path);
    json_t *value = NULL;

    if (package && version)
        value = json_sprintf("%s %s", package, version);
    else if (!is_shared_folder(path, length))
        value = json_sprintf(COMPARABILITY_FOLDER "%.*s", (int)length, path);
    if (value)
        set(fields, "", name, COMPARABILITY_PACKAGE, value);
}

static void add_component(struct fields *fields, const json_t *component)
{
    char name[SAME_STACK_NAME_SIZE];
    const json_t *value;

    if (!same_stack_name(component, name, &value))
        return;
    set(fields, "", name, "", copy_or_null(value));
    if (strncmp(name, "jit.", strlen("jit.")) != 0)
        add_package(fields, name, component);
}

/* Takes the place of one that is there, or joins those that are: a sorted list, each once. */
static void add_binary(struct fields *fields, const char *prefix, const json_t *binary)
{
    AUTO_FREE char *key = text_format("%sbinary", prefix);
    json_t *before = key ? json_object_get(fields->values, key) : NULL;
    size_t at = 0;

    if (!before || json_equal(before, binary)) {
        set(fields, prefix, "binary", "", copy_or_null(binary));
        return;
    }
    if (!json_is_array(before) &&
        json_object_set_new(fields->values, key, before = json_pack("[O]", before)) < 0)
        fields->failed = true;
    while (at < json_array_size(before) &&
           strcmp(json_string_value(json_array_get(before, at)), json_string_value(binary)) < 0)
        at++;
    if (!json_equal(json_array_get(before, at), binary))
        fields->failed |= json_array_insert(before, at, (json_t *)(uintptr_t)binary) < 0;
}

static void add_artifact(struct fields *fields, const json_t *artifact)
{
    static const char *const names[] = {"source", "prelude", "options", "compiler", "lanes", NULL};
    const json_t *binary = json_object_get(artifact, "binary");
    const char *file = member_string(artifact, "file");
    AUTO_FREE char *prefix = NULL;

    if (!file)
        return;
    prefix = text_format("kernel.%s.", file_base_name(file));
    if (prefix)
        add_members(fields, prefix, artifact, names, false);
    if (prefix && json_is_string(binary))
        add_binary(fields, prefix, binary);
    fields->failed |= !prefix;
}

/* {"workload": {"gemm": {"lanes": 1}}} becomes "choice.gemm.lanes". */
static void add_choices(struct fields *fields, const char *prefix, const json_t *choices)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)choices, name, value)
    {
        AUTO_FREE char *inner = json_is_object(value) ? text_format("%s%s.", prefix, name) : NULL;

        if (!json_is_object(value))
            set(fields, prefix, name, "", json_incref(value));
        else if (inner)
            add_choices(fields, inner, value);
        else
            fields->failed = true;
    }
}

/* Of facts.framework: what the framework says of itself. */
static void add_framework(struct fields *fields, const json_t *framework)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)framework, name, value)
    {
        if (!json_is_null(value)) /* what it does not say is no field */
            set(fields, "framework.", name, "", json_incref(value));
    }
}

/* Settings that the device's telemetry reported; values that change by themselves are no fields. */
static void add_settings(struct fields *fields, const json_t *telemetry)
{
    static const char *const settings[] = {"device.power_limit",  "device.power_limit_requested",
                                           "device.clock_sm_max", "device.clock_memory_max",
                                           "device.persistence",  "device.pcie_width_max"};

    EACH(part, telemetry) {
        const json_t *begin = json_object_get(part, "begin");

        for (size_t k = 0; k < sizeof(settings) / sizeof(settings[0]); k++)
            if (json_object_get(begin, settings[k]))
                set(fields, "", settings[k], "",
                    reading_value(json_object_get(begin, settings[k])));
    }
}

static void add_trial(struct fields *fields, const json_t *trial)
{
    /* Which library's GEMMs, and whether they are native in this precision; whether attention is
     * one operation, and of which library. */
    static const char *const of_gemm[] = {"library",   "version",         "support",
                                          "algorithm", "workspace_bytes", NULL};
    static const char *const of_attention[] = {"fused",     "library",         "version", "support",
                                               "algorithm", "workspace_bytes", NULL};
    const json_t *facts = json_object_get(trial, "facts");
    const json_t *choices = json_object_get(facts, "choices"),
                 *gemm = json_object_get(facts, "gemm");
    const json_t *environment = json_object_get(trial, "environment");

    add_readings(fields, json_object_get(environment, "host"));
    add_settings(fields, json_object_get(trial, "telemetry"));
    EACH(entry, json_object_get(trial, "components"))
        add_component(fields, entry);
    EACH(entry, json_object_get(trial, "artifacts"))
        add_artifact(fields, json_object_get(entry, "artifact"));
    if (gemm)
        add_members(fields, "gemm.", gemm, of_gemm, false);
    add_members(fields, "attention.", json_object_get(facts, "attention"), of_attention, true);
    add_framework(fields, json_object_get(facts, "framework"));
    add_choices(fields, "choice.", json_object_get(choices, "workload"));
    if (choices)
        set(fields, "choice.", "iterations_per_sample", "",
            copy_or_null(json_object_get(choices, "iterations_per_sample")));
}

/* Of an import: what it declares; what it does not report is no field. */
static void add_imported(struct fields *fields, const json_t *imported)
{
    const char *program = member_string(json_object_get(imported, "origin"), "program");
    const json_t *readings = json_object_get(imported, "readings");
    AUTO_FREE char *origin = program ? text_format("imported from %s", program) : NULL;
    const char *name;
    json_t *reading;

    json_object_foreach((json_t *)readings, name, reading)
    {
        if (json_object_set_new(fields->values, name, reading_value(reading)) < 0)
            fields->failed = true;
    }
    set(fields, "identity.", "origin", "", json_string(origin ? origin : "imported"));
    set(fields, "identity.", "checks", "", json_string("made by the program that wrote it"));
}

/*
 * Sets identity.origin by the trials that ended well, or by all of them; unknown where only some,
 * or trials of several programs, were measured by a foreign worker, or its path is withheld.
 */
static bool add_workers(struct fields *fields, const json_t *trials, bool all)
{
    bool any = false;

    EACH(trial, trials) {
        const json_t *host = member_in(trial, "environment", "host");
        const struct conduct_seen seen = conduct_seen_of(json_object_get(trial, "facts"));
        const json_t *worker = seen.checks == CONDUCT_CHECKS_OF_ASSAY
                                   ? NULL /* a declared one */
                                   : json_object_get(host, FOREIGN_WORKER_READING);
        const char *status = member_string(trial, "status");
        const char *path = member_string(worker, "value");

        if (!all && !(status && !strcmp(status, "ok")))
            continue;
        any = true;
        set(fields, "identity.", "checks", "",
            !worker || seen.outputs_checked > 0 ? json_string("made by assay") : json_null());
        set(fields, "identity.", "origin", "",
            !worker ? json_string("measured by assay")
            : path  ? json_sprintf(COMPARABILITY_FOREIGN_ORIGIN "%s", path)
                    : json_null());
    }
    return any;
}

static void add_origin(struct fields *fields, const json_t *trials)
{
    if (add_workers(fields, trials, false) || add_workers(fields, trials, true))
        return;
    set(fields, "identity.", "origin", "", json_string("measured by assay"));
    set(fields, "identity.", "checks", "", json_string("made by assay"));
}

/* Set only where it is so: what says that its trials ran on several stacks. */
static void add_mixed(struct fields *fields, const json_t *trials)
{
    struct error err = ERROR_INIT;
    const enum status status = same_stack_check_all(trials, &err);

    if (status == STATUS_INVALID)
        set(fields, "identity.", "mixed_stacks", "", json_string(err.message));
    fields->failed |= status == STATUS_NO_MEMORY;
}

/* Set only where it is so. */
static void add_ceiling(struct fields *fields, const json_t *estimate)
{
    EACH(finding, json_object_get(estimate, "findings")) {
        const char *code = member_string(finding, "code");

        if (code && !strcmp(code, finding_kinds[FINDING_ABOVE_CEILING].code))
            set(fields, "identity.", "above_ceiling", "", json_true());
    }
}

enum status fields_from_record(const json_t *record, json_t **ret, struct error *err)
{
    struct fields fields = {.values = json_object()};

    fields.failed = !fields.values;
    if (!fields.failed) {
        add_identity(&fields, record);
        add_ceiling(&fields, json_object_get(record, "estimate"));
        add_mixed(&fields, json_object_get(record, "trials"));
        EACH(trial, json_object_get(record, "trials")) {
            const char *status = member_string(trial, "status");

            if (status && !strcmp(status, "ok"))
                add_trial(&fields, trial);
        }
        add_device(&fields, json_object_get(record, "device"));
        if (json_is_object(json_object_get(record, "imported")))
            add_imported(&fields, json_object_get(record, "imported"));
        else
            add_origin(&fields, json_object_get(record, "trials"));
    }
    if (fields.failed) {
        json_decref(fields.values);
        return error_no_memory(err);
    }
    *ret = fields.values;
    return STATUS_OK;
}

enum status fields_of_cell(struct store *store, int64_t cell, json_t **ret, struct error *err)
{
    json_auto_t *record = NULL;

    TRY(store_cell_json(store, cell, &record, err));

    return fields_from_record(record, ret, err);
}
