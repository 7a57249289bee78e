#include "protocols/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/text.h"

struct scale {
    const char *name;
    double factor;
};

static const struct scale times[] = {{"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3},
                                     {"ms", 1e6}, {"s", 1e9},  {NULL, 0}};
static const struct scale shares[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};
static const struct scale prefixes[] = {{"k", 1e3},         {"M", 1e6},  {"G", 1e9},   {"T", 1e12},
                                        {"P", 1e15},        {"E", 1e18}, {"m", 1e-3},  {"u", 1e-6},
                                        {"\xc2\xb5", 1e-6}, {"n", 1e-9}, {"p", 1e-12}, {NULL, 0}};

static double factor_named(const struct scale *scales, const char *name)
{
    while (scales->name && strcmp(scales->name, name) != 0)
        scales++;
    return scales->factor;
}

/* Of "GB/s" or "k tokens/s", where `unit` is "B/s" or "tokens/s"; 0: another unit. */
static double factor_prefixed(const char *written, const char *unit)
{
    if (!strcmp(written, unit))
        return 1;
    for (const struct scale *prefix = prefixes; prefix->name; prefix++) {
        const size_t length = strlen(prefix->name);

        if (!strncmp(written, prefix->name, length) &&
            !strcmp(written + length + (written[length] == ' '), unit))
            return prefix->factor;
    }
    return 0;
}

static double factor_of(const char *written, enum metric_id metric, const char *unit)
{
    const char *known = unit ? unit : metrics[metric].unit;

    if (metrics[metric].kind == METRIC_KIND_TIME)
        return factor_named(times, written);
    if (metrics[metric].kind == METRIC_KIND_RATIO)
        return factor_named(shares, written);
    /* Until the workload is known, that a unit is there. */
    return strchr(known, '{') ? written[0] != '\0' : factor_prefixed(written, known);
}

enum status quantity_read(const char *text, enum metric_id metric, const char *unit, double *ret,
                          struct error *err)
{
    const size_t digits = strcspn(text, " ");
    const char *rest = text + digits, *known = unit ? unit : metrics[metric].unit;
    const char *wanted = metrics[metric].kind == METRIC_KIND_TIME    ? "ns, us, ms or s"
                         : metrics[metric].kind == METRIC_KIND_RATIO ? "nothing, or %"
                         : strchr(known, '{') ? "that of the metric, such as tokens/s"
                                              : known;
    char number[64];
    double value, factor;

    snprintf(number, sizeof(number), "%.*s", (int)digits, text);
    if (digits >= sizeof(number) || !text_parse_double(number, &value) || !(value > 0))
        return error_set(err, STATUS_INVALID,
                         "\"%s\" is not a figure: write a positive number without thousands "
                         "separators, a blank and its unit (%s)",
                         text, wanted);
    rest += *rest == ' ';
    factor = factor_of(rest, metric, unit);
    if (factor <= 0)
        return error_set(err, STATUS_INVALID, "\"%s\" %s: %s is written with %s", text,
                         *rest ? "has another unit" : "has no unit", metrics[metric].id, wanted);
    *ret = value * factor;
    if (!isfinite(*ret))
        return error_set(err, STATUS_INVALID, "\"%s\" is beyond all numbers: write a smaller one",
                         text);
    if (metric == METRIC_ATTAINMENT && *ret > 1)
        return error_set(err, STATUS_INVALID,
                         "\"%s\" is more than all requests: write a share up to 100 %%, such as 95 "
                         "%% or 0.95",
                         text);
    return STATUS_OK;
}
