/* How an estimate of another version of the analysis differs from the one that is stored. */
#include "results/evidence/verify_internal.h"

#include <string.h>

#include "harness/core/number.h"
#include "protocols/metric.h"

static double mean_of(const json_t *estimate)
{
    return json_number_value(json_object_get(
        metric_member(json_object_get(estimate, "metrics"), METRIC_ITERATION_TIME), "value"));
}

/* "metrics, findings": what two estimates differ in besides the version. */
static void append_differing(struct text *out, const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)a, name, value)
    {
        if (strcmp(name, "version") != 0 && !json_equal(value, json_object_get(b, name)))
            text_append_format(out, "%s%s", out->length ? ", " : "", name);
    }
    json_object_foreach((json_t *)b, name, value)
    {
        if (!json_object_get(a, name))
            text_append_format(out, "%s%s", out->length ? ", " : "", name);
    }
}

void verify_append_means(struct text *out, const json_t *again, const json_t *stored)
{
    const double now = mean_of(again), then = mean_of(stored);
    char a[NUMBER_SIZE], b[NUMBER_SIZE];
    struct text names;

    number_format_apart(now, then, 6, a, b);
    if (now != then) {
        text_append_format(out, "a mean of %s ns where %s ns is stored", a, b);
        return;
    }
    text_init(&names);
    append_differing(&names, again, stored);
    text_append_format(out, "the same mean, %s ns%s%s", a, names.length ? ", and differs in " : "",
                       names.length ? names.data : "");
    out->failed |= names.failed;
    text_finish(&names);
}
