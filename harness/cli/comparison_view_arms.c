/* What the two results of a comparison are, and the result of each by itself. */
#include "harness/cli/comparison_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/number.h"
#include "harness/core/text.h"
#include "reports/view.h"
#include "results/analysis/pairs.h"
#include "workloads/declared.h"

static void append_word(struct text *out, const char *word)
{
    text_append_printable(out, word ? word : "?", word ? strlen(word) : 1);
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

/* ---- servers ---- */

/* "98.2 %", "93 /s", "at least 80 /s". */
static void append_figure(struct text *out, enum compare_figure figure,
                          const struct served_figure *f)
{
    const double scale = figure == COMPARE_ATTAINMENT ? 100 : 1;
    const bool open = figure == COMPARE_CAPACITY && (isnan(f->lo) || isnan(f->hi));
    const double value = !open ? f->value : isnan(f->hi) ? f->lo : f->hi;
    char number[NUMBER_SIZE];

    if (open)
        text_append(out, isnan(f->hi) ? "at least " : "at most ");
    text_append_format(out, "%s %s", number_format_digits(scale * value, 4, number),
                       figure == COMPARE_ATTAINMENT ? "%" : "/s");
}

static void append_end(struct text *out, double scale, double value)
{
    char number[NUMBER_SIZE];

    text_append(out, isnan(value) ? "unknown" : number_format_digits(scale * value, 3, number));
}

void comparison_view_append_change(struct text *out, const struct stored_comparison *comparison)
{
    const enum compare_figure figure = comparison->figure;
    const struct served_change *change = &comparison->change;
    const double scale = figure == COMPARE_ATTAINMENT ? 100 : 1;

    text_append_format(out, "%s ", compare_figure_name(figure));
    append_figure(out, figure, &change->a);
    text_append(out, " -> ");
    append_figure(out, figure, &change->b);
    text_append(out, figure == COMPARE_ATTAINMENT ? ", b - a " : ", b/a ");
    append_end(out, scale, change->change.value);
    text_append_format(out, "%s, %g %% interval [", figure == COMPARE_ATTAINMENT ? " points" : "",
                       100 * change->confidence);
    append_end(out, scale, change->change.lo);
    text_append(out, ", ");
    append_end(out, scale, change->change.hi);
    text_append_char(out, ']');
}

/* ---- the figures of both ---- */

/* What servers compare by at a rate. */
static bool is_compared(enum metric_id id)
{
    return id < METRIC_ITERATION_TIME && id != METRIC_LAG_P999 &&
           metrics[id].better != METRIC_NEITHER;
}

static void append_row(struct text *out, const char *label, const char *a, const char *b)
{
    const int widths[] = {20, 22};
    const int left = widths[0] - (int)text_columns(label),
              right = widths[1] - (int)text_columns(a ? a : "");

    out->failed = out->failed || !a || !b;
    text_append_format(out, "  %s%*s%s%*s  %s\n", label, left > 0 ? left : 0, "", a ? a : "",
                       right > 0 ? right : 0, "", b ? b : "");
}

static char *words_of(const struct view_cell *cell, enum metric_id id)
{
    const struct metric_value *value = view_metric(cell, id);
    struct view_figure figure;

    if (!value || !view_figure_of(id, value, &figure))
        return text_format("-");
    return text_format("%s%s%s", figure.value, figure.spread[0] ? " " : "", figure.spread);
}

/* "93 /s", "at least 80 /s"; "-" where the rates do not tell. Sets "capacity" of the arm. */
static enum status add_capacity(struct store *store, const struct view_cell *cell, json_t *arm,
                                char **ret, struct error *err)
{
    json_t *capacity = NULL;
    enum status status = stored_comparison_capacity(store, cell->id, &capacity, err);
    const struct served_figure figure = {member_number(capacity, "value"),
                                         member_number(capacity, "lo"),
                                         member_number(capacity, "hi")};
    struct text out;

    if (status != STATUS_OK)
        return status;
    text_init(&out);
    if (json_is_null(capacity))
        text_append_char(&out, '-');
    else
        append_figure(&out, COMPARE_CAPACITY, &figure);
    json_object_set_new(arm, "capacity", capacity);
    *ret = text_steal(&out);
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
    char *words[2] = {NULL, NULL};
    struct text out;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < 2; i++)
        if (!view_metric(&view->cells[i], METRIC_ATTAINMENT))
            return STATUS_OK;
    text_init(&out);
    append_row(&out, "", "a", "b");
    for (int id = 0; id < METRIC_ITERATION_TIME; id++) {
        if (!is_compared((enum metric_id)id) || !view_any_metric(view, (enum metric_id)id))
            continue;
        for (int i = 0; i < 2; i++)
            words[i] = words_of(&view->cells[i], (enum metric_id)id);
        append_row(&out, metrics[id].label, words[0], words[1]);
        for (int i = 0; i < 2; i++)
            free(words[i]);
    }
    words[0] = words[1] = NULL;
    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        json_t *arm = json_array_get(arms->json, i);

        add_figures(&view->cells[i], arm);
        status = add_capacity(store, &view->cells[i], arm, &words[i], err);
    }
    if (status == STATUS_OK)
        append_row(&out, "capacity", words[0], words[1]);
    for (int i = 0; i < 2; i++)
        free(words[i]);
    arms->figures = text_steal(&out);
    if (status == STATUS_OK && !arms->figures)
        status = error_no_memory(err);
    return status;
}

/* Of pairs, which had the same arrivals. */
static void append_latency(struct text *out, const struct comparison *numbers)
{
    const struct estimate_interval *ratio = &numbers->ratio;
    char value[NUMBER_SIZE], lo[NUMBER_SIZE], hi[NUMBER_SIZE];

    text_append_format(out, "  mean latency of the requests that ended well, b/a %s",
                       number_format_digits(ratio->value, 4, value));
    if (ratio->has_interval)
        text_append_format(out, ", %g %% interval [%s, %s]", numbers->confidence * 100,
                           number_format_digits(ratio->lo, 4, lo),
                           number_format_digits(ratio->hi, 4, hi));
    text_append_format(out, ", %zu pairs\n", numbers->count_a);
    if (numbers->no_spread)
        text_append_format(out, "  %s\n", comparison_alike_words(numbers));
}

static void append_figures(struct text *out, const struct stored_comparison *comparison,
                           const struct comparison_arms *arms)
{
    if (comparison->has_latency)
        append_latency(out, &comparison->numbers);
    text_append(out, arms->figures ? arms->figures : "");
}

void comparison_view_append_served(struct text *out, const struct stored_comparison *comparison,
                                   const struct comparison_arms *arms)
{
    const struct served_change *change = &comparison->change;
    const int verdict = served_change_verdict(comparison->figure, change);
    const char *unit = comparison->figure == COMPARE_ATTAINMENT ? " % of the requests" : " %";

    if (!comparison->has_numbers) {
        text_append_format(out, "No verdict on %s: %s\n", compare_figure_name(comparison->figure),
                           comparison->why.message);
        append_figures(out, comparison, arms);
        return;
    }
    text_append_format(out, "b's %s is %s by more than %g%s\n  ",
                       compare_figure_name(comparison->figure),
                       verdict > 0   ? "not lower"
                       : verdict < 0 ? "lower"
                                     : "neither shown to be lower, nor not to be,",
                       100 * change->margin, unit);
    comparison_view_append_change(out, comparison);
    if (change->pairs > 0)
        text_append_format(out, "\n  by the differences of %zu pairs with the same arrivals\n",
                           change->pairs);
    else
        text_append(out, comparison->paired
                             ? "\n  the intervals of both arms, taken for independent\n"
                             : "\n  not paired: drift between the two is not controlled\n");
    append_figures(out, comparison, arms);
}

/* ---- the two results ---- */

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
