#include "results/analysis/varied.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"

/* What a planned cell's "spec" sets for its worker; borrowed from there. */
struct arm {
    const char *root, *driver; /* NULL: none */
    const char *changes[VARIED_VARIABLES_MAX];
    size_t change_count;
};

static enum status read_arm(const json_t *cell, struct arm *ret, struct error *err)
{
    const json_t *spec = json_object_get(cell, "spec");

    ret->root = member_string(spec, "root");
    ret->driver = member_string(spec, "driver");
    EACH(change, json_object_get(spec, "environment")) {
        if (!json_is_string(change))
            return error_set(err, STATUS_CORRUPT, "the plan's environment is not of strings");
        if (change_at == VARIED_VARIABLES_MAX)
            return error_set(err, STATUS_CORRUPT, "the plan has more than %d variables in one arm",
                             VARIED_VARIABLES_MAX);
        ret->changes[ret->change_count++] = json_string_value(change);
    }
    return STATUS_OK;
}

static bool has_change(const struct arm *arm, const char *change)
{
    for (size_t i = 0; i < arm->change_count; i++)
        if (!strcmp(arm->changes[i], change))
            return true;
    return false;
}

static void vary(json_t *varied, const char *const *patterns, const char *factor)
{
    for (; *patterns; patterns++)
        json_object_set_new(varied, *patterns, json_string(factor));
}

static bool is_named(const json_t *names, const char *change)
{
    const size_t length = strcspn(change, "=");

    EACH(name, names)
        if (json_string_length(name) == length && !strncmp(json_string_value(name), change, length))
            return true;
    return false;
}

static bool is_variable(const char *change, const char *name)
{
    const size_t length = strlen(name);

    return strcspn(change, "=") == length && !strncmp(change, name, length);
}

/* A variable that chooses a library, the compiler or the driver is that factor; NULL: another. */
static char *factor_of_choice(const struct arm *arm, const char *change)
{
    if (!strncmp(change, "ASSAY_LIB_", 10))
        return text_format("library %.*s", (int)strcspn(change, "=") - 10, change + 10);
    if (arm->driver &&
        (is_variable(change, "OCL_ICD_VENDORS") || is_variable(change, "LD_LIBRARY_PATH")))
        return strdup("driver");
    return is_variable(change, "ASSAY_CC") ? strdup("compiler") : NULL;
}

/*
 * Variables that only one arm sets so. Together they are one factor, since a choice may take
 * several; those by which `driver=` chooses are the driver. A variable may change everything that
 * is loaded because of it, and the choice of a compiler what it compiles to.
 */
static enum status vary_changes(json_t *varied, const struct arm arms[2], struct error *err)
{
    static const char *const stack[] = {
        "library.*",         "compiler.*",       "driver.*",       "pocl.*",   "icd.*",  "device.*",
        "kernel.*.compiler", "kernel.*.options", "kernel.*.lanes", "choice.*", "gemm.*", NULL};
    static const char *const compiler[] = {"compiler.*",       "library.*",
                                           "device.compiler*", "device.threads.*",
                                           "device.fp*",       "kernel.*.compiler",
                                           "kernel.*.options", "kernel.*.lanes",
                                           "choice.*",         NULL};
    json_auto_t *names = json_array();
    bool failed = !names;
    struct text together = TEXT_INIT;
    size_t i;

    for (size_t k = 0; k < 2; k++) {
        for (i = 0; i < arms[k].change_count; i++) {
            const char *change = arms[k].changes[i];
            AUTO_FREE char *factor = NULL, *pattern = NULL;

            if (has_change(&arms[1 - k], change))
                continue;
            factor = factor_of_choice(&arms[k], change);
            pattern = text_format("variable.%.*s", (int)strcspn(change, "="), change);
            if (factor && pattern) {
                json_object_set_new(varied, pattern, json_string(factor));
                vary(varied, strcmp(factor, "compiler") ? stack : compiler, factor);
            } else if (!is_named(names, change)) {
                json_array_append_new(names, json_stringn(change, strcspn(change, "=")));
            }
            failed |= !pattern;
        }
    }
    text_append(&together, json_array_size(names) > 1 ? "variables" : "variable");
    EACH(name, names)
        text_append_format(&together, "%s %s", name_at ? "," : "", json_string_value(name));
    EACH(name, names) {
        AUTO_FREE char *pattern = text_format("variable.%s", json_string_value(name));

        failed |= !pattern || !text_ok(&together) ||
                  json_object_set_new(varied, pattern, json_string(together.data));
    }
    for (i = 0; !failed && json_array_size(names) > 0 && stack[i]; i++)
        if (!json_object_get(varied, stack[i])) /* a library that is chosen brings them itself */
            json_object_set_new(varied, stack[i], json_string(together.data));
    text_finish(&together);
    return failed ? error_no_memory(err) : STATUS_OK;
}

/* Does this member of the planned cells differ? Both lack it: no. */
static bool differs(const json_t *a, const json_t *b, const char *key)
{
    const json_t *one = json_object_get(a, key), *other = json_object_get(b, key);

    return one && other ? !json_equal(one, other) : one != other;
}

enum status varied_of_arms(const json_t *a, const json_t *b, json_t **ret, struct error *err)
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
    /* A framework brings its own kernels and libraries, and what it says of them. */
    static const char *const worker[] = {
        "worker.*",        "framework.*", "identity.implementation",
        "identity.origin", "kernel.*",    "jit.*",
        "library.*",       "compiler.*",  "choice.*",
        "gemm.*",          "attention.*", NULL};
    struct arm arms[2] = {{0}, {0}};
    json_auto_t *varied = json_object();

    TRY(read_arm(a, &arms[0], err));
    TRY(read_arm(b, &arms[1], err));
    TRY(vary_changes(varied, arms, err)); /* first: what is named itself replaces it */
    if (differs(a, b, "workload_digest"))
        vary(varied, workload, "workload");
    if (!text_same(arms[0].root, arms[1].root))
        vary(varied, root, "root directory");
    if (differs(a, b, "device"))
        vary(varied, device, "device");
    if (differs(a, b, "precision"))
        vary(varied, precision, "precision");
    if (differs(a, b, "worker"))
        vary(varied, worker, "worker");
    else if (differs(a, b, "implementation"))
        vary(varied, implementation, "implementation");
    if (differs(a, b, "emulate"))
        vary(varied, emulation, "emulation");
    *ret = json_incref(varied);
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
    EACH(field, fields) {
        const char *name = member_string(field, "field");
        const char *class = member_string(field, "class");

        if (name && class && strcmp(class, "nuisance") != 0 && !is_aside(name) &&
            !json_equal(json_object_get(field, "a"), json_object_get(field, "b")))
            return true;
    }
    return false;
}

enum status varied_without_effect(const json_t *varied, const json_t *judgement, char **ret,
                                  struct error *err)
{
    struct text names = TEXT_INIT;
    const char *pattern;
    json_t *factor;
    size_t count = 0;
    bool cc = false;

    *ret = NULL;
    if (has_other_difference(json_object_get(judgement, "fields")))
        return STATUS_OK;
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
    return count == 0 || *ret ? STATUS_OK : error_no_memory(err);
}
