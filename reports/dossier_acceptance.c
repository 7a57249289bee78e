/* What contracts came to by these results, as recorded by `assay accept`: the newest of each. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/acceptance.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/stats/distribution.h"
#include "reports/dossier_internal.h"
#include "reports/escape.h"
#include "reports/plot.h"
#include "reports/view.h"
#include "results/analysis/acceptance.h"

static const struct verdict {
    const char *name, *words, *class_name;
} verdicts[] = {{"accepted", "Accepted", "good"},
                {"rejected", "Rejected", "bad"},
                {"inconclusive", "Inconclusive: neither shown to hold nor to fail", "care"}};

static const struct verdict *verdict_of(const char *name)
{
    size_t i = 0;

    while (i < 2 && (!name || strcmp(verdicts[i].name, name) != 0))
        i++;
    return &verdicts[i];
}

static struct number_unit unit_of(const json_t *item)
{
    struct metric_value value = {.value = json_number_value(json_object_get(item, "declared"))};

    snprintf(value.unit, sizeof(value.unit), "%s", member_text(item, "unit"));
    return view_metric_unit(metric_find(member_text(item, "metric")), &value);
}

static void append_figure(struct text *out, const json_t *number, const struct number_unit *unit)
{
    char shown[NUMBER_SIZE];

    if (!json_is_number(number)) {
        text_append(out, "unknown");
        return;
    }
    text_append(out, number_format_digits(json_number_value(number) / unit->factor, 5, shown));
    text_append_char(out, ' ');
    escape_html(out, unit->name);
}

/* "951.2 GFLOP/s (alpha 0.05)" */
static void append_level(struct text *out, const json_t *item, const char *level, const char *risk,
                         const struct number_unit *unit)
{
    text_append_format(out, "<td class=\"num\" data-name=\"%s\">", level);
    append_figure(out, json_object_get(item, level), unit);
    text_append_format(out, " <span class=\"soft\">(%s %g)</span></td>", risk,
                       json_number_value(json_object_get(item, risk)));
}

/* `name` heads the value where a narrow screen has no heads of columns. */
static void append_column(struct text *out, const char *name, const json_t *number,
                          const struct number_unit *unit)
{
    text_append_format(out, "<td class=\"num\" data-name=\"%s\">", name);
    append_figure(out, number, unit);
    text_append(out, "</td>");
}

static void append_verdict(struct text *out, const json_t *object)
{
    const char *reason = member_string(object, "reason");

    text_append(out, "<b>");
    html_known(out, member_string(object, "verdict"));
    text_append(out, "</b>");
    if (reason) {
        text_append(out, ": ");
        escape_html(out, acceptance_reason_words(reason));
    }
    text_append(out, "</td></tr>\n");
}

/* A row of each unit; of a fleet, whose units are several, one more for all of them. */
static void append_item(struct text *out, const struct view *view, const json_t *contract,
                        const json_t *item, size_t index)
{
    const json_t *declared = json_array_get(json_object_get(contract, "items"), index);
    const json_t *units = json_object_get(item, "units"), *unit;
    const struct number_unit scale = unit_of(item);
    size_t i;

    json_array_foreach(units, i, unit)
    {
        text_append_format(out, "<tr><td>%zu. ", index + 1);
        html_known(out, member_string(json_object_get(declared, "cell"), "workload"));
        text_append_char(out, ' ');
        html_known(out, member_string(item, "metric"));
        text_append(out, "<br>");
        html_result(out, view, member_string(unit, "result"));
        text_append(out, "</td>");
        append_level(out, item, "declared", "alpha", &scale);
        append_level(out, item, "limiting", "beta", &scale);
        append_column(out, "measured", json_object_get(unit, "value"), &scale);
        append_column(out, "no better than", json_object_get(unit, "best"), &scale);
        append_column(out, "no worse than", json_object_get(unit, "worst"), &scale);
        text_append_format(out, "<td class=\"num\" data-name=\"trials\">%lld</td><td>",
                           (long long)json_integer_value(json_object_get(unit, "trials")));
        append_verdict(out, unit);
    }
    if (json_is_object(json_object_get(declared, "units"))) {
        text_append_format(
            out, "<tr><td>%zu. all %zu units</td><td colspan=\"7\">%lld rejected, %lld open: ",
            index + 1, json_array_size(units),
            (long long)json_integer_value(json_object_get(item, "rejected")),
            (long long)json_integer_value(json_object_get(item, "inconclusive")));
        append_verdict(out, item);
    }
}

/*
 * The spread between trials of the units, on a log scale: of each, what its bound `best` was made
 * of (acceptance_judge), pooled. NAN: no unit has bounds.
 */
static double spread_of(const json_t *item, uint64_t *ret_trials)
{
    const double alpha = json_number_value(json_object_get(item, "alpha"));
    const json_t *units = json_object_get(item, "units"), *unit;
    double squares = 0;
    size_t i, count = 0;

    json_array_foreach(units, i, unit)
    {
        const double trials = json_number_value(json_object_get(unit, "trials")),
                     value = json_number_value(json_object_get(unit, "value")),
                     best = json_number_value(json_object_get(unit, "best"));

        if (!(trials >= 2) || !(value > 0) || !(best > 0) || best == value)
            continue;
        squares += pow(log(best / value) / student_quantile(1 - alpha, trials - 1), 2) * trials;
        *ret_trials = count++ ? (uint64_t)fmin((double)*ret_trials, trials) : (uint64_t)trials;
    }
    return count ? sqrt(squares / (double)count) : NAN;
}

#define CURVE_POINTS 41

/* The operating characteristic: what the test says of each true figure, with the measured spread.
 */
static void append_characteristic(struct text *out, const json_t *body, const json_t *item,
                                  size_t index)
{
    const struct acceptance_rule rule = {
        .declared = json_number_value(json_object_get(item, "declared")),
        .limiting = json_number_value(json_object_get(item, "limiting")),
        .alpha = json_number_value(json_object_get(item, "alpha")),
        .beta = json_number_value(json_object_get(item, "beta")),
        .at_most = json_number_value(json_object_get(item, "declared")) <
                   json_number_value(json_object_get(item, "limiting"))};
    const struct number_unit unit = unit_of(item), percent = {0.01, "%"};
    const char *digest = member_string(body, "contract_sha256");
    struct plot_point accepted[CURVE_POINTS], rejected[CURVE_POINTS], levels[4];
    const struct plot_curve curves[] = {{"accepted", 1, true, false, accepted, CURVE_POINTS},
                                        {"rejected", 5, true, false, rejected, CURVE_POINTS},
                                        {NULL, PLOT_ACCENT, false, true, levels, 4}};
    struct acceptance_chances chances;
    char id[40], words[256];
    uint64_t trials = 0;
    const double spread = spread_of(item, &trials);
    struct plot_xy plot = {.heading = "Operating characteristic",
                           .description = words,
                           .x = plot_axis_new(unit.name, unit, false),
                           .y = plot_axis_new("chance of the verdict, %", percent, false),
                           .curves = curves,
                           .count = sizeof(curves) / sizeof(curves[0])};

    if (!(spread > 0) || !(rule.declared > 0) || !(rule.limiting > 0))
        return;
    for (int i = 0; i < CURVE_POINTS; i++) {
        /* From beyond the declared level to beyond the limiting one, by half of their distance. */
        const double at = -0.5 + 2.0 * i / (CURVE_POINTS - 1),
                     truth = rule.declared * pow(rule.limiting / rule.declared, at);

        chances = acceptance_chances(&rule, spread, trials, truth);
        accepted[i] = plot_point_at(truth, chances.accepted);
        rejected[i] = plot_point_at(truth, chances.rejected);
    }
    for (int i = 0; i < 2; i++) {
        const double truth = i == 0 ? rule.declared : rule.limiting;

        chances = acceptance_chances(&rule, spread, trials, truth);
        levels[2 * i] = plot_point_at(truth, chances.accepted);
        levels[2 * i].label = i == 0 ? "declared" : "limiting";
        levels[2 * i + 1] = plot_point_at(truth, chances.rejected);
        levels[2 * i].title = levels[2 * i + 1].title = levels[2 * i].label;
    }
    snprintf(
        words, sizeof(words),
        "Of a true figure, how likely %llu trials that vary by %.2g %% lead to each verdict. As "
        "declared: accepted %.1f %%, rejected %.1f %%; limiting: accepted %.1f %%, rejected "
        "%.1f %%. The rest is inconclusive.",
        (unsigned long long)trials, 100 * spread, 100 * levels[0].y, 100 * levels[1].y,
        100 * levels[2].y, 100 * levels[3].y);
    snprintf(id, sizeof(id), "characteristic-%.8s-%zu", digest ? digest : "", index + 1);
    text_append_format(out, "<figure><figcaption>Item %zu: ", index + 1);
    escape_html(out, words);
    text_append(out, "</figcaption>");
    plot_xy(out, id, &plot);
    text_append(out, "</figure>\n");
}

/* Whether the contract was there before the results. */
static void append_planned(struct text *out, const json_t *campaigns)
{
    size_t i, planned = 0, count = json_array_size(campaigns);
    const json_t *campaign;

    json_array_foreach(campaigns, i, campaign) planned +=
        json_is_true(json_object_get(campaign, "planned"));
    if (planned == count) {
        text_append(out, "The contract is in the recorded plan, from before the first trial.");
        return;
    }
    text_append(out, "<b>The plan does not have this contract</b>: it may have been written after "
                     "the results were seen. Without it:");
    json_array_foreach(campaigns, i, campaign)
    {
        if (json_is_true(json_object_get(campaign, "planned")))
            continue;
        text_append(out, " <code>");
        html_known(out, member_string(campaign, "campaign"));
        text_append(out, "</code>");
    }
    text_append_char(out, '.');
}

static void append_answer(struct text *out, const struct dossier_row *row, const json_t *body)
{
    const struct view_count at = {true, dossier_integer(row, 0)};
    const struct verdict *verdict = verdict_of(dossier_column(row, 2));
    const json_t *contract = json_object_get(body, "contract");

    text_append_format(out,
                       "<div class=\"decision %s\"><p class=\"answer\"><b>%s</b> <span "
                       "class=\"soft\">contract ",
                       verdict->class_name, verdict->words);
    html_known(out, member_string(contract, "contract"));
    text_append_format(out, " version %lld, %zu item%s, ",
                       (long long)json_integer_value(json_object_get(contract, "version")),
                       json_array_size(json_object_get(body, "items")),
                       json_array_size(json_object_get(body, "items")) == 1 ? "" : "s");
    html_time(out, &at, " UTC");
    text_append(out, "</span></p>\n<p>");
    append_planned(out, json_object_get(body, "campaigns"));
    text_append(out, "</p>");
}

/* columns: 0 created_utc_ns, 1 kind, 2 verdict, 3 body */
static void append_in_short(struct text *out, const struct dossier_row *row)
{
    const char *column = dossier_column(row, 3);
    json_t *body = column ? json_loads(column, 0, NULL) : NULL;

    append_answer(out, row, body);
    text_append(out, "<p class=\"soft\"><a href=\"#acceptance\">Each item</a>.</p></div>\n");
    json_decref(body);
}

static void append_acceptance(struct text *out, const struct dossier_row *row)
{
    const char *column = dossier_column(row, 3);
    json_t *body = column ? json_loads(column, 0, NULL) : NULL, *item;
    size_t i;

    append_answer(out, row, body);
    text_append(out, "<p class=\"soft\">Contract ");
    html_digest(out, member_string(body, "contract_sha256"));
    text_append(out,
                "</p></div>\n<div class=\"scroll\"><table class=\"tight stacked\"><thead><tr><th "
                "scope=\"col\">Item</th><th scope=\"col\" class=\"num\">Declared</th><th "
                "scope=\"col\" class=\"num\">Limiting</th><th scope=\"col\" class=\"num\">Measured"
                "</th><th scope=\"col\" class=\"num\">No better than</th><th scope=\"col\" "
                "class=\"num\">No worse than</th><th scope=\"col\" class=\"num\">Trials</th><th "
                "scope=\"col\">Verdict</th></tr></thead><tbody>\n");
    json_array_foreach(json_object_get(body, "items"), i, item)
        append_item(out, row->view, json_object_get(body, "contract"), item, i);
    text_append(out, "</tbody></table></div>\n<div class=\"charts\">\n");
    json_array_foreach(json_object_get(body, "items"), i, item)
        append_characteristic(out, body, item, i);
    text_append(out, "</div>\n");
    json_decref(body);
}

/* The newest verdict on each contract by which one of the cells was judged. */
static enum status each_acceptance(struct text *out, struct store *store, const struct view *view,
                                   dossier_row_fn *append, size_t *ret_rows, struct error *err)
{
    CLEANUP(text_finish) struct text ids;
    AUTO_FREE char *sql = NULL;

    text_init(&ids);
    for (size_t i = 0; i < view->cell_count; i++)
        text_append_format(&ids, "%s%lld", i ? "," : "", (long long)view->cells[i].id);
    if (text_ok(&ids))
        sql = text_format(
            "SELECT k.created_utc_ns, k.kind, k.verdict, k.body, max(k.id) FROM comparison k WHERE "
            "k.kind = 'accept' AND EXISTS (SELECT 1 FROM json_each(k.body, '$.items') i, "
            "json_each(i.value, '$.units') u JOIN cell c JOIN campaign g ON g.id = c.campaign "
            "WHERE "
            "c.id IN (%s) AND json_extract(u.value, '$.result') = substr(g.uid, 1, 8) || '/' || "
            "c.ordinal) GROUP BY json_extract(k.body, '$.contract_sha256') ORDER BY max(k.id) DESC",
            ids.data);
    return sql ? dossier_each_row(out, store, view, sql, 0, append, ret_rows, err)
               : error_no_memory(err);
}

enum status dossier_accepted(struct text *out, struct store *store, const struct view *view,
                             size_t *ret_rows, struct error *err)
{
    *ret_rows = 0;
    return each_acceptance(out, store, view, append_in_short, ret_rows, err);
}

enum status dossier_acceptances(struct text *out, struct store *store, const struct view *view,
                                const char *heading, struct error *err)
{
    struct text table;
    size_t rows = 0;
    enum status status;

    text_init(&table);
    status = each_acceptance(&table, store, view, append_acceptance, &rows, err);
    if (status == STATUS_OK && rows > 0) {
        text_append(out, heading);
        text_append(out,
                    "<p>The newest recorded verdict on each contract. An item is rejected where, "
                    "with confidence 1 - alpha, the figure is no better than something that is "
                    "worse than declared, and accepted where, with confidence 1 - beta, it is no "
                    "worse than something that is better than limiting; else it is inconclusive. "
                    "Every item must be accepted. Trials are taken for independent and lognormal."
                    "</p>\n");
        text_append_bytes(out, table.data, table.length);
    }
    out->failed |= table.failed;
    text_finish(&table);
    return status;
}
