#include "harness/runner/arm_spec.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/backend.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/reading.h"
#include "harness/core/text.h"
#include "harness/runner/driver_path.h"

static enum status set_string(char **member, const char *value, const char *setting,
                              struct error *err)
{
    if (!value[0])
        return error_set(err, STATUS_INVALID, "\"%s\": the value is missing", setting);
    free(*member);
    *member = strdup(value);
    return *member ? STATUS_OK : error_no_memory(err);
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
    enum status status = change ? backend_check_variable(change, err) : error_no_memory(err);

    if (status == STATUS_OK && is_of_the_harness(change))
        status = error_set(err, STATUS_INVALID,
                           "\"%s\": this variable is of the harness; worker=NAME chooses who "
                           "measures an arm, and the variable set for `assay ab` itself all",
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

/* The library of that name in a stack, named as in nvidia-cuda-nvrtc@13.0. */
static enum status find_in_stack(const char *text, const char *equals, char **ret,
                                 struct error *err)
{
    char name[33];
    CLEANUP(named_worker_cleanup) struct named_worker *stack = NULL;

    snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
    TRY(named_stack_find(equals + 1, &stack, err));
    return named_stack_library(stack, name, ret, err);
}

static enum status add_library(struct arm_spec *spec, const char *text, const char *setting,
                               struct error *err)
{
    const char *equals = strchr(text, '=');
    char *change, *found = NULL;
    enum status status;

    if (!equals || equals == text || !equals[1])
        return error_set(err, STATUS_INVALID,
                         "\"%s\": write lib:NAME=PATH, such as lib:opencl=/opt/lib/libOpenCL.so.1",
                         setting);
    if (!strchr(equals + 1, '/') || strstr(equals + 1, ".yaml")) {
        status = find_in_stack(text, equals, &found, err);
        if (status != STATUS_OK && status != STATUS_NOT_FOUND)
            return status;
    }
    change = found ? text_format("ASSAY_LIB_%.*s%s", (int)(equals - text + 1), text, found)
                   : text_format("ASSAY_LIB_%s", text);
    free(found);
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

/* Of assay's own worker on a processor; a framework's are set with its name. */
static enum status add_threads(struct arm_spec *spec, const char *count, const char *setting,
                               struct error *err)
{
    int64_t threads;

    if (!text_parse_i64(count, &threads) || threads < 1 || threads > 65536)
        return error_set(err, STATUS_INVALID, "\"%s\": write a whole number from 1 to 65536",
                         setting);
    if (spec->worker)
        return error_set(err, STATUS_INVALID,
                         "\"%s\": the threads of a worker are set with it: worker=NAME,threads=%s",
                         setting, count);
    return add_change(spec, text_format("OMP_NUM_THREADS=%s", count), err);
}

/*
 * Only this driver is offered to the worker, and its own libraries are found before others
 * (driver_path.h). A folder and no file: Khronos's loader reads folders alone.
 */
static enum status take_driver(struct arm_spec *spec, const char *text, const char *setting,
                               struct error *err)
{
    const bool is_folder = strchr(text, '/') != NULL;
    char *pattern =
        is_folder ? text_format("%s/*.icd", text) : text_format("/etc/OpenCL/vendors/%s.icd", text);
    char line[PATH_MAX] = "", whole[PATH_MAX] = "", *slash, *libraries = NULL;
    glob_t found = {0};
    FILE *file = NULL;
    enum status status = STATUS_OK;

    if (!pattern)
        return error_no_memory(err);
    if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1)
        file = fopen(found.gl_pathv[0], "re");
    if (status == STATUS_OK && (!file || !fgets(line, sizeof(line), file) ||
                                !realpath(is_folder ? text : found.gl_pathv[0], whole)))
        status = error_set(err, STATUS_INVALID,
                           "\"%s\": %s is not one file that can be read; write the name of an ICD "
                           "file of /etc/OpenCL/vendors, or of an installed stack (`assay stack "
                           "list`), or a folder that holds one",
                           setting, pattern);
    if (file)
        fclose(file);
    globfree(&found);
    free(pattern);
    line[strcspn(line, "\r\n")] = '\0';
    if (status == STATUS_OK)
        status = add_change(spec, text_format("OCL_ICD_VENDORS=%s", whole), err);
    slash = line[0] == '/' ? strrchr(line, '/') : NULL;
    if (status == STATUS_OK && slash) {
        *slash = '\0';
        status = driver_path(line, &libraries, err);
        if (status == STATUS_OK)
            status = add_change(spec, text_format("LD_LIBRARY_PATH=%s", libraries), err);
        free(libraries);
    }
    return status;
}

/* A stack by its name, else what has an ICD file. */
static enum status add_driver(struct arm_spec *spec, const char *text, const char *setting,
                              struct error *err)
{
    CLEANUP(named_worker_cleanup) struct named_worker *stack = NULL;
    enum status status = strchr(text, '/') ? STATUS_NOT_FOUND : named_stack_find(text, &stack, err);

    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return status;
    TRY(take_driver(spec, stack ? stack->folder : text, setting, err));
    return set_string(&spec->driver, text, setting, err);
}

static enum status set_root(struct arm_spec *spec, const char *path, const char *setting,
                            struct error *err)
{
    struct stat info;

    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return error_set(err, STATUS_INVALID, "\"%s\": there is no such folder", setting);
    return set_string(&spec->root, path, setting, err);
}

static enum status set_worker(struct arm_spec *spec, const char *text, struct error *err)
{
    const size_t length = strlen(WORKER_ENTRY_ASSAY);
    CLEANUP(named_worker_cleanup) struct named_worker *worker = NULL;

    if (!strncmp(text, WORKER_ENTRY_ASSAY, length) && (text[length] == ',' || text[length] == '@'))
        return error_set(err, STATUS_INVALID,
                         "\"%s\": assay's own worker has neither versions nor settings; another "
                         "setting of an arm is written by itself: --a worker=" WORKER_ENTRY_ASSAY
                         " --a %s",
                         text, text[length] == ',' ? text + length + 1 : "implementation=vendor");
    if (strcmp(text, WORKER_ENTRY_ASSAY) != 0)
        TRY(named_worker_find(text, &worker, err));
    if (worker && getenv("ASSAY_WORKER"))
        return error_set(err, STATUS_INVALID,
                         "ASSAY_WORKER is set, which replaces every worker: unset it to measure "
                         "with %s",
                         text);
    named_worker_destroy(spec->worker);
    spec->worker = worker;
    worker = NULL;
    return STATUS_OK;
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
    if (!strncmp(setting, "worker=", 7))
        return set_worker(spec, setting + 7, err);
    if (!strncmp(setting, "driver=", 7))
        return add_driver(spec, setting + 7, setting, err);
    if (!strncmp(setting, "threads=", 8))
        return add_threads(spec, setting + 8, setting, err);
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
        if (!implementation_from_name(setting + 15, &spec->implementation) ||
            spec->implementation == IMPLEMENTATION_UNKNOWN)
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
        "emulate, workload=W, worker=NAME, driver=NAME|FOLDER, cc=COMMAND, threads=N, "
        "lib:NAME=PATH, env:NAME=VALUE or root=DIR",
        setting);
}

void arm_spec_finish(struct arm_spec *spec)
{
    if (!spec)
        return;
    free(spec->name);
    free(spec->workload);
    free(spec->device);
    free(spec->root);
    free(spec->driver);
    named_worker_destroy(spec->worker);
    for (size_t i = 0; i < spec->change_count; i++)
        free(spec->changes[i]);
    memset(spec, 0, sizeof(*spec));
}

json_t *arm_spec_to_json(const struct arm_spec *spec)
{
    json_t *environment = json_array();

    for (size_t i = 0; i < spec->change_count; i++)
        json_array_append_new(environment, json_string(spec->changes[i]));
    return json_pack("{s:s*, s:s*, s:o*, s:s?, s:s?, s:s?, s:s?, s:s*, s:o}", "name", spec->name,
                     "implementation",
                     spec->has_implementation ? implementation_name(spec->implementation) : NULL,
                     "emulate", spec->emulate ? json_true() : NULL, "workload", spec->workload,
                     "device", spec->device, "precision",
                     spec->has_precision ? precision_name(spec->precision) : NULL, "root",
                     spec->root, "driver", spec->driver, "environment", environment);
}

enum status arm_spec_from_json(const json_t *json, struct arm_spec *ret, struct error *err)
{
    CLEANUP(arm_spec_finish) struct arm_spec spec = {0};
    const char *name = member_string(json, "name");
    const char *root = member_string(json, "root");
    const char *driver = member_string(json, "driver");
    const char *workload = member_string(json, "workload");
    const char *device = member_string(json, "device");
    const char *precision = member_string(json, "precision");
    const char *implementation = member_string(json, "implementation");

    if (name)
        TRY(set_string(&spec.name, name, "name", err));
    if (root)
        TRY(set_string(&spec.root, root, "root", err));
    if (driver)
        TRY(set_string(&spec.driver, driver, "driver", err));
    if (workload)
        TRY(set_string(&spec.workload, workload, "workload", err));
    if (device)
        TRY(set_string(&spec.device, device, "device", err));
    if (precision)
        spec.has_precision = precision_from_name(precision, &spec.precision);
    if (implementation)
        spec.has_implementation = implementation_from_name(implementation, &spec.implementation);
    spec.emulate = member_is_true(json, "emulate");
    EACH(change, json_object_get(json, "environment")) {
        if (!json_is_string(change))
            return error_set(err, STATUS_CORRUPT, "the plan's environment is not of strings");
        TRY(add_change(&spec, strdup(json_string_value(change)), err));
    }
    *ret = spec;
    spec = (struct arm_spec){0};
    return STATUS_OK;
}

enum status arm_spec_take_worker(struct arm_spec *spec, const json_t *worker, struct error *err)
{
    const enum status status =
        json_is_object(worker) ? named_worker_from_json(worker, &spec->worker, err) : STATUS_OK;

    if (status != STATUS_OK)
        arm_spec_finish(spec);
    return status;
}

json_t *arm_spec_environment(const struct arm_spec *spec, const json_t *fixed)
{
    json_t *readings = json_deep_copy(fixed);
    struct reading_list list;
    json_t *changed;

    reading_list_init(&list);
    if (spec->root)
        reading_add_text(&list, "worker.root", spec->root, "assay ab");
    if (spec->worker)
        named_worker_add_readings(spec->worker, &list);
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
