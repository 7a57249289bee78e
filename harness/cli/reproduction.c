#include "harness/cli/reproduction.h"

#include <math.h>
#include <string.h>

#include "harness/cli/output.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"

const char *reproduction_verdict_name(enum reproduction_verdict verdict)
{
    static const char *const names[] = {
#define REPRODUCTION_NAME(code, value, name) name,
        REPRODUCTION_MAP(REPRODUCTION_NAME)
#undef REPRODUCTION_NAME
    };

    return names[verdict];
}

/*
 * A difference that is real but may be within the margin is neither agreement nor its opposite.
 */
static enum reproduction_verdict judge(const struct reproduction *reproduction)
{
    const struct stored_comparison *comparison = reproduction->comparison;

    if (!comparability_is_evidence(comparison->judgement))
        return REPRODUCTION_NOT_HERE;
    if (!comparison->has_numbers)
        return REPRODUCTION_INCONCLUSIVE;
    if (reproduction->numbers.verdict == COMPARE_EQUIVALENT)
        return REPRODUCTION_HELD;
    return comparison_beyond_margin(&reproduction->numbers) != 0 ? REPRODUCTION_DIFFERS
                                                                 : REPRODUCTION_INCONCLUSIVE;
}

enum status reproduction_make(struct store *store, const struct stored_comparison *comparison,
                              double margin, const json_t *ids, struct reproduction *ret,
                              struct error *err)
{
    struct reproduction made = {.comparison = comparison, .margin = margin};
    enum status status = STATUS_OK;

    if (comparison->has_numbers) {
        made.numbers = comparison->numbers;
        status = ids ? repeatability_again(store, comparison->cells, ids, &made.repeatability, err)
                     : repeatability_find(store, comparison->cells, &made.repeatability, err);
        if (status != STATUS_OK)
            return status;
        made.has_spread = made.repeatability.df > 0;
        if (made.has_spread)
            comparison_widen(&made.numbers, made.repeatability.sd_log, made.repeatability.df);
    }
    made.verdict = judge(&made);
    *ret = made;
    return STATUS_OK;
}

void reproduction_finish(struct reproduction *reproduction)
{
    if (reproduction)
        repeatability_finish(&reproduction->repeatability);
}

json_t *reproduction_json(const struct reproduction *reproduction)
{
    const bool numbers = reproduction->comparison->has_numbers;
    json_t *object = stored_comparison_json(reproduction->comparison);

    if (object &&
        json_object_set_new(
            object, "reproduce",
            json_pack(
                "{s:s, s:f, s:s, s:o, s:o, s:o}", "verdict",
                reproduction_verdict_name(reproduction->verdict), "margin", reproduction->margin,
                "rests_on", reproduction->has_spread ? "repeatability" : "trials", "ratio",
                numbers ? comparison_interval_json(&reproduction->numbers.ratio) : json_null(),
                "equivalence_interval",
                numbers ? comparison_interval_json(&reproduction->numbers.equivalence)
                        : json_null(),
                "repeatability", repeatability_json(&reproduction->repeatability))) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static void append_spread(struct text *line, const struct reproduction *reproduction)
{
    const struct repeatability *repeatability = &reproduction->repeatability;
    const struct estimate_interval *ratio = &reproduction->numbers.ratio;
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE], spread[NUMBER_SIZE];
    const int digits =
        ratio->has_interval ? 1 + number_digits(ratio->value, ratio->lo, ratio->hi) : 4;

    text_append_format(line,
                       "%zu campaigns of this under the same conditions, stored before this one, "
                       "spread by %s (standard deviation). With that",
                       repeatability->count,
                       number_format_percent(expm1(repeatability->sd_log), spread));
    if (ratio->has_interval)
        text_append_format(line, ", time b/a %s, %g %% interval [%s, %s].",
                           number_format_digits(ratio->value, digits, value),
                           reproduction->numbers.confidence * 100,
                           number_format_digits(ratio->lo, digits, lo),
                           number_format_digits(ratio->hi, digits, hi));
    else
        text_append(line, " there is still no interval: too few trials.");
}

static void append_no_spread(struct text *line, const struct reproduction *reproduction)
{
    text_append_format(
        line,
        "The interval holds how trials of one session differ, not how sessions do: "
        "that takes %d campaigns of this under the same conditions, stored before this "
        "one, and there %s %zu.",
        REPEATABILITY_NEEDED, reproduction->repeatability.most == 1 ? "is" : "are",
        reproduction->repeatability.most);
    if (reproduction->verdict == REPRODUCTION_DIFFERS)
        text_append(line, " Where this machine drifts, reproduce it again before you decide.");
}

/* The verdict in a sentence. */
static void append_headline(struct text *line, const struct reproduction *reproduction)
{
    const struct stored_comparison *comparison = reproduction->comparison;

    switch (reproduction->verdict) {
    case REPRODUCTION_HELD:
        text_append_format(line, "Reproduced: %s agrees with %s within %.3g %%.", comparison->b,
                           comparison->a, reproduction->margin * 100);
        break;
    case REPRODUCTION_DIFFERS:
        text_append_format(line, "Not reproduced: %s takes %.4g times as long as %s.",
                           comparison->b, comparison->numbers.ratio.value, comparison->a);
        break;
    case REPRODUCTION_NOT_HERE:
        text_append(line, "Not reproducible here: the two do not compare, for the reasons below");
        break;
    case REPRODUCTION_INCONCLUSIVE:
        text_append_format(line,
                           "Inconclusive: these trials neither show that %s agrees with %s nor "
                           "that it does not.",
                           comparison->b, comparison->a);
        break;
    }
}

static void append_wrapped(struct text *out, const char *indent, struct text *line)
{
    text_append(out, indent);
    output_wrapped(out, text_ok(line) ? line->data : "", strlen(indent), output_columns());
    text_finish(line);
}

void reproduction_append(struct text *out, const struct reproduction *reproduction)
{
    struct text line;

    text_init(&line);
    append_headline(&line, reproduction);
    append_wrapped(out, "", &line);
    if (!reproduction->comparison->has_numbers)
        return;
    text_init(&line);
    if (reproduction->has_spread)
        append_spread(&line, reproduction);
    else
        append_no_spread(&line, reproduction);
    append_wrapped(out, "  ", &line);
}
