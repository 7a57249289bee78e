#include "results/formats/format_name.h"

#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#define FORMATS_MAX 32

static void unknown(const char *name, const char *const *names, size_t count, struct error *err)
{
    const char *nearest = text_nearest(name, names, count);
    CLEANUP(text_finish) struct text all = TEXT_INIT;

    if (nearest) {
        error_set(err, STATUS_INVALID, "there is no format \"%s\"; did you mean \"%s\"?", name,
                  nearest);
        return;
    }
    for (size_t i = 0; i < count; i++)
        text_append_format(&all, "%s%s", i ? ", " : "", names[i]);
    error_set(err, STATUS_INVALID, "there is no format \"%s\"; there are %s", name,
              text_ok(&all) ? all.data : "others");
}

const void *format_name_find(const char *name, const void *table, size_t count, size_t size,
                             struct error *err)
{
    const char *names[FORMATS_MAX] = {0};

    for (size_t i = 0; i < count && i < FORMATS_MAX; i++) {
        const char *entry = (const char *)table + i * size;

        memcpy(&names[i], entry, sizeof(names[i]));
        if (!strcmp(names[i], name))
            return entry;
    }
    unknown(name, names, count < FORMATS_MAX ? count : FORMATS_MAX, err);
    return NULL;
}
