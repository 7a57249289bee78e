#include "reports/html_serving.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "protocols/serving/analysis.h"
#include "protocols/serving/declared.h"
#include "protocols/stats/order.h"
#include "reports/load_timeline.h"
#include "reports/escape.h"
#include "reports/plot.h"
#include "reports/serving_table.h"
#include "results/analysis/serving_log.h"

#define RATES_MAX 64
#define CURVE_POINTS 48
#define LIMIT_SLOT CHART_SLOTS /* grey */

/* ---- one result ---- */

static const struct {
    enum serving_metric metric;
    const char *name;
} latencies[] = {
    {SERVING_E2E, "end to end"}, {SERVING_TTFT, "first output"}, {SERVING_TPOT, "per output"}};
#define LATENCIES (sizeof(latencies) / sizeof(*latencies))

struct values {
    int64_t *ns; /* heap, ascending */
    size_t count;
};

static enum status collect(struct store *store, const struct view_cell *cell,
                           struct values values[LATENCIES], struct error *err)
{
    for (size_t t = 0; t < cell->trial_count; ++t) {
        CLEANUP(serving_log_finish) struct serving_log log = {0};

        if (!cell->trials[t].ok ||
            serving_log_load(store, cell->trials[t].id, &log, NULL) != STATUS_OK)
            continue;
        for (size_t m = 0; m < LATENCIES; ++m) {
            TRY(ARRAY_GROW(values[m].ns, values[m].count, log.count, err));
            for (size_t i = 0; i < log.count; ++i) {
                const struct serving_value value =
                    serving_value_of(&log.requests[i], latencies[m].metric, INT64_MAX);

                if (value.state == VALUE_KNOWN)
                    values[m].ns[values[m].count++] = value.ns;
            }
        }
    }
    for (size_t m = 0; m < LATENCIES; ++m)
        if (values[m].count > 0)
            order_sort(values[m].ns, values[m].count);
    return STATUS_OK;
}

/* Shares above a value, from all down to one request, evenly on a logarithmic scale. */
static size_t take_points(const struct values *values, struct plot_point *points)
{
    size_t used = 0, last = SIZE_MAX;

    for (size_t k = 0; k < CURVE_POINTS; ++k) {
        const double above = pow((double)values->count, 1 - (double)k / (CURVE_POINTS - 1));
        const size_t at = values->count - (size_t)llround(above);

        if (at >= values->count || at == last)
            continue;
        last = at;
        points[used++] = plot_point_at((double)values->ns[at],
                                       (double)(values->count - at) / (double)values->count);
    }
    return used;
}

static void append_latencies(struct text *out, const struct view_cell *cell,
                             const struct values values[LATENCIES])
{
    struct plot_point points[LATENCIES][CURVE_POINTS], limit[2];
    struct plot_curve curves[LATENCIES + 1];
    char heading[HTML_HEADING_SIZE], title[NUMBER_SIZE + 16];
    struct number_unit unit;
    struct serving_declared declared;
    struct plot_xy plot = {.heading = heading,
                           .description = "The share of requests that took longer, by latency.",
                           .curves = curves};
    CLEANUP(text_finish) struct text id = TEXT_INIT;

    for (size_t m = 0; m < LATENCIES; ++m) {
        /* Without tokens one after the other, the first output is the last. */
        if (values[m].count == 0 || (latencies[m].metric == SERVING_TTFT && values[2].count == 0))
            continue;
        curves[plot.count] = (struct plot_curve){.name = latencies[m].name,
                                                 .slot = m,
                                                 .line = true,
                                                 .points = points[m],
                                                 .count = take_points(&values[m], points[m])};
        ++plot.count;
    }
    if (serving_declared_read(cell->workload_json, &declared, NULL) == STATUS_OK &&
        declared.limits.ns[SERVING_E2E] > 0) {
        limit[0] = plot_point_at((double)declared.limits.ns[SERVING_E2E], 1);
        limit[1] =
            plot_point_at((double)declared.limits.ns[SERVING_E2E], 1 - declared.limits.attain);
        curves[plot.count++] = (struct plot_curve){.name = "limit end to end, and share allowed",
                                                   .slot = LIMIT_SLOT,
                                                   .line = true,
                                                   .points = limit,
                                                   .count = 2};
    }
    unit = number_unit_duration((double)values[0].ns[values[0].count / 2]);
    snprintf(title, sizeof(title), "latency, %s", unit.name);
    plot.x = plot_axis_new(title, unit, true);
    plot.y = plot_axis_new("share of requests above", (struct number_unit){1, ""}, true);
    html_figure_heading(cell, "Latency", heading);
    html_figure_id(&id, cell, "l", 0);
    text_append(out, "<figure>");
    plot_xy(out, id.data, &plot);
    text_append(out, "</figure>\n");
}

static void append_load_timeline(struct text *out, const struct view_cell *cell)
{
    const struct load_timeline *load_timeline = cell->load_timeline;
    double seconds[COURSE_PARTS], latency_ms[COURSE_PARTS];
    struct chart_strip strips[] = {
        {"backlog, requests", "", seconds, load_timeline->backlog, load_timeline->count},
        {"longest latency", "ms", seconds, latency_ms, load_timeline->count}};
    char heading[HTML_HEADING_SIZE], what[48];
    CLEANUP(text_finish) struct text id = TEXT_INIT;

    for (size_t i = 0; i < load_timeline->count; ++i) {
        seconds[i] = load_timeline->length_s * ((double)i + 0.5) / (double)load_timeline->count;
        latency_ms[i] = load_timeline->latency_ns[i] / 1e6;
    }
    snprintf(what, sizeof(what), "Trial %lld", (long long)load_timeline->trial);
    html_figure_heading(cell, what, heading);
    html_figure_id(&id, cell, "b", 0);
    text_append(out, "<figure>");
    if (!chart_strips(out, id.data, heading, strips, 2, 0, load_timeline->length_s,
                      load_timeline->length_s))
        out->failed = true;
    text_append(out, "</figure>\n");
}

enum status html_serving_cell(struct text *out, struct store *store, const struct view_cell *cell,
                              struct error *err)
{
    struct values values[LATENCIES] = {{NULL, 0}};
    enum status status;

    if (!cell->load_timeline || !(cell->load_timeline->length_s > 0))
        return STATUS_OK;
    status = collect(store, cell, values, err);
    if (status == STATUS_OK) {
        text_append(out, "<h4>Requests</h4><div class=\"charts\">\n");
        if (values[0].count > 0)
            append_latencies(out, cell, values);
        append_load_timeline(out, cell);
        text_append(out, "</div>\n<p class=\"soft\"><small>Latency: which share of the requests of "
                         "all trials took longer, from the scheduled time; both scales are "
                         "logarithmic. Backlog: requests that were scheduled and not over, on "
                         "average in each part of the trial; longest latency: of those scheduled "
                         "in that part.</small></p>\n");
    }
    for (size_t m = 0; m < LATENCIES; ++m)
        free(values[m].ns);
    return status;
}

/* ---- one server over its rates ---- */

struct server {
    const struct view_cell *first;
    const struct view_cell *cells[RATES_MAX];
    struct serving_result results[RATES_MAX];
    size_t count;
    struct serving_limits limits;
    struct capacity_result capacity;
    char titles[3][RATES_MAX][96]; /* of attainment, and of both percentiles */
};

/* Rates in ascending order, as capacity wants them; others are left out. */
static bool find_server(const struct view *view, size_t index, struct server *ret)
{
    struct serving_declared declared;

    ret->first = &view->cells[index];
    ret->count = 0;
    for (size_t k = index; k < view->cell_count && ret->count < RATES_MAX; ++k) {
        const struct view_cell *cell = &view->cells[k];
        struct serving_result *result = &ret->results[ret->count];

        if (!serving_same_server(ret->first, cell) || !cell->estimate || !cell->estimate->serving ||
            serving_result_of(cell->estimate->serving, cell->scenario, result, NULL) != STATUS_OK ||
            (ret->count > 0 && result->rate <= ret->results[ret->count - 1].rate))
            continue;
        ret->cells[ret->count++] = cell;
    }
    if (ret->count < 2 || serving_declared_read(json_object_get(ret->first->root, "workload"),
                                                &declared, NULL) != STATUS_OK)
        return false;
    ret->limits = declared.limits;
    return serving_capacity(ret->results, ret->count, &ret->limits, &ret->capacity, NULL) ==
           STATUS_OK;
}

/* One for all servers of a page, so that pictures side by side show the same by the same length. */
struct axes {
    struct plot_axis rates, share, latency;
    double typical_ns; /* of which the latency's unit is; NAN: there is none */
};

static const size_t shown_percentiles[] = {0, 2}; /* p50, p99 */

static void cover_values(const struct server *s, struct axes *axes)
{
    plot_cover(&axes->share, s->limits.attain);
    plot_cover(&axes->latency, (double)s->limits.ns[SERVING_E2E]);
    for (size_t i = 0; i < s->count; ++i) {
        plot_cover(&axes->rates, s->results[i].rate);
        plot_cover(&axes->share, s->results[i].slo.attainment);
        for (size_t q = 0; q < 2; ++q) {
            const double ns = s->results[i].percentiles[SERVING_E2E][shown_percentiles[q]].value;

            plot_cover(&axes->latency, ns);
            axes->typical_ns = isfinite(ns) ? ns : axes->typical_ns;
        }
    }
}

/* After the values of all. */
static void cover_intervals(const struct server *s, const struct axes *values, struct axes *axes)
{
    const struct capacity_result *c = &s->capacity;

    plot_cover_interval(&axes->rates, &values->rates.scale, c->lo, c->hi);
    for (size_t i = 0; i < s->count; ++i) {
        const struct percentile_result *of = s->results[i].percentiles[SERVING_E2E];

        plot_cover_interval(&axes->share, &values->share.scale, s->results[i].slo.lo,
                            s->results[i].slo.hi);
        for (size_t q = 0; q < 2; ++q)
            plot_cover_interval(&axes->latency, &values->latency.scale, of[shown_percentiles[q]].lo,
                                of[shown_percentiles[q]].hi);
    }
}

static struct axes axes_of(const struct view *view, struct server *s)
{
    struct axes axes = {
        .rates = plot_axis_new("requests/s", (struct number_unit){1, ""}, false),
        .share = plot_axis_new("% of the requests", (struct number_unit){0.01, "%"}, false),
        .latency = plot_axis_new(NULL, (struct number_unit){1, ""}, true),
        .typical_ns = NAN};
    struct axes values;

    for (size_t i = 0; i < view->cell_count; ++i)
        if (serving_is_first(view, i) && find_server(view, i, s))
            cover_values(s, &axes);
    values = axes;
    for (size_t i = 0; i < view->cell_count; ++i)
        if (serving_is_first(view, i) && find_server(view, i, s))
            cover_intervals(s, &values, &axes);
    return axes;
}

static void figure(struct text *out, const struct plot_xy *plot, const char *name, size_t number)
{
    char id[32];

    snprintf(id, sizeof(id), "%s%zu", name, number);
    text_append(out, "<figure>");
    plot_xy(out, id, plot);
    text_append(out, "</figure>\n");
}

static void append_attainment(struct text *out, struct server *s, const struct axes *axes,
                              size_t number)
{
    const struct capacity_result *c = &s->capacity;
    struct plot_point points[RATES_MAX], wanted[2], carried;
    struct plot_curve curves[3] = {
        {.name = "within the limits", .line = true, .dots = true, .points = points},
        {.name = "declared share", .slot = LIMIT_SLOT, .line = true, .points = wanted, .count = 2},
        {.name = "capacity", .slot = PLOT_ACCENT, .dots = true, .points = &carried, .count = 1}};
    const struct plot_xy plot = {.heading = "Requests within the limits over the rate",
                                 .description = "A point a rate, with the interval of the share.",
                                 .x = axes->rates,
                                 .y = axes->share,
                                 .curves = curves,
                                 .count = c->state == CAPACITY_INCONCLUSIVE ? 2 : 3};
    struct text words = TEXT_INIT;

    for (size_t i = 0; i < s->count; ++i) {
        const struct slo_result *slo = &s->results[i].slo;
        const bool known = slo->verdict != SLO_INCONCLUSIVE || slo->reason == SLO_REASON_SHARE;

        points[i] = plot_point_at(s->results[i].rate, slo->attainment);
        points[i].y_lo = known ? slo->lo : NAN;
        points[i].y_hi = known ? slo->hi : NAN;
        points[i].hollow = !known;
        snprintf(s->titles[0][i], sizeof(s->titles[0][i]),
                 "%.6g requests/s: %.4g %% within the limits", s->results[i].rate,
                 100 * slo->attainment);
        points[i].title = s->titles[0][i];
    }
    curves[0].count = s->count;
    wanted[0] = plot_point_at(s->results[0].rate, s->limits.attain);
    wanted[1] = plot_point_at(s->results[s->count - 1].rate, s->limits.attain);
    /* Where one side is open, the other end alone. */
    carried = plot_point_at(c->state == CAPACITY_WITHIN     ? c->value
                            : c->state == CAPACITY_AT_LEAST ? c->lo
                                                            : c->hi,
                            s->limits.attain);
    carried.x_lo = c->state == CAPACITY_WITHIN ? c->lo : NAN;
    carried.x_hi = c->state == CAPACITY_WITHIN ? c->hi : NAN;
    carried.hollow = c->state != CAPACITY_WITHIN;
    carried.label = serving_bound_words(c, s->results[0].rate);
    serving_capacity_words(&words, c, s->results[0].rate, s->results[s->count - 1].rate);
    carried.title = text_ok(&words) ? words.data : NULL;
    figure(out, &plot, "capacity", number);
    text_finish(&words);
}

/*
 * The knee: where rate / median latency is largest (Kleinrock, "Power and deterministic rules of
 * thumb for probabilistic problems in computer communications", ICC 1979), among the rates
 * measured.
 */
static size_t knee_of(const struct server *s)
{
    size_t best = SIZE_MAX;
    double most = 0;

    for (size_t i = 0; i < s->count; ++i) {
        const double power = s->results[i].rate / s->results[i].percentiles[SERVING_E2E][0].value;

        if (power > most) {
            most = power;
            best = i;
        }
    }
    return best;
}

static void append_latency(struct text *out, struct server *s, const struct axes *axes,
                           size_t number)
{
    static const char *const names[] = {"p50", "p99"};
    const size_t knee = knee_of(s);
    struct plot_point points[2][RATES_MAX], limit[2], at;
    struct plot_curve curves[4];
    struct plot_xy plot = {.heading = "Latency end to end over the rate",
                           .description = "Median and 99th percentile, with their intervals.",
                           .x = axes->rates,
                           .y = axes->latency,
                           .curves = curves};
    char title[NUMBER_SIZE + 16], human[TEXT_HUMAN_SIZE];

    for (size_t q = 0; q < 2; ++q) {
        size_t used = 0;

        for (size_t i = 0; i < s->count; ++i) {
            const struct percentile_result *p =
                &s->results[i].percentiles[SERVING_E2E][shown_percentiles[q]];

            if (!isfinite(p->value))
                continue;
            points[q][used] = plot_point_at(s->results[i].rate, p->value);
            points[q][used].y_lo = p->lo;
            points[q][used].y_hi = p->hi;
            points[q][used].hollow = p->state != PERCENTILE_GIVEN;
            snprintf(s->titles[1 + q][i], sizeof(s->titles[1 + q][i]), "%.6g requests/s: %s %s",
                     s->results[i].rate, names[q], text_human_duration(p->value, human));
            points[q][used++].title = s->titles[1 + q][i];
        }
        if (used > 0)
            curves[plot.count++] = (struct plot_curve){.name = names[q],
                                                       .slot = q,
                                                       .line = true,
                                                       .dots = true,
                                                       .points = points[q],
                                                       .count = used};
    }
    if (plot.count == 0)
        return;
    if (s->limits.ns[SERVING_E2E] > 0) {
        limit[0] = plot_point_at(s->results[0].rate, (double)s->limits.ns[SERVING_E2E]);
        limit[1] = plot_point_at(s->results[s->count - 1].rate, limit[0].y);
        curves[plot.count++] = (struct plot_curve){
            .name = "limit", .slot = LIMIT_SLOT, .line = true, .points = limit, .count = 2};
    }
    if (knee != SIZE_MAX) {
        at = plot_point_at(s->results[knee].rate,
                           s->results[knee].percentiles[SERVING_E2E][0].value);
        at.label = at.title = "knee";
        curves[plot.count++] = (struct plot_curve){
            .name = "knee", .slot = PLOT_ACCENT, .dots = true, .points = &at, .count = 1};
    }
    plot.y.unit = number_unit_duration(axes->typical_ns);
    snprintf(title, sizeof(title), "latency, %s", plot.y.unit.name);
    plot.y.title = title;
    figure(out, &plot, "rates", number);
}

static void append_heading(struct text *out, const struct view_cell *cell)
{
    CLEANUP(text_finish) struct text where = TEXT_INIT;

    serving_where(&where, cell);
    escape_html_short(out, cell->workload ? cell->workload : "workload not recorded", 64);
    escape_html(out, where.data);
}

void html_serving_pictures(struct text *out, const struct view *view)
{
    AUTO_FREE struct server *s = calloc(1, sizeof(*s));
    struct axes axes;
    size_t number = 0;

    if (!s) {
        out->failed = true;
        return;
    }
    axes = axes_of(view, s);
    for (size_t i = 0; i < view->cell_count; ++i) {
        if (!serving_is_first(view, i) || !find_server(view, i, s))
            continue;
        text_append(out, "<section class=\"picture\"><h3>Under load: ");
        append_heading(out, s->first);
        text_append(out, "</h3>\n<div class=\"charts\">\n");
        append_attainment(out, s, &axes, ++number);
        append_latency(out, s, &axes, number);
        text_append(out, "</div>\n<p class=\"soft\"><small>Hollow: without an interval, for the "
                         "reason that the result gives. Capacity: where the share crosses the "
                         "declared one, with its interval; hollow, it is that or more (less): "
                         "its other side is open. Knee: of the rates measured the one "
                         "with the largest rate / median latency. Results ");
        for (size_t k = 0; k < s->count; ++k) {
            text_append(out, k ? ", <a href=\"#" : "<a href=\"#");
            html_result_id(out, s->cells[k]);
            text_append(out, "\">");
            escape_html(out, s->cells[k]->result);
            text_append(out, "</a>");
        }
        text_append(out, ".</small></p></section>\n");
    }
}
