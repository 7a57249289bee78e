#include "reports/serving_table.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"
#include "protocols/serving/analysis.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/saturation.h"

#define RATES_MAX 64

/* What a row shows of a cell, in this order, after its rate. */
static const struct {
    enum metric_id metric;
    const char *heading; /* where there is no room for the metric's name */
} shown[] = {
    {METRIC_ATTAINMENT, "in limits"}, {METRIC_GOODPUT, "good/s"}, {METRIC_TTFT_P99, "first p99"},
    {METRIC_E2E_P50, "p50"},          {METRIC_E2E_P99, "p99"},    {METRIC_LAG_P999, "lag p99.9"},
};
#define SHOWN (sizeof(shown) / sizeof(*shown))

static bool is_saturated(const struct view_cell *cell)
{
    return !strcmp(cell->scenario, SERVING_SATURATED);
}

/* "end to end 10 ms, for 90 % of the requests" */
static void append_limits(struct text *out, const struct view_cell *cell)
{
    static const char *const keys[] = {"ttft", "tpot", "gap", "e2e"};
    static const char *const words[] = {"first output", "per output", "longest gap between outputs",
                                        "end to end"};
    const json_t *slo = member_in(cell->root, "workload", "slo");
    const char *between = "";

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = member_string(slo, keys[i]);
        char human[TEXT_HUMAN_SIZE];
        int64_t ns;

        if (!value || !text_parse_duration_ns(value, &ns))
            continue;
        doc_phrase(out, "%s%s %s", between, words[i], text_human_duration((double)ns, human));
        between = ", ";
    }
    if (*between)
        doc_phrase(out, ", for %g %% of the requests", 100 * member_real(slo, "attain"));
    else
        doc_phrase(out, "not known");
}

bool serving_same_server(const struct view_cell *a, const struct view_cell *b)
{
    return view_same_work(a, b) && serving_is_cell(b, NULL);
}

/* "Shares of 155 requests/s ...: 0.5x is 77.6/s", where the campaign measured the capacity. */
static void say_shares(struct doc *doc, const struct view *view, size_t index)
{
    size_t count = 0;
    double rate;

    for (size_t k = index; k < view->cell_count; k++) {
        const struct view_cell *cell = &view->cells[k];
        const json_t *serving = cell->estimate ? cell->estimate->serving : NULL;
        const double made = member_real(serving, "rate");

        if (!serving_same_server(&view->cells[index], cell) || !serving ||
            !serving_rate_of(cell->scenario, &rate) || rate > 0)
            continue;
        if (count == 0)
            doc_add(doc,
                    "Shares of %.4g requests/s, the saturated server's first trial:", made / -rate);
        doc_add(doc, "%s %.15gx is %.6g/s", count ? "," : "", -rate, made);
        count++;
    }
    if (count > 0)
        doc_end(doc, NULL);
}

bool serving_is_first(const struct view *view, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (serving_is_cell(&view->cells[i], NULL) &&
            serving_same_server(&view->cells[i], &view->cells[index]))
            return false;
    return serving_is_cell(&view->cells[index], NULL);
}

/*
 * "0-100 %" of the requests inside the limits, or "0-40" a second, where of some it is not known
 * whether they are; "" for another column, and where it is known of all.
 */
static void write_undecided(const struct view_cell *cell, enum metric_id id, char ret[NUMBER_SIZE])
{
    const json_t *result = cell->estimate ? cell->estimate->serving : NULL;
    const json_t *slo = json_object_get(result, "slo"), *totals = json_object_get(result, "totals");
    const double met = member_real(totals, "met"), undecided = member_real(totals, "undecided");
    const double seconds = member_real(totals, "span_ns") / 1e9;

    ret[0] = '\0';
    if (undecided <= 0 || !json_is_number(json_object_get(slo, "least")))
        return;
    if (id == METRIC_ATTAINMENT)
        snprintf(ret, NUMBER_SIZE, "%.0f-%.0f %%", 100 * member_real(slo, "least"),
                 100 * member_real(slo, "most"));
    else if (id == METRIC_GOODPUT)
        snprintf(ret, NUMBER_SIZE, "%.3g-%.3g", met / seconds, (met + undecided) / seconds);
}

static const char *field(const struct view_cell *cell, size_t column, struct view_figure *figure)
{
    write_undecided(cell, shown[column].metric, figure->number);
    if (figure->number[0])
        return figure->number;
    if (!view_figure_of(shown[column].metric, view_metric(cell, shown[column].metric), figure))
        return "-";
    return shown[column].metric == METRIC_GOODPUT ? figure->number : figure->value;
}

/* "meets", "misses, queue growing": of the load, the queue and the limits, what a reader must know
 */
static void append_verdict(struct text *out, const struct view_cell *cell)
{
    const json_t *result = cell->estimate ? cell->estimate->serving : NULL;
    static const char *const parts[][2] = {{"slo", ""}, {"load", "delivered"}, {"queue", "stable"}};
    const char *between = "";

    for (size_t i = 0; i < 3; i++) {
        const char *verdict = member_string(json_object_get(result, parts[i][0]), "verdict");

        if (!verdict || !strcmp(verdict, parts[i][1]) || !strcmp(verdict, "undetermined"))
            continue;
        doc_phrase(out, "%s%s%.20s", between, i == 2 ? "queue " : "", verdict);
        between = ", ";
    }
}

const char *serving_bound_words(const struct capacity_result *c, double lowest)
{
    return c->state == CAPACITY_AT_LEAST  ? "at least"
           : c->state != CAPACITY_AT_MOST ? NULL
           : c->missed <= lowest          ? "less than"
                                          : "at most";
}

void serving_capacity_words(struct text *out, const struct capacity_result *c, double lowest,
                            double highest)
{
    if (c->state == CAPACITY_WITHIN)
        text_append_format(out, "It serves %.3g to %.3g requests/s within the limits.", c->lo,
                           c->hi);
    else if (c->state == CAPACITY_AT_LEAST)
        text_append_format(out, "It serves at least %.3g requests/s within the limits; ", c->lo);
    else if (c->state == CAPACITY_AT_MOST)
        text_append_format(out, "It serves %s %.3g requests/s within the limits; ",
                           serving_bound_words(c, lowest), c->hi);
    if (c->state == CAPACITY_AT_LEAST && c->met >= highest)
        text_append(out, "no rate was high enough to miss them.");
    else if (c->state == CAPACITY_AT_LEAST)
        text_append_format(out, "at rates up to %.6g/s they are not shown to be missed.", highest);
    else if (c->state == CAPACITY_AT_MOST && c->missed <= lowest)
        text_append(out, "no rate was low enough to keep them.");
    else if (c->state == CAPACITY_AT_MOST)
        text_append_format(out, "at rates down to %.6g/s they are not shown to be kept.", lowest);
}

bool serving_carried_words(const struct view *view, size_t index, struct text *ret)
{
    const struct view_cell *first = &view->cells[index];
    struct serving_declared declared;
    struct serving_result results[RATES_MAX];
    struct capacity_result capacity;
    double before = 0;
    size_t count = 0;

    for (size_t k = index; k < view->cell_count && count < RATES_MAX; k++) {
        const struct view_cell *cell = &view->cells[k];

        if (!serving_is_cell(cell, NULL) || !serving_same_server(first, cell) || !cell->estimate ||
            !cell->estimate->serving ||
            serving_result_of(cell->estimate->serving, cell->scenario, &results[count], NULL) !=
                STATUS_OK ||
            results[count].rate <= before)
            continue;
        before = results[count].rate;
        count++;
    }
    if (count == 0 ||
        serving_declared_read(json_object_get(first->root, "workload"), &declared, NULL) !=
            STATUS_OK ||
        serving_capacity(results, count, &declared.limits, &capacity, NULL) != STATUS_OK)
        return false;
    if (capacity.state == CAPACITY_INCONCLUSIVE)
        return false;
    serving_capacity_words(ret, &capacity, results[0].rate, results[count - 1].rate);
    return true;
}

void serving_where(struct text *out, const struct view_cell *cell)
{
    const char *const parts[][2] = {{" ", cell->precision},
                                    {" on ", cell->device_spec},
                                    {", ", cell->device.name},
                                    {", arm ", cell->arm}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i][1] && *parts[i][1] && strcmp(parts[i][1], "unknown") != 0)
            doc_phrase(out, "%s%.80s", parts[i][0], parts[i][1]);
}

/* Whether a result of the server is there, so that something is said of its capacity. */
static bool has_limits_judged(const struct view *view, size_t index)
{
    for (size_t k = index; k < view->cell_count; k++)
        if (serving_same_server(&view->cells[index], &view->cells[k]) && view->cells[k].estimate &&
            view->cells[k].estimate->serving && !is_saturated(&view->cells[k]))
            return true;
    return false;
}

static void say_rate(struct doc *doc, const struct view_cell *cell, const char *rate)
{
    doc_add(doc, "%s", rate);
    for (size_t c = 0; c < SHOWN; c++) {
        struct view_figure figure;

        doc_add(doc, "\t%s", field(cell, c, &figure));
    }
    doc_add(doc, "\t");
    append_verdict(&doc->block, cell);
    doc_end(doc, NULL);
}

void serving_table(struct doc *doc, const struct view *view, bool is_brief)
{
    struct doc_column columns[SHOWN + 2] = {{"Rate", DOC_NAME | DOC_NUMBER}};

    for (size_t c = 0; c < SHOWN; c++)
        columns[c + 1] =
            (struct doc_column){is_brief ? shown[c].heading : metrics[shown[c].metric].label,
                                DOC_NUMBER | DOC_LABELLED};
    columns[SHOWN + 1] = (struct doc_column){"Limits", DOC_LABELLED};
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *first = &view->cells[i];

        if (!serving_is_first(view, i))
            continue;
        doc_add(doc, "Under load: %.40s", first->workload);
        serving_where(&doc->block, first);
        doc_end_heading(doc, 4, NULL);
        doc_add(doc, "Limits: ");
        append_limits(&doc->block, first);
        if (!is_brief)
            doc_add(doc, ". All latencies count from the scheduled time.");
        doc_table(doc, is_brief ? NULL : "tight stacked loads", columns, SHOWN + 2);
        for (size_t k = i; k < view->cell_count; k++) {
            const struct view_cell *cell = &view->cells[k];
            char rate[SERVING_RATE_SIZE];

            if (serving_is_cell(cell, rate) && serving_same_server(first, cell) &&
                !is_saturated(cell))
                say_rate(doc, cell, rate);
        }
        doc_close(doc);
        say_shares(doc, view, i);
        if (!serving_carried_words(view, i, &doc->block) && has_limits_judged(view, i))
            doc_add(doc, "How many requests/s it serves within the limits is not known, for the "
                         "reasons that its results give.");
        if (doc->block.length > 0)
            doc_end(doc, NULL);
    }
}
