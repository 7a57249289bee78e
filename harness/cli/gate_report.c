#include "harness/cli/gate_report.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/comparison_view.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"

#define FACTORS_SHOWN 4

/* Numeric references in place of what is markup in a table of Markdown, or in XML. */
static void append_escaped(struct text *out, const char *string)
{
    struct text printable;

    text_init(&printable);
    text_append_printable(&printable, string ? string : "?", string ? strlen(string) : 1);
    for (const char *at = printable.data; at && *at; ++at) {
        if (strchr("|<>&\"'@*_`[]#~\\", *at))
            text_append_format(out, "&#%d;", *at);
        else
            text_append_char(out, *at);
    }
    out->failed = out->failed || printable.failed;
    text_finish(&printable);
}

/* What is in the column and the messages: */
static const char *heading_of(const struct gate_report *report)
{
    static const char *const headings[] = {
        [COMPARE_TIME] = "time b/a",
        [COMPARE_ATTAINMENT] = "attainment a -> b",
        [COMPARE_CAPACITY] = "capacity a -> b",
        [COMPARE_FIGURE_COUNT] = "time b/a, or attainment a -> b",
    };

    return headings[report->figure];
}

/* "0.998, 95 % interval 0.991 to 1.005", or why there is no number, and none to decide by. */
static void append_ratio(struct text *out, const struct stored_comparison *comparison)
{
    const struct estimate_interval *ratio = &comparison->numbers.ratio;
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE];
    const char *reason = comparability_why_no_evidence(comparison->judgement);

    if (!comparison->has_numbers)
        text_append(out, comparison->why.message);
    else if (comparison->figure == COMPARE_TIME)
        text_append_format(out, "%s", number_format_digits(ratio->value, 4, value));
    else
        comparison_view_append_change(out, comparison);
    if (comparison->has_numbers && comparison->figure == COMPARE_TIME && ratio->has_interval)
        text_append_format(out, ", %g %% interval %s to %s", 100 * comparison->numbers.confidence,
                           number_format_digits(ratio->lo, 4, lo),
                           number_format_digits(ratio->hi, 4, hi));
    if (reason)
        text_append_format(out, "; %s", reason);
}

static size_t count_of(const struct gate_report *report, enum gate_decision decision)
{
    size_t count = 0;

    for (size_t i = 0; i < report->count; ++i)
        count += report->rows[i].decision == decision;
    return count;
}

static void append_words(struct text *out, const char *name)
{
    for (; *name; ++name)
        text_append_char(out, *name == '_' ? ' ' : *name);
}

/* "driver (3.1 -> 6.0), libc": what the two of a comparison differ in. */
static void append_factors(struct text *out, const struct stored_comparison *comparison)
{
    const json_t *factors = json_object_get(comparison->judgement, "factors"), *factor;
    const size_t count = json_array_size(factors);

    for (size_t i = 0; i < count && i < FACTORS_SHOWN; i++) {
        struct text labels;

        factor = json_array_get(factors, i);
        text_init(&labels);
        text_append_format(out, "%s%s", i ? ", " : "", member_text(factor, "factor"));
        if (comparability_append_labels(&labels, factor) && text_ok(&labels))
            text_append_format(out, " (%s)", labels.data);
        out->failed = out->failed || labels.failed;
        text_finish(&labels);
    }
    if (count > FACTORS_SHOWN)
        text_append_format(out, " and %zu more", count - FACTORS_SHOWN);
}

/* A line for each of the answers that rows give, once where neighbours give the same. */
static void append_differences(struct text *out, const struct gate_report *report)
{
    struct text words, before;

    text_init(&words);
    text_init(&before);
    for (size_t i = 0; i < report->count; i++) {
        text_clear(&words);
        append_factors(&words, report->rows[i].comparison);
        if (words.length == 0 || (before.length > 0 && !strcmp(words.data, before.data)))
            continue;
        text_append(out, "\nBaseline and candidate differ in ");
        append_escaped(out, words.data);
        text_append(out, ".\n");
        text_clear(&before);
        text_append_bytes(&before, words.data, words.length);
    }
    out->failed = out->failed || words.failed || before.failed;
    text_finish(&words);
    text_finish(&before);
}

void gate_report_markdown(struct text *out, const struct gate_report *report)
{
    static const char *const rules[] = {
        [COMPARE_TIME] = "the candidate (b) is as fast as the baseline (a), or slower",
        [COMPARE_ATTAINMENT] =
            "of the candidate (b) as large a share of requests is within the limits as of the "
            "baseline (a), or a smaller one",
        [COMPARE_CAPACITY] = "the candidate (b) serves as many requests within the limits as the "
                             "baseline (a), or fewer",
        [COMPARE_FIGURE_COUNT] =
            "the candidate (b) is as fast as the baseline (a), and of servers as large a share of "
            "requests is within the limits, or it is worse",
    };
    struct text ratio;

    text_init(&ratio);
    text_append(out, "### assay gate: ");
    append_words(out, gate_decision_name(report->decision));
    text_append_format(
        out,
        "\n\n%zu of %zu comparisons pass: %s by no more than %.4g %s.\n\n"
        "| decision | result | %s | verdict |\n| --- | --- | --- | --- |\n",
        count_of(report, GATE_PASSES), report->count, rules[report->figure], 100 * report->margin,
        report->figure == COMPARE_ATTAINMENT ? "% of the requests" : "%", heading_of(report));
    for (size_t i = 0; i < report->count; ++i) {
        const struct gate_row *row = &report->rows[i];

        text_append(out, row->decision == GATE_PASSES ? "| " : "| **");
        append_words(out, gate_decision_name(row->decision));
        text_append(out, row->decision == GATE_PASSES ? " | " : "** | ");
        append_escaped(out, row->name);
        text_append(out, " | ");
        text_clear(&ratio);
        append_ratio(&ratio, row->comparison);
        append_escaped(out, ratio.data);
        text_append_format(out, " | %s |\n",
                           row->comparison->has_numbers ? stored_comparison_verdict(row->comparison)
                                                        : "none");
    }
    append_differences(out, report);
    text_append(out, report->b ? "\nBaseline `" : "\nArms a and b of `");
    append_escaped(out, report->a);
    if (report->b) {
        text_append(out, "`, candidate `");
        append_escaped(out, report->b);
    }
    text_append_format(
        out, "`. %sInconclusive is neither shown to hold nor to fail: measure more.\n",
        report->figure == COMPARE_TIME ? "Below 1 the candidate takes less time. " : "");
    out->failed = out->failed || ratio.failed;
    text_finish(&ratio);
}

void gate_report_junit(struct text *out, const struct gate_report *report)
{
    const size_t worse = count_of(report, GATE_WORSE);
    const size_t errors = report->count - worse - count_of(report, GATE_PASSES);
    struct text ratio;

    text_init(&ratio);
    text_append_format(out,
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<testsuites name=\"assay gate\" tests=\"%zu\" failures=\"%zu\" "
                       "errors=\"%zu\">\n<testsuite name=\"",
                       report->count, worse, errors);
    append_escaped(out, report->a);
    if (report->b) {
        text_append(out, " against ");
        append_escaped(out, report->b);
    }
    text_append_format(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n",
                       report->count, worse, errors);
    for (size_t i = 0; i < report->count; ++i) {
        const struct gate_row *row = &report->rows[i];

        text_clear(&ratio);
        append_ratio(&ratio, row->comparison);
        text_append(out, "<testcase classname=\"assay.gate\" name=\"");
        append_escaped(out, row->name);
        text_append(out, "\">");
        if (row->decision != GATE_PASSES) {
            text_append_format(out, "<%s type=\"%s\" message=\"",
                               row->decision == GATE_WORSE ? "failure" : "error",
                               gate_decision_name(row->decision));
            append_words(out, gate_decision_name(row->decision));
            text_append(out, row->comparison->figure == COMPARE_TIME ? ": time b/a " : ": ");
            append_escaped(out, ratio.data);
            text_append(out, "\"/>");
        }
        text_append(out, "</testcase>\n");
    }
    text_append(out, "</testsuite>\n</testsuites>\n");
    out->failed = out->failed || ratio.failed;
    text_finish(&ratio);
}
