/* Comparisons of servers: the change of attainment or capacity, and the figures of both servers. */
#include <math.h>
#include <stdlib.h>

#include "harness/cli/comparison_view.h"
#include "harness/core/member.h"
#include "harness/core/number.h"

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
            json_array_append_new(list, comparison_view_metric_json((enum metric_id)id, value));
    }
    json_object_set_new(arm, "figures", list);
}

enum status comparison_view_servers(struct store *store, const struct view *view,
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
