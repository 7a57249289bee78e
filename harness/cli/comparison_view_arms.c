/* What the two results of a comparison are, and the result of each by itself. */
#include "harness/cli/comparison_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/text.h"
#include "harness/core/number.h"
#include "reports/view.h"
#include "workloads/declared.h"
#include "results/analysis/pairs.h"

static void append_word(struct text *out, const char *word)
{
    text_append_printable(out, word ? word : "?", word ? strlen(word) : 1);
}

static json_t *number_or_null(bool known, double value)
{
    return known ? real_or_null(value) : json_null();
}

json_t *comparison_view_metric_json(enum metric_id id, const struct metric_value *value)
{
    if (!value)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:s?}", "metric", metrics[id].id, "value",
                     real_or_null(value->value), "lo",
                     number_or_null(value->has_interval, value->lo), "hi",
                     number_or_null(value->has_interval, value->hi), "unit", value->unit, "grade",
                     value->grade ? metric_grade_name(value->grade) : NULL);
}

static void append_result(struct text *out, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    struct view_figure figure;

    if (!view_figure_of(id, value, &figure)) {
        text_append_format(out, "no result (%s)", view_verdict_label(cell));
        return;
    }
    text_append_format(out, figure.marked ? "(%s)" : "%s", figure.value);
    text_append_format(out, "%s%s, %s", figure.spread[0] ? " " : "", figure.spread,
                       view_verdict_label(cell));
}

/* Why a comparison has no time of this planned trial's last attempt; NULL: it has. */
static const char *why_left_out(const struct view_cell *cell, size_t i)
{
    const struct view_trial *trial = &cell->trials[i];

    if (i + 1 < cell->trial_count && cell->trials[i + 1].number == trial->number)
        return NULL; /* repeated by a resume */
    if (!trial->ok)
        return trial->status ? trial->status : "no end";
    if (!trial->estimate)
        return "no mean";
    return isnan(
               pairs_trial_time(cell->estimate, (size_t)(trial->estimate - cell->estimate->trials)))
               ? estimate_verdict_name(trial->estimate->verdict)
               : NULL;
}

static json_t *left_out_json(const struct view_cell *cell)
{
    json_t *list = json_array();

    for (size_t i = 0; i < cell->trial_count; i++) {
        const char *why = why_left_out(cell, i);

        if (why)
            json_array_append_new(list, json_pack("{s:I, s:s}", "trial",
                                                  (json_int_t)cell->trials[i].number, "why", why));
    }
    return list;
}

/* "check_failed" as "check failed". */
static void append_reason(struct text *out, const char *reason)
{
    enum estimate_verdict verdict = estimate_verdict_find(reason);

    if (verdict != ESTIMATE_VERDICT_COUNT) {
        text_append(out, estimate_verdict_label(verdict));
        return;
    }
    for (const char *c = reason ? reason : "?"; *c; c++)
        text_append_printable(out, *c == '_' ? " " : c, 1);
}

static void append_left_out(struct text *out, const struct view_cell *cell, size_t count)
{
    const char *before = "";

    if (count == 0 || !cell->trials_planned.known)
        return;
    text_append_format(out, "; %lld of %lld trials count, without",
                       (long long)cell->trials_planned.value - (long long)count,
                       (long long)cell->trials_planned.value);
    for (size_t i = 0; i < cell->trial_count; i++) {
        const struct view_trial *trial = &cell->trials[i];
        const char *why = why_left_out(cell, i);

        if (!why)
            continue;
        text_append_format(out, "%s trial %lld (", before, (long long)trial->number);
        append_reason(out, why);
        text_append_char(out, ')');
        before = ",";
    }
}

static json_t *text_or_null(const char *text)
{
    json_t *string = text ? json_string(text) : NULL;

    return string ? string : json_null();
}

static enum status describe(const struct view_cell *cell, char **ret_words, json_t *list,
                            struct error *err)
{
    json_t *left_out = left_out_json(cell);
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *headline = view_headline(cell, &id);
    struct text out;
    enum scenario scenario;
    size_t before;
    double rate;

    text_init(&out);
    append_word(&out, cell->workload);
    text_append_char(&out, ' ');
    append_word(&out, cell->precision);
    if (cell->batch.known && cell->batch.value != 1)
        text_append_format(&out, " batch %lld", (long long)cell->batch.value);
    if (cell->scenario && scenario_from_text(cell->scenario, &scenario, &rate) && rate != 0)
        text_append_format(&out, " at %.15g%s", fabs(rate),
                           rate < 0 ? " of its capacity" : " requests/s");
    before = out.length;
    view_append_worker(cell, " by ", &out);
    if (out.length == before && view_is_vendor(cell))
        text_append(&out, " by the vendor's library");
    if (view_is_emulated(cell))
        text_append(&out, ", emulated,");
    text_append(&out, " on ");
    append_word(&out, cell->device_spec);
    if (cell->device.name) {
        text_append(&out, " (");
        append_word(&out, cell->device.name);
        text_append(&out, cell->device.simulated ? ", simulated)" : ")");
    }
    if (cell->origin.worker)
        text_append_format(&out, ", measured by the foreign worker %s", cell->origin.worker);
    text_append(&out, ": ");
    append_result(&out, cell);
    append_left_out(&out, cell, json_array_size(left_out));
    *ret_words = text_steal(&out);
    json_array_append_new(
        list,
        json_pack(
            "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:[], s:n}", "id",
            cell->result, "implementation", text_or_null(cell->implementation), "workload",
            text_or_null(cell->workload), "precision", text_or_null(cell->precision), "batch",
            cell->batch.known ? json_integer(cell->batch.value) : json_null(), "device_spec",
            text_or_null(cell->device_spec), "device", text_or_null(cell->device.name),
            "foreign_worker", text_or_null(cell->origin.worker), "verdict",
            cell->estimate ? json_string(estimate_verdict_name(cell->estimate->verdict))
                           : json_null(),
            "result", comparison_view_metric_json(id, headline), "planned",
            cell->trials_planned.known ? json_integer(cell->trials_planned.value) : json_null(),
            "counted",
            cell->trials_planned.known
                ? json_integer(cell->trials_planned.value - (json_int_t)json_array_size(left_out))
                : json_null(),
            "left_out", left_out, "figures", "capacity"));
    return *ret_words ? STATUS_OK : error_no_memory(err);
}

enum status comparison_arms_load(struct store *store, const struct stored_comparison *comparison,
                                 struct comparison_arms *ret, struct error *err)
{
    struct comparison_arms arms = {.json = json_array()};
    struct view view;
    enum status status = view_load(store, comparison->cells, 2, VIEW_SUMMARY, &view, err);

    if (status == STATUS_OK) {
        for (size_t i = 0; i < 2 && i < view.cell_count && status == STATUS_OK; i++)
            status = describe(&view.cells[i], &arms.words[i], arms.json, err);
        if (status == STATUS_OK && view.cell_count == 2)
            status = comparison_view_servers(store, &view, &arms, err);
        view_finish(&view);
    }
    if (status != STATUS_OK) {
        comparison_arms_finish(&arms);
        return status;
    }
    *ret = arms;
    return STATUS_OK;
}

void comparison_arms_finish(struct comparison_arms *arms)
{
    for (int i = 0; i < 2; i++)
        free(arms->words[i]);
    free(arms->figures);
    json_decref(arms->json);
    memset(arms, 0, sizeof(*arms));
}
