/* Several comparisons as a table, with what the family says. */
#include "harness/cli/comparison_view.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "protocols/comparability.h"

/* Of the family's screening: the share of false ones among those that are named. */
#define SCREEN 0.05

/* What is to be said of each alike, such as a setting without effect; else NULL. */
static const char *common_note(const struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i].note || strcmp(c->list[i].note, c->list[0].note))
            return NULL;
    return c->list[0].note;
}

static void append_note(struct text *out, const struct campaign_comparison *c,
                        const struct stored_comparison *one)
{
    if (one->note && !common_note(c))
        text_append_format(out, "    %s\n", one->note);
}

static void append_row(struct text *out, const struct campaign_comparison *c, size_t i,
                       int name_width)
{
    const struct stored_comparison *one = &c->list[i];
    const struct comparison *numbers = &one->numbers;
    const struct estimate_interval *ratio = &numbers->ratio;
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE], interval[3 * NUMBER_SIZE] = "";

    text_append_format(out, "%2zu  %s%*s  ", i + 1, c->names[i],
                       name_width - (int)text_columns(c->names[i]), "");
    if (!one->has_numbers) {
        text_append_format(out, "%s\n", one->why.message);
        append_note(out, c, one);
        return;
    }
    if (one->figure != COMPARE_TIME) {
        comparison_view_append_change(out, one);
        text_append_format(out, "  %s\n", stored_comparison_verdict(one));
        append_note(out, c, one);
        return;
    }
    if (ratio->has_interval)
        snprintf(interval, sizeof(interval), "[%s, %s]", number_format_digits(ratio->lo, 4, lo),
                 number_format_digits(ratio->hi, 4, hi));
    text_append_format(out, "%6s %-17s  %s", number_format_digits(ratio->value, 4, value), interval,
                       compare_verdict_name(numbers->verdict));
    if (numbers->family > 1) {
        text_append(out, ", ");
        comparison_view_append_p(out, numbers);
    }
    text_append_char(out, '\n');
    append_note(out, c, one);
}

static void append_only(struct text *out, const char *id, const json_t *only)
{
    if (json_array_size(only) > 0)
        text_append_format(out, "%zu result%s of %s ha%s no match\n", json_array_size(only),
                           json_array_size(only) == 1 ? "" : "s", id,
                           json_array_size(only) == 1 ? "s" : "ve");
}

static void append_foreign_workers(struct text *out, const struct campaign_comparison *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        count += comparability_foreign_worker(c->list[i].judgement) != NULL;
    if (count > 0)
        text_append_format(out,
                           "Of %zu of the %zu comparisons another program than assay's own worker "
                           "measured a result\n",
                           count, c->count);
}

/* The labels of the factor to which comparison `i` attributes its difference; false: it has none.
 */
static bool labels_of(const struct campaign_comparison *c, size_t i, struct text *ret)
{
    text_clear(ret);
    return comparability_append_labels(
        ret, json_array_get(json_object_get(c->list[i].judgement, "factors"), 0));
}

/* " (3.1 -> 6.0)", where all comparisons have the same labels. */
static void append_common_labels(struct text *out, const struct campaign_comparison *c)
{
    struct text first, other;
    bool same;

    text_init(&first);
    text_init(&other);
    same = labels_of(c, 0, &first);
    for (size_t i = 1; i < c->count && same; i++)
        same = labels_of(c, i, &other) && !strcmp(first.data, other.data);
    if (same && text_ok(&first)) {
        text_append(out, " (");
        text_append_printable(out, first.data, first.length);
        text_append_char(out, ')');
    }
    out->failed = out->failed || first.failed || other.failed;
    text_finish(&first);
    text_finish(&other);
}

/* What all differences are attributed to, where that is one and the same. */
static void append_attribution(struct text *out, const struct campaign_comparison *c)
{
    const json_t *first = json_object_get(c->list[0].judgement, "attribution");

    for (size_t i = 1; i < c->count; i++)
        if (!json_equal(json_object_get(c->list[i].judgement, "attribution"), first))
            return;
    if (!json_is_string(first))
        return;
    text_append(out, "Attributed to: ");
    text_append_printable(out, json_string_value(first), json_string_length(first));
    append_common_labels(out, c); /* what is attributed has one factor alone */
    text_append_char(out, '\n');
}

/* "driver: 1.2 -> 1.3; ..." of the factors that differ, or were brought by what an arm sets. */
static void append_factors(struct text *out, const json_t *factors)
{
    size_t i;
    json_t *factor;

    json_array_foreach(factors, i, factor)
    {
        const char *name = member_string(factor, "factor");
        struct text labels;

        text_append(out, i ? "; " : "    differs: ");
        text_append_printable(out, name ? name : "?", strlen(name ? name : "?"));
        text_init(&labels);
        if (comparability_append_labels(&labels, factor) && text_ok(&labels)) {
            text_append(out, ": ");
            text_append_printable(out, labels.data, labels.length);
        }
        out->failed = out->failed || labels.failed;
        text_finish(&labels);
    }
    if (json_array_size(factors) > 0)
        text_append_char(out, '\n');
}

/* Of a plan of several arms: the rate of each, and what its stack has otherwise than the base's. */
static enum status append_arms(struct text *out, struct store *store,
                               const struct campaign_comparison *c, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < c->count && status == STATUS_OK; i++) {
        const struct stored_comparison *one = &c->list[i];
        const json_t *factors = json_object_get(one->judgement, "factors");
        struct comparison_arms arms;

        status = comparison_arms_load(store, one, &arms, err);
        if (status != STATUS_OK)
            break;
        if (one->pairs.places[1] == one->pairs.places[0] + 1)
            text_append_format(out, "base  %s\n", arms.words[0]);
        text_append_format(out, "%4zu  %s\n", i + 1, arms.words[1]);
        append_factors(out, json_array_size(factors) > 0
                                ? factors
                                : json_object_get(one->judgement, "brought"));
        comparison_arms_finish(&arms);
    }
    text_append_char(out, '\n');
    return status;
}

static bool has_several_arms(const struct campaign_comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].paired && c->list[i].pairs.places[1] > c->list[i].pairs.places[0] + 1)
            return true;
    return false;
}

static void append_table(struct text *out, const struct campaign_comparison *c)
{
    struct text words;
    const enum compare_figure figure = campaign_comparison_figure(c);
    size_t screened = 0, without = 0;
    double confidence = c->options.confidence;
    int width = 8;

    for (size_t i = 0; i < c->count; i++)
        if ((int)text_columns(c->names[i]) > width)
            width = (int)text_columns(c->names[i]);
    if (c->b[0])
        text_append_format(out, "a %s   b %s\n", c->a, c->b);
    else
        text_append_format(out, "%s of %s\n",
                           has_several_arms(c) ? "Arms, each against the base," : "Arms a and b",
                           c->a);
    text_append_format(out, "\n #  %-*s  %s\n", width, "result",
                       figure == COMPARE_TIME           ? "time b/a"
                       : figure == COMPARE_FIGURE_COUNT ? "time b/a, or a -> b and the change"
                                                        : "a -> b, change and its interval");
    for (size_t i = 0; i < c->count; i++)
        append_row(out, c, i, width);
    text_append_char(out, '\n');
    append_only(out, c->a, c->only[0]);
    append_only(out, c->b, c->only[1]);
    append_foreign_workers(out, c);
    append_attribution(out, c);
    if (common_note(c))
        text_append_format(out, "%s\n", common_note(c));
    text_init(&words);
    for (size_t i = 0; i < c->count; i++) {
        without += !c->list[i].has_numbers;
        if (c->list[i].has_numbers && c->list[i].figure == COMPARE_TIME &&
            c->list[i].numbers.q_difference <= SCREEN)
            text_append_format(&words, "%s%zu", screened++ ? ", " : "", i + 1);
    }
    if (c->count > 1 && figure != COMPARE_TIME && figure != COMPARE_FIGURE_COUNT) {
        text_append_format(out,
                           "Intervals are each result's own, at %g %%; worse is what is so for all "
                           "%zu together (Holm).\n",
                           confidence * 100, c->count);
    } else if (c->count > 1) {
        text_append_format(out,
                           "Intervals are each result's own, at %g %%. Verdicts and p hold for all "
                           "%zu together (Holm): a false difference among them has a chance of at "
                           "most %g %%.\n",
                           confidence * 100, c->count, (1 - confidence) * 100);
        if (without > 0)
            text_append_format(out, "Those without numbers (%zu) count in this, with p = 1.\n",
                               without);
        if (screened > 0 && text_ok(&words))
            text_append_format(out,
                               "Screening (Benjamini-Hochberg; %g %% of these by chance) finds "
                               "a difference in: %s.\n",
                               SCREEN * 100, words.data);
    }
    text_finish(&words);
}

int campaign_comparison_show(struct store *store, const struct campaign_comparison *c, bool gated,
                             bool json, bool explain)
{
    struct error err = ERROR_INIT;
    struct comparison_arms arms;
    struct text out;

    if (json)
        return output_json(campaign_comparison_json(c, gated));
    text_init(&out);
    if (has_several_arms(c) && append_arms(&out, store, c, &err) != STATUS_OK) {
        text_finish(&out);
        return command_fail_store(&err);
    }
    append_table(&out, c);
    for (size_t i = 0; explain && i < c->count; i++) {
        if (comparison_arms_load(store, &c->list[i], &arms, &err) != STATUS_OK) {
            text_finish(&out);
            return command_fail_store(&err);
        }
        text_append_format(&out, "\n%zu  %s\n", i + 1, c->names[i]);
        comparison_view_append(&out, &c->list[i], &arms, true);
        comparison_arms_finish(&arms);
    }
    return output_lines(&out);
}

int campaign_comparison_exit_status(const struct campaign_comparison *c)
{
    int worst = ASSAY_EXIT_OK;

    for (size_t i = 0; i < c->count; i++) {
        const int status = comparison_exit_status(&c->list[i]);

        if (status == ASSAY_EXIT_USAGE)
            return status;
        if (status == ASSAY_EXIT_TRIALS || (status != ASSAY_EXIT_OK && worst == ASSAY_EXIT_OK))
            worst = status;
    }
    return worst;
}
