/* Which values of a protocol make sense, alone and together. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "harness/core/text.h"
#include "protocols/protocol_clauses.h"
#include "protocols/stats/days.h"

#define TELEMETRY_LEAST_NS 20000000
#define EVIDENCE_TRIALS 5 /* fewer leave the spread between processes unknown */

struct check {
    const struct protocol *protocol;
    const struct declaration *declaration;
    const char *origin;
    struct error *err;
};

/* "FILE:LINE: ..." of the first path that is written there, else of the file. */
__attribute__((format(printf, 4, 5))) static enum status
fail(const struct check *check, const char *path, const char *other, const char *format, ...)
{
    struct text what;
    va_list args;

    text_init(&what);
    va_start(args, format);
    text_append_formatv(&what, format, args);
    va_end(args);
    if (!check->declaration) {
        struct text shown;

        text_init(&shown);
        text_append_printable(&shown, what.data, what.length);
        error_set(check->err, STATUS_INVALID, "%s: %s", check->origin, shown.data);
        text_finish(&shown);
    }
    if (check->declaration)
        declaration_error(check->declaration,
                          other && !declaration_has(check->declaration, path) ? other : path,
                          check->err, "%s", what.data);
    text_finish(&what);
    return STATUS_INVALID;
}

/* "10s" of a number of nanoseconds, exactly, in the largest unit that divides it. */
static const char *duration(int64_t ns, char ret[32])
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"h", INT64_C(3600000000000)},
                 {"min", INT64_C(60000000000)},
                 {"s", 1000000000},
                 {"ms", 1000000},
                 {"us", 1000},
                 {"ns", 1}};
    size_t i = 0;

    if (ns == 0)
        return strcpy(ret, "0s");
    while (ns % units[i].ns)
        ++i;
    snprintf(ret, 32, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
    return ret;
}

static enum status check_range(const struct check *check, const struct clause *clause)
{
    const char *place = (const char *)check->protocol + clause->offset;
    char found[32], low[32], high[32];
    double real;
    int64_t integer;

    switch (clause->type) {
    case CLAUSE_INTEGER:
        memcpy(&integer, place, sizeof(integer));
        if ((double)integer >= clause->least && (double)integer <= clause->most)
            return STATUS_OK;
        return fail(check, clause->path, NULL,
                    "\"%s\" is %" PRId64 "; write a number from %.0f to %.0f", clause->path,
                    integer, clause->least, clause->most);
    case CLAUSE_DURATION:
        memcpy(&integer, place, sizeof(integer));
        if ((double)integer >= clause->least && (double)integer <= clause->most)
            return STATUS_OK;
        return fail(check, clause->path, NULL, "\"%s\" is %s; write a duration from %s to %s",
                    clause->path, duration(integer, found), duration((int64_t)clause->least, low),
                    duration((int64_t)clause->most, high));
    case CLAUSE_REAL:
        memcpy(&real, place, sizeof(real));
        if (real >= clause->least && real <= clause->most)
            return STATUS_OK;
        return fail(check, clause->path, NULL, "\"%s\" is %g; write a number from %g to %g",
                    clause->path, real, clause->least, clause->most);
    default:
        return STATUS_OK;
    }
}

static enum status check_window(const struct check *check)
{
    const struct protocol *p = check->protocol;
    char a[32], b[32];

    if (p->window_max_ns < p->window_ns)
        return fail(check, "window.max_time", "window.time",
                    "\"window.max_time\" (%s) is shorter than \"window.time\" (%s); write %s or "
                    "more",
                    duration(p->window_max_ns, a), duration(p->window_ns, b), b);
    if (p->max_samples < p->window_min_samples)
        return fail(check, "window.max_samples", "window.min_samples",
                    "\"window.max_samples\" (%" PRId64 ") is less than \"window.min_samples\" "
                    "(%" PRId64 "); write %" PRId64 " or more",
                    p->max_samples, p->window_min_samples, p->window_min_samples);
    /* Divided, since the product may overflow. */
    if (p->min_sample_ns > p->window_max_ns / p->window_min_samples)
        return fail(check, "sample.min_time", "window.min_samples",
                    "%" PRId64 " samples (\"window.min_samples\") of at least %s "
                    "(\"sample.min_time\") take longer than \"window.max_time\" (%s); write fewer "
                    "or shorter samples, or a longer limit",
                    p->window_min_samples, duration(p->min_sample_ns, a),
                    duration(p->window_max_ns, b));
    return STATUS_OK;
}

static enum status check_serving(const struct check *check)
{
    if (check->protocol->serving_requests != 1)
        return STATUS_OK;
    return fail(check, "serving.requests", NULL,
                "\"serving.requests\" is 1, which has no gap and no rate; write some hundreds or "
                "more, or 0 where no server is measured");
}

static enum status check_telemetry(const struct check *check)
{
    const struct protocol *p = check->protocol;

    if (p->telemetry_ns == 0 || p->telemetry_ns >= TELEMETRY_LEAST_NS)
        return STATUS_OK;
    return fail(check, "telemetry.interval", NULL,
                "\"telemetry.interval\" is shorter than 20ms; sampling more often disturbs what it "
                "watches, and the vendors' sensors are slower: write 50ms to 1s, or 0s for none");
}

static enum status check_evidence(const struct check *check)
{
    const struct protocol *p = check->protocol;

    if (!p->evidence)
        return STATUS_OK;
    if (p->trials < EVIDENCE_TRIALS)
        return fail(check, "trials", "evidence",
                    "\"trials\" is %" PRId64 ", but evidence needs at least %d processes to know "
                    "the spread between them; write %d or more, or \"evidence: false\"",
                    p->trials, EVIDENCE_TRIALS, EVIDENCE_TRIALS);
    if (days_in(p->spread_ns) > 1 && days_in(p->spread_ns) < DAYS_LEAST)
        return fail(check, "spread", "evidence",
                    "\"spread\" is over %" PRId64 " days, which are too few to know how days "
                    "differ; write 24h or less, %dh or more, or \"evidence: false\"",
                    days_in(p->spread_ns), 24 * DAYS_LEAST);
    if (p->verification != PROTOCOL_VERIFY_EACH_TRIAL)
        return fail(check, "verification", "evidence",
                    "\"verification\" is first_trial, but evidence compares the outputs of every "
                    "trial with the reference; write each_trial, or \"evidence: false\"");
    if (p->spot_checks == 0)
        return fail(check, "spot_checks.count", "evidence",
                    "\"spot_checks.count\" is 0, but evidence must show that what was timed was "
                    "done; write 1 or more, or \"evidence: false\"");
    if (p->required_count == 0)
        return fail(check, "required", "evidence",
                    "\"required\" is empty, but evidence must say what it was measured on; list "
                    "readings such as device.name, or write \"evidence: false\"");
    return STATUS_OK;
}

static enum status check_analysis(const struct check *check)
{
    const struct estimate_options *e = &check->protocol->estimate;

    if (!(e->confidence > 0.5 && e->confidence < 1))
        return fail(check, "analysis.confidence", NULL,
                    "\"analysis.confidence\" is %g; write a number between 0.5 and 1, 0.95 say",
                    e->confidence);
    for (size_t i = 0; i < e->percentile_count; ++i) {
        char path[64];

        snprintf(path, sizeof(path), "analysis.percentiles[%zu]", i);
        if (!(e->percentiles[i] > 0 && e->percentiles[i] < 1))
            return fail(check, path, NULL,
                        "percentile %g; write a number between 0 and 1, p99 as 0.99",
                        e->percentiles[i]);
        if (i > 0 && e->percentiles[i] <= e->percentiles[i - 1])
            return fail(check, path, NULL,
                        "percentile %g stands after %g; write them in ascending "
                        "order, each once",
                        e->percentiles[i], e->percentiles[i - 1]);
    }
    return STATUS_OK;
}

static bool is_word(const char *string, const char *allowed)
{
    return *string && string[strspn(string, allowed)] == '\0';
}

static enum status check_names(const struct check *check)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const struct protocol *p = check->protocol;

    if (!is_word(p->name, letters))
        return fail(check, "name", NULL,
                    "\"name\" is \"%s\"; write lower-case letters, digits, _, "
                    ". and - only",
                    p->name);
    for (size_t i = 0; i < p->required_count; ++i) {
        char path[64];

        snprintf(path, sizeof(path), "required[%zu]", i);
        if (!is_word(p->required[i], letters))
            return fail(check, path, NULL,
                        "\"%s\" is no name of a reading; write one such as "
                        "device.name",
                        p->required[i]);
        for (size_t j = 0; j < i; ++j)
            if (!strcmp(p->required[i], p->required[j]))
                return fail(check, path, NULL, "\"%s\" is required twice; take one out",
                            p->required[i]);
    }
    return STATUS_OK;
}

enum status protocol_check(const struct protocol *protocol, const struct declaration *declaration,
                           const char *origin, struct error *err)
{
    const struct check check = {protocol, declaration, origin, err};

    TRY(check_names(&check));
    TRY(check_analysis(&check));
    for (size_t i = 0; i < protocol_clause_count; ++i)
        TRY(check_range(&check, &protocol_clauses[i]));
    TRY(check_window(&check));
    TRY(check_serving(&check));
    TRY(check_telemetry(&check));
    return check_evidence(&check);
}
