#include "protocols/serving/trace_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "protocols/stats/order.h"

/* Seconds up to the year 2255; what is beyond them is an epoch in another unit. */
#define SECONDS_MAX 9e9
/*
 * Median gaps, in seconds, from which numbers without a unit are asked for one. Who recorded whole
 * seconds of a service that is worth a benchmark has gaps of 0, 1 and 2; fractions say that
 * somebody thought of them as seconds.
 */
#define WHOLE_GAP_MAX 3.0
#define FRACTION_GAP_MAX 10.0

static const struct unit {
    const char *name, *words;
    int64_t ns;
} units[] = {{"s", "seconds", 1000000000},
             {"ms", "milliseconds", 1000000},
             {"us", "microseconds", 1000},
             {"ns", "nanoseconds", 1}};

static const struct unit *find_unit(const char *name)
{
    for (size_t i = 0; name && i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(units[i].name, name))
            return &units[i];
    return NULL;
}

/* ---- one time ---- */

/* Digits after the point as nanoseconds, and what may follow them; those beyond nine are cut. */
static bool parse_fraction(const char *text, int64_t *ret)
{
    int64_t ns = 0;
    int digits = 0;

    for (text++; *text >= '0' && *text <= '9'; text++, digits++)
        if (digits < 9)
            ns = ns * 10 + (*text - '0');
    for (int i = digits; i < 9; i++)
        ns *= 10;
    *ret = ns;
    return digits > 0 && (!*text || !strcmp(text, "Z") || !strcmp(text, "+00:00"));
}

static bool parse_moment(const char *text, int64_t *ret)
{
    const char *point = strchr(text, '.'), *zone = strstr(text, "+00:00");
    size_t length = point ? (size_t)(point - text) : zone ? (size_t)(zone - text) : strlen(text);
    char head[32];
    int64_t fraction = 0;

    if (length >= sizeof(head) || !strchr(text, '-'))
        return false;
    memcpy(head, text, length);
    head[length] = '\0';
    if (point && (length < 19 || !parse_fraction(point, &fraction)))
        return false;
    if (!text_parse_moment_ns(head, 0, ret))
        return false;
    *ret += fraction;
    return true;
}

/* Whole numbers exactly: those of nanoseconds since 1970 are beyond what a double holds. */
static bool parse_number(struct trace_time *time, const char *text, int64_t *ret)
{
    const struct unit *unit = find_unit(time->unit ? time->unit : "s");
    int64_t whole;
    double number;

    if (!unit || !text_parse_double(text, &number) ||
        !(fabs(number) < SECONDS_MAX * (1e9 / (double)unit->ns)))
        return false;
    if (text_parse_i64(text, &whole))
        return !__builtin_mul_overflow(whole, unit->ns, ret);
    time->has_fractions = true;
    *ret = llround(number * (double)unit->ns);
    return true;
}

bool trace_time_parse(struct trace_time *time, const char *text, int64_t *ret_ns)
{
    if (time->form != TRACE_TIME_NUMBER && !time->unit && parse_moment(text, ret_ns)) {
        time->form = TRACE_TIME_MOMENT;
        return true;
    }
    if (time->form == TRACE_TIME_MOMENT || !parse_number(time, text, ret_ns))
        return false;
    time->form = TRACE_TIME_NUMBER;
    return true;
}

const char *trace_time_expected(const struct trace_time *time, const char *text)
{
    int64_t ns;
    double number;

    if (time->unit && parse_moment(text, &ns))
        return "is a moment, and the declared `unit` is for numbers; remove `unit`";
    if (time->unit)
        return "is not a number of the declared `unit`, like the rows above it";
    if (time->form == TRACE_TIME_MOMENT || !text_parse_double(text, &number))
        return "is not a time as in \"2023-11-16 18:17:03.98\" or seconds, like the rows above it";
    if (fabs(number) < 1e14)
        return "looks like milliseconds since 1970: declare `unit: ms` beside `columns`";
    if (fabs(number) < 1e17)
        return "looks like microseconds since 1970: declare `unit: us` beside `columns`";
    return "looks like nanoseconds since 1970: declare `unit: ns` beside `columns`";
}

/* ---- all of them ---- */

/* Of the gaps above 0, of which there is one; -1: no memory. */
static int64_t median_gap(const struct scheduled_request *requests, size_t count)
{
    int64_t *gaps = malloc(count * sizeof(*gaps)), median;
    size_t used = 0;

    if (!gaps)
        return -1;
    for (size_t i = 1; i < count; i++)
        if (requests[i].at_ns > requests[i - 1].at_ns)
            gaps[used++] = requests[i].at_ns - requests[i - 1].at_ns;
    order_sort(gaps, used);
    median = gaps[(used - 1) / 2]; /* the lower one of two */
    free(gaps);
    return median;
}

/* The unit that the column's name has: "arrival_ms", "milliseconds"; NULL: none. */
static const struct unit *unit_of_name(const char *name)
{
    const char *underscore = strrchr(name, '_');

    /* From the last, since all their names end as that of the first. */
    for (size_t i = sizeof(units) / sizeof(units[0]); i > 0; i--)
        if ((underscore && !strcmp(underscore + 1, units[i - 1].name)) ||
            text_ends_in(name, units[i - 1].words))
            return &units[i - 1];
    return NULL;
}

enum status trace_time_check(const struct trace_time *time,
                             const struct scheduled_request *requests, size_t count,
                             const char *origin, struct error *err)
{
    const struct unit *named = unit_of_name(time->column), *likely;
    const double most = time->has_fractions ? FRACTION_GAP_MAX : WHOLE_GAP_MAX;
    int64_t median;
    double gap;

    if (time->unit || time->form != TRACE_TIME_NUMBER || (named && !strcmp(named->name, "s")))
        return STATUS_OK;
    if (named)
        return error_set(err, STATUS_INVALID,
                         "%s: by the name of the column '%s' its times are %s: declare `unit: %s` "
                         "beside `columns` (without a unit they are seconds)",
                         origin, time->column, named->words, named->name);
    median = median_gap(requests, count);
    if (median < 0)
        return error_no_memory(err);
    gap = (double)median / 1e9;
    if (gap < most)
        return STATUS_OK;
    likely = find_unit(gap < 5e3 ? "ms" : gap < 5e6 ? "us" : "ns");
    return error_set(err, STATUS_INVALID,
                     "%s: times look like %s (median gap %.6g, last %.10g): declare `unit: %s` "
                     "beside `columns`, or `unit: s` where they are seconds",
                     origin, likely->words, gap, (double)requests[count - 1].at_ns / 1e9,
                     likely->name);
}
