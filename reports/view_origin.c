/* Which parts of a result are not from assay or this machine, by the variables that were set. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "harness/core/member.h"
#include "protocols/conduct.h"
#include "reports/view_json.h"

#define WORKER "variable.ASSAY_WORKER"
#define HOST_ROOT "variable.ASSAY_HOST_ROOT"
#define LIBRARY "variable.ASSAY_LIB_"

/* An empty value counts as not set; a withheld value was not empty. */
static bool is_set(const json_t *reading)
{
    const char *value = member_string(reading, "value");

    return reading && (!value || value[0]);
}

/* False: out of memory. The first reported value is kept. */
static bool keep(const json_t *readings, const char *name, char **ret)
{
    const json_t *reading = json_object_get(readings, name);
    const char *value = member_string(reading, "value");
    CLEANUP(text_finish) struct text text = TEXT_INIT;

    if (*ret || !is_set(reading))
        return true;
    if (value)
        text_append_printable(&text, value, strlen(value));
    else
        text_append(&text, "(withheld)");
    *ret = text_ok(&text) ? text_steal(&text) : NULL;
    return *ret != NULL;
}

/* Length of "libcuda" in "/usr/lib/libcuda.so.1", which `ret_name` then begins with. */
static size_t stem(const char *path, const char **ret_name)
{
    const char *name = file_base_name(path);
    const char *end = strstr(name, ".so");

    *ret_name = name;
    return end ? (size_t)(end - name) : strlen(name);
}

/* A file chosen for a library that was not opened has no effect. Links may have been followed. */
static bool was_mapped(const json_t *components, const char *path)
{
    const char *name, *other;
    const size_t length = stem(path, &name);

    EACH(component, components)
        if (stem(member_text(component, "path"), &other) == length &&
            strncmp(name, other, length) == 0)
            return true;
    return false;
}

/* "cuda, nvrtc": the mapped libraries for which a file was chosen. False: out of memory. */
static bool keep_libraries(json_t *readings, const json_t *components, char **ret)
{
    CLEANUP(text_finish) struct text names = TEXT_INIT;
    const char *name;
    json_t *reading;
    bool ok;

    if (*ret)
        return true;
    json_object_foreach(readings, name, reading)
    {
        if (strncmp(name, LIBRARY, strlen(LIBRARY)) != 0 || !is_set(reading) ||
            !was_mapped(components, member_text(reading, "value")))
            continue;
        text_append(&names, names.length > 0 ? ", " : "");
        for (const char *c = name + strlen(LIBRARY); *c; c++)
            if (isalnum((unsigned char)*c) || *c == '_')
                text_append_char(&names, (char)tolower((unsigned char)*c));
    }
    ok = names.length == 0 || (text_ok(&names) && (*ret = text_steal(&names)) != NULL);
    return ok;
}

bool view_origin_read(const json_t *trials, struct view_origin *ret)
{
    EACH(trial, trials) {
        /* A declared worker's, whose outputs assay compared, is as good as assay's own; one that
         * is not supported measured nothing. */
        const char *status = member_string(trial, "status");
        const bool checked =
            conduct_seen_of(json_object_get(trial, "facts")).checks == CONDUCT_CHECKS_OF_ASSAY ||
            (status && !strcmp(status, "unsupported"));
        const char *at;
        json_t *readings;

        json_object_foreach(json_object_get(trial, "environment"), at, readings)
        {
            if ((!checked && !keep(readings, WORKER, &ret->worker)) ||
                !keep(readings, HOST_ROOT, &ret->host_root) ||
                !keep_libraries(readings, json_object_get(trial, "components"), &ret->libraries))
                return false;
        }
    }
    return true;
}

void view_origin_finish(struct view_origin *origin)
{
    free(origin->worker);
    free(origin->host_root);
    free(origin->libraries);
    *origin = (struct view_origin){0};
}
