#include "protocols/same_stack.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"

#define VARIABLE "variable."
#define COMPILED "jit."

/* PoCL's own plug-ins are in a folder of that name, as its cache of compiled kernels may be. */
static bool is_compiled_kernel(const char *path, const char *base)
{
    return strstr(path, "/kcache/") || strstr(path, "/.cache/") ||
           (strstr(path, "/pocl/") && strncmp(base, "libpocl-", strlen("libpocl-")) != 0);
}

bool same_stack_name(const json_t *component, char ret[SAME_STACK_NAME_SIZE],
                     const json_t **ret_value)
{
    static const char *const instead[] = {"build_id", "version"};
    const char *path = member_string(component, "path"), *kind = member_string(component, "kind");
    const json_t *value = json_object_get(component, "sha256");
    const char *base = path ? strrchr(path, '/') : NULL, *family = "library", *end;

    if (!base)
        return false;
    base++;
    end = strstr(base, ".so");
    if (kind && strcmp(kind, "library") && strcmp(kind, "executable")) {
        /* Files that belong to PoCL change with PoCL, and are not a separate factor. */
        family = strstr(path, "/share/pocl/") ? "pocl" : kind;
        end = strcmp(kind, "driver") ? NULL : strstr(base, ".ko");
        for (size_t i = 0; i < 2 && !json_is_string(value); i++)
            value = json_object_get(component, instead[i]);
    } else if (is_compiled_kernel(path, base)) {
        family = "jit";
    }
    if (!end)
        end = base + strlen(base);
    snprintf(ret, SAME_STACK_NAME_SIZE, "%.30s.%.*s", family,
             end - base > 255 ? 255 : (int)(end - base), base);
    *ret_value = json_is_string(value) ? value : NULL;
    return true;
}

/* Whether a reading is of a variable that a measurement depends on. */
static bool is_setting(const char *reading)
{
    const char *name = reading + strlen(VARIABLE);

    if (strncmp(reading, VARIABLE, strlen(VARIABLE)) != 0)
        return false;
    return strncmp(name, "ASSAY_", 6) != 0 || !strncmp(name, "ASSAY_LIB_", 10) ||
           !strcmp(name, "ASSAY_CC");
}

/* Readings of the host that differ between two machines, or two settings of one. */
static bool is_of_machine(const char *reading)
{
    static const char *const names[] = {
        "host.name",       "host.architecture",    "host.cpu.model",  "host.cpu.online",
        "host.cpu.usable", "host.machine.product", "host.numa.nodes", "host.kernel.release"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(reading, names[i]))
            return true;
    return false;
}

/* A value for the message; of a digest, its first 16 digits. */
static void tell(char ret[256], const char *value, bool is_file)
{
    if (is_file)
        snprintf(ret, 256, "%.16s", value);
    else
        snprintf(ret, 256, value ? "\"%.200s\"" : "not set", value);
}

static enum status other(const char *what, const char *name, const char *first, const char *later,
                         struct error *err)
{
    char was[256], is[256];
    const bool is_file = strcmp(what, "variable") != 0;

    tell(was, first, is_file);
    tell(is, later, is_file);
    return error_set(err, STATUS_INVALID,
                     "the %s %s was %s in the first trial and is %s in a later one: trials of two "
                     "stacks do not make one result",
                     what, name, was, is);
}

/* A variable of one that is another in the other. */
static enum status check_variables(const json_t *a, const json_t *b, bool swapped,
                                   struct error *err)
{
    const char *name;
    json_t *reading;

    json_object_foreach((json_t *)a, name, reading)
    {
        const json_t *there = json_object_get(b, name);
        const char *one = member_string(reading, "value"), *two = member_string(there, "value");

        if (is_setting(name) && one && (!there || (two && strcmp(one, two) != 0)))
            return other("variable", name + strlen(VARIABLE), swapped ? two : one,
                         swapped ? one : two, err);
    }
    return STATUS_OK;
}

/* {"library.libc": {digest: true, ..}, ..}; a content that is not known is "". NULL: no memory. */
static json_t *files_of(const json_t *components)
{
    json_t *files = json_object();
    char name[SAME_STACK_NAME_SIZE];
    const json_t *value;

    EACH(component, components) {
        json_t *contents;

        if (!same_stack_name(component, name, &value) || !strncmp(name, COMPILED, strlen(COMPILED)))
            continue;
        contents = json_object_get(files, name);
        if (!contents && json_object_set_new(files, name, contents = json_object()) < 0)
            goto failed;
        if (json_object_set_new(contents, value ? json_string_value(value) : "", json_true()) < 0)
            goto failed;
    }
    return files;
failed:
    json_decref(files);
    return NULL;
}

/* A content of `a` that `b` lacks; NULL: none, or one of them is not known. */
static const char *lacking(const json_t *a, const json_t *b)
{
    const char *digest, *found = NULL;
    json_t *value;

    json_object_foreach((json_t *)a, digest, value)
    {
        if (!*digest || json_object_get(b, ""))
            return NULL;
        if (!found && !json_object_get(b, digest))
            found = digest;
    }
    return found;
}

static bool is_known(const json_t *value)
{
    return json_is_string(value) || json_is_number(value);
}

static void tell_value(char ret[64], const json_t *value)
{
    if (json_is_integer(value))
        snprintf(ret, 64, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(ret, 64, "\"%.60s\"", json_is_string(value) ? json_string_value(value) : "?");
}

/* What both know of their machines. */
static enum status check_machine(const json_t *first, const json_t *later, struct error *err)
{
    const char *name;
    json_t *reading;

    json_object_foreach((json_t *)first, name, reading)
    {
        const json_t *was = json_object_get(reading, "value");
        const json_t *is = member_in(later, name, "value");
        char old[64], new[64];

        if (!is_of_machine(name) || !is_known(was) || !is_known(is) || json_equal(was, is))
            continue;
        tell_value(old, was);
        tell_value(new, is);
        return error_set(err, STATUS_INVALID,
                         "%s was %s in the first trial and is %s in a later one: trials of two "
                         "machines do not make one result",
                         name, old, new);
    }
    return STATUS_OK;
}

static enum status check_files(const json_t *first, const json_t *later, struct error *err)
{
    json_t *were = files_of(first), *are = files_of(later), *contents;
    enum status status = were && are ? STATUS_OK : error_no_memory(err);
    const char *name;

    json_object_foreach(were, name, contents)
    {
        const json_t *there = json_object_get(are, name);
        const char *was = lacking(contents, there), *is = lacking(there, contents);

        if (status == STATUS_OK && was && is)
            status = other("file", name, was, is, err);
    }
    json_decref(were);
    json_decref(are);
    return status;
}

enum status same_stack_check(const json_t *first, const json_t *later, struct error *err)
{
    const json_t *was = member_in(first, "environment", "host");
    const json_t *is = member_in(later, "environment", "host");

    if (was && is) {
        TRY(check_machine(was, is, err));
        TRY(check_variables(was, is, false, err));
        TRY(check_variables(is, was, true, err));
    }
    if (json_object_get(first, "components") != json_object_get(later, "components"))
        TRY(check_files(json_object_get(first, "components"), json_object_get(later, "components"),
                        err));
    return STATUS_OK;
}

static bool is_ok(const json_t *trial)
{
    const char *status = member_string(trial, "status");

    return status && !strcmp(status, "ok");
}

json_t *same_stack_first(const json_t *trials)
{

    EACH(trial, trials) {
        if (is_ok(trial))
            return trial;
    }
    return NULL;
}

enum status same_stack_check_all(const json_t *trials, struct error *err)
{
    const json_t *first = same_stack_first(trials);

    EACH(trial, trials) {
        if (trial != first && is_ok(trial))
            TRY(same_stack_check(first, trial, err));
    }
    return STATUS_OK;
}
