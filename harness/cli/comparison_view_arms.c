/* What the two results of a comparison are, and the result of each by itself. */
#include "harness/cli/comparison_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/cleanup.h"
#include "reports/comparison_words.h"
#include "reports/view.h"
#include "results/analysis/pairs.h"
#include "workloads/declared.h"

static const char *word_of(const char *word)
{
    return word ? word : "?";
}

static json_t *number_or_null(bool known, double value)
{
    return known ? real_or_null(value) : json_null();
}

static json_t *metric_json(enum metric_id id, const struct metric_value *value)
{
    if (!value)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:s?}", "metric", metrics[id].id, "value",
                     real_or_null(value->value), "lo",
                     number_or_null(value->has_interval, value->lo), "hi",
                     number_or_null(value->has_interval, value->hi), "unit", value->unit, "grade",
                     value->grade ? metric_grade_name(value->grade) : NULL);
}

/* ---- the figures of both ---- */

/* What servers compare by at a rate. */
static bool is_compared(enum metric_id id)
{
    return id < METRIC_ITERATION_TIME && id != METRIC_LAG_P999 &&
           metrics[id].better != METRIC_NEITHER;
}

static void append_words(struct text *out, const struct view_cell *cell, enum metric_id id)
{
    const struct metric_value *value = view_metric(cell, id);
    struct view_figure figure;

    if (value && view_figure_of(id, value, &figure))
        doc_phrase(out, "\t%s%s%s", figure.value, figure.spread[0] ? " " : "", figure.spread);
    else
        doc_phrase(out, "\t-");
}

/* "93 /s", "at least 80 /s"; "-" where the rates do not tell. Sets "capacity" of the arm. */
static enum status add_capacity(struct store *store, const struct view_cell *cell, json_t *arm,
                                struct text *out, struct error *err)
{
    json_t *capacity = NULL;
    struct served_figure figure;

    TRY(stored_comparison_capacity(store, cell->id, &capacity, err));
    figure = (struct served_figure){member_number(capacity, "value"), member_number(capacity, "lo"),
                                    member_number(capacity, "hi")};
    doc_phrase(out, json_is_null(capacity) ? "\t-" : "\t");
    if (!json_is_null(capacity))
        comparison_served_words(out, COMPARE_CAPACITY, &figure);
    json_object_set_new(arm, "capacity", capacity);
    return STATUS_OK;
}

static void add_figures(const struct view_cell *cell, json_t *arm)
{
    json_t *list = json_array();

    for (int id = 0; id < METRIC_ITERATION_TIME; id++) {
        const struct metric_value *value = view_metric(cell, (enum metric_id)id);

        if (value && value->has_value && is_compared((enum metric_id)id))
            json_array_append_new(list, metric_json((enum metric_id)id, value));
    }
    json_object_set_new(arm, "figures", list);
}

static enum status add_servers(struct store *store, const struct view *view,
                               struct comparison_arms *arms, struct error *err)
{
    CLEANUP(text_finish) struct text rows;

    for (size_t i = 0; i < 2; i++)
        if (!view_metric(&view->cells[i], METRIC_ATTAINMENT))
            return STATUS_OK;
    text_init(&rows);
    for (int id = 0; id < METRIC_ITERATION_TIME; id++) {
        if (!is_compared((enum metric_id)id) || !view_any_metric(view, (enum metric_id)id))
            continue;
        doc_phrase(&rows, "%s", metrics[id].label);
        for (int i = 0; i < 2; i++)
            append_words(&rows, &view->cells[i], (enum metric_id)id);
        doc_phrase(&rows, "\n");
    }
    doc_phrase(&rows, "capacity");
    for (size_t i = 0; i < 2; i++) {
        json_t *arm = json_array_get(arms->json, i);

        add_figures(&view->cells[i], arm);
        TRY(add_capacity(store, &view->cells[i], arm, &rows, err));
    }
    doc_phrase(&rows, "\n");
    arms->figures = text_steal(&rows);
    return arms->figures ? STATUS_OK : error_no_memory(err);
}

void comparison_view_append_figures(struct doc *doc, const struct comparison_arms *arms)
{
    static const struct doc_column columns[] = {{"", DOC_NAME}, {"a", 0}, {"b", 0}};
    const char *row = arms->figures;

    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
    for (size_t length; *row; row += length + 1) {
        length = strcspn(row, "\n");
        text_append_bytes(&doc->block, row, length);
        doc_end(doc, NULL);
    }
    doc_close(doc);
}

/* ---- the two results ---- */

static void append_result(struct text *out, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    struct view_figure figure;

    if (view_figure_of(id, value, &figure))
        doc_phrase(out, "%s%s%s%s%s, %s", figure.marked ? "(" : "", figure.value,
                   figure.marked ? ")" : "", figure.spread[0] ? " " : "", figure.spread,
                   view_verdict_label(cell));
    else
        doc_phrase(out, "no result (%s)", view_verdict_label(cell));
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

    if (verdict != ESTIMATE_VERDICT_COUNT)
        doc_phrase(out, "%s", estimate_verdict_label(verdict));
    else
        doc_spaced(out, reason);
}

static void append_left_out(struct text *out, const struct view_cell *cell, size_t count)
{
    const char *before = "";

    if (count == 0 || !cell->trials_planned.known)
        return;
    doc_phrase(out, "; %lld of %lld trials count, without",
               (long long)cell->trials_planned.value - (long long)count,
               (long long)cell->trials_planned.value);
    for (size_t i = 0; i < cell->trial_count; i++) {
        const char *why = why_left_out(cell, i);

        if (!why)
            continue;
        doc_phrase(out, "%s trial %lld (", before, (long long)cell->trials[i].number);
        append_reason(out, why);
        doc_phrase(out, ")");
        before = ",";
    }
}

/* "triad fp32 on cpu:0 (AMD EPYC): 28 GB/s ±3 %" */
static void append_arm(struct text *out, const struct view_cell *cell, size_t left_out)
{
    CLEANUP(text_finish) struct text worker;
    enum scenario scenario;
    double rate;

    doc_phrase(out, "%s %s", word_of(cell->workload), word_of(cell->precision));
    if (cell->batch.known && cell->batch.value != 1)
        doc_phrase(out, " batch %lld", (long long)cell->batch.value);
    if (cell->scenario && scenario_from_text(cell->scenario, &scenario, &rate) && rate != 0)
        doc_phrase(out, " at %.15g%s", fabs(rate), rate < 0 ? " of its capacity" : " requests/s");
    text_init(&worker);
    view_append_worker(cell, " by ", &worker);
    if (worker.length == 0 && view_is_vendor(cell))
        text_append(&worker, " by the vendor's library");
    doc_phrase(out, "%s%s on %s", worker.data, view_is_emulated(cell) ? ", emulated," : "",
               word_of(cell->device_spec));
    if (cell->device.name)
        doc_phrase(out, " (%s%s)", cell->device.name, cell->device.simulated ? ", simulated" : "");
    if (cell->origin.worker)
        doc_phrase(out, ", measured by the foreign worker %s", cell->origin.worker);
    doc_phrase(out, ": ");
    append_result(out, cell);
    append_left_out(out, cell, left_out);
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

    text_init(&out);
    append_arm(&out, cell, json_array_size(left_out));
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
            "result", metric_json(id, headline), "planned",
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
            status = add_servers(store, &view, &arms, err);
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
