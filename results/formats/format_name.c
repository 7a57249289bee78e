#include "results/formats/format_name.h"

#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#define FORMATS_MAX 32

static enum status unknown(const char *name, const char *const *names, size_t count,
                           struct error *err)
{
    const char *nearest = text_nearest(name, names, count);
    CLEANUP(text_finish) struct text all = TEXT_INIT;

    if (nearest)
        return error_set(err, STATUS_INVALID, "there is no format \"%s\"; did you mean \"%s\"?",
                         name, nearest);
    for (size_t i = 0; i < count; i++)
        text_append_format(&all, "%s%s", i ? ", " : "", names[i]);
    error_set(err, STATUS_INVALID, "there is no format \"%s\"; there are %s", name,
              text_ok(&all) ? all.data : "others");
    return STATUS_INVALID;
}

enum status format_name_find(const char *name, const void *table, size_t count, size_t size,
                             size_t *ret, struct error *err)
{
    const char *names[FORMATS_MAX] = {0};

    for (size_t i = 0; i < count && i < FORMATS_MAX; i++) {
        memcpy(&names[i], (const char *)table + i * size, sizeof(names[i]));
        if (!strcmp(names[i], name)) {
            *ret = i;
            return STATUS_OK;
        }
    }
    return unknown(name, names, count < FORMATS_MAX ? count : FORMATS_MAX, err);
}
