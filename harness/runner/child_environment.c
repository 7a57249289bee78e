#include "harness/runner/child_environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/process.h"

static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");

    return length == strcspn(b, "=") && !strncmp(a, b, length);
}

/* Replaces, adds or removes one variable; `list` has room for one more and its end. */
static bool apply(char **list, size_t *count, const char *change)
{
    size_t at = 0;
    char *copy = NULL;

    while (at < *count && !same_name(list[at], change))
        at++;
    if (strchr(change, '=')) {
        copy = strdup(change);
        if (!copy)
            return false;
    }
    if (at < *count) {
        free(list[at]);
        if (copy)
            list[at] = copy;
        else
            list[at] = list[--*count];
    } else if (copy) {
        list[(*count)++] = copy;
    }
    list[*count] = NULL;
    return true;
}

enum status child_environment_build(char *const *changes, char ***ret, struct error *err)
{
    size_t have = 0, more = 1, count = 0;
    bool ok = true;
    char **list;

    while (environ[have])
        have++;
    while (changes && changes[more - 1])
        more++;
    list = calloc(have + more + 1, sizeof(*list));
    for (size_t i = 0; list && i < have && ok; i++) {
        list[count] = strdup(environ[i]);
        ok = list[count] != NULL;
        count += ok;
    }
    ok = ok && list && apply(list, &count, "ASSAY_WORKER_PROTOCOL=2");
    for (size_t i = 0; ok && changes && changes[i]; i++)
        ok = apply(list, &count, changes[i]);
    if (!ok) {
        process_free_words(list);
        return error_no_memory(err);
    }
    *ret = list;
    return STATUS_OK;
}

static bool has_name(char *const *list, const char *variable)
{
    for (size_t i = 0; list && list[i]; i++)
        if (same_name(list[i], variable))
            return true;
    return false;
}

enum status child_environment_add_defaults(char *const *changes, const char *const *defaults,
                                           size_t count, char ***list, struct error *err)
{
    size_t have = 0;
    char **grown;

    while ((*list)[have])
        have++;
    grown = realloc(*list, (have + count + 1) * sizeof(*grown));
    if (!grown)
        return error_no_memory(err);
    *list = grown;
    for (size_t i = 0; i < count; i++)
        if (!has_name(grown, defaults[i]) && !has_name(changes, defaults[i]) &&
            !apply(grown, &have, defaults[i]))
            return error_no_memory(err);
    return STATUS_OK;
}
