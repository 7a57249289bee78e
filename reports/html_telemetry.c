/* Telemetry of each trial: strips over time, and what was unavailable. */
#include "reports/cell_document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"

#define STRIPS_MAX 14
#define MISSING INT64_MIN

struct strips {
    struct chart_strip items[STRIPS_MAX];
    double *owned[2 * STRIPS_MAX];
    char labels[STRIPS_MAX][80];
    size_t count;
    size_t left_out; /* channels with values that did not fit */
};

static void finish(struct strips *strips)
{
    for (size_t i = 0; i < 2 * strips->count; ++i)
        free(strips->owned[i]);
}

/* How a channel's unit is shown, and by how much it is divided; false: not drawn by itself. */
static bool unit_of(const char *name, const char **ret_unit, double *ret_factor)
{
    static const struct {
        const char *end, *unit;
        double factor;
    } units[] = {{"_mw", "W", 1e3},         {"_khz", "MHz", 1e3},       {"_mc", "\u00b0C", 1e3},
                 {"_percent", "%", 1},      {"_bytes", "MiB", 1048576}, {"_reasons", "", 1},
                 {"_permille", "\u2030", 1}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
        if (!text_ends_in(name, units[i].end))
            continue;
        *ret_unit = units[i].unit;
        *ret_factor = units[i].factor;
        return true;
    }
    return false;
}

/* Room for a strip of `count` points; NULL when there is none. */
static struct chart_strip *add(struct strips *strips, size_t count, const char *unit,
                               const char *label)
{
    struct chart_strip *strip = &strips->items[strips->count];
    double *s, *values;

    if (strips->count == STRIPS_MAX) {
        strips->left_out++;
        return NULL;
    }
    s = malloc((count + 1) * sizeof(*s));
    values = malloc((count + 1) * sizeof(*values));
    if (!s || !values) {
        free(s);
        free(values);
        return NULL;
    }
    strips->owned[2 * strips->count] = s;
    strips->owned[2 * strips->count + 1] = values;
    snprintf(strips->labels[strips->count], sizeof(strips->labels[0]), "%.79s", label);
    *strip = (struct chart_strip){strips->labels[strips->count], unit, s, values, count};
    strips->count++;
    return strip;
}

static void add_gauge(struct strips *strips, struct store *store, int64_t trial, const char *part,
                      const char *name, const char *unit, double factor)
{
    AUTO_FREE int64_t *times = NULL, *values = NULL;
    size_t count = 0;
    struct chart_strip *strip;
    char label[80];

    if (store_load_telemetry(store, trial, part, name, MISSING, &times, &values, &count, NULL) !=
        STATUS_OK)
        return;
    /* The unit is next to the scale. */
    snprintf(label, sizeof(label), "%.16s %.*s", part,
             (int)(unit[0] && strrchr(name, '_') ? strrchr(name, '_') - name : 60), name);
    for (char *c = label; *c; ++c)
        *c = *c == '_' ? ' ' : *c;
    strip = add(strips, count, unit, label);
    for (size_t i = 0; strip && i < count; ++i) {
        ((double *)strip->s)[i] = (double)times[i] / 1e9;
        ((double *)strip->values)[i] = values[i] == MISSING ? NAN : (double)values[i] / factor;
    }
}

/* A counter's growth per second, minus that of another (NULL: none), between moments. */
static void add_rate(struct strips *strips, struct store *store, int64_t trial, const char *name,
                     const char *less, double factor, const char *unit, const char *label)
{
    AUTO_FREE int64_t *times = NULL, *values = NULL, *other_times = NULL, *others = NULL;
    size_t count = 0, other_count = 0;
    struct chart_strip *strip;

    if (store_load_telemetry(store, trial, "host", name, MISSING, &times, &values, &count, NULL) !=
        STATUS_OK)
        return;
    if (less && (store_load_telemetry(store, trial, "host", less, MISSING, &other_times, &others,
                                      &other_count, NULL) != STATUS_OK ||
                 other_count != count)) {
        return;
    }
    strip = count > 1 ? add(strips, count - 1, unit, label) : NULL;
    for (size_t i = 1; strip && i < count; ++i) {
        double s = (double)(times[i] - times[i - 1]) / 1e9;
        bool known = values[i] != MISSING && values[i - 1] != MISSING && s > 1e-3 &&
                     (!less || (others[i] != MISSING && others[i - 1] != MISSING));
        double grown = known ? (double)values[i] - (double)values[i - 1] : NAN;

        if (known && less)
            grown -= (double)others[i] - (double)others[i - 1];
        ((double *)strip->s)[i - 1] = (double)times[i] / 1e9;
        ((double *)strip->values)[i - 1] = grown < 0 ? (less ? 0 : NAN) : grown / factor / s;
    }
}

static void add_part(struct strips *strips, struct store *store, int64_t trial, const json_t *part)
{
    const char *name = member_text(part, "part");

    EACH(channel, json_object_get(part, "channels")) {
        const char *kind = member_text(channel, "kind");
        const char *channel_name = member_text(channel, "name"), *unit;
        double factor;

        if (strcmp(kind, "counter") != 0 && unit_of(channel_name, &unit, &factor))
            add_gauge(strips, store, trial, name, channel_name, unit, factor);
        else if (strcmp(kind, "counter") == 0 && strcmp(name, "host") == 0 &&
                 text_ends_in(channel_name, "energy_uj"))
            add_rate(strips, store, trial, channel_name, NULL, 1e6, "W", channel_name);
    }
    if (strcmp(name, "host") != 0)
        return;
    add_rate(strips, store, trial, "worker_cpu_ms", NULL, 1e3, "cpus", "the worker's processors");
    add_rate(strips, store, trial, "cpu_busy_ms", "worker_cpu_ms", 1e3, "cpus",
             "other processes' processors");
    add_rate(strips, store, trial, "cpu_steal_ms", NULL, 1e3, "cpus", "stolen by the hypervisor");
    add_rate(strips, store, trial, "cgroup_throttled_us", NULL, 1e6, "cpus",
             "stopped by the cgroup's quota");
}

static void append_trial(struct text *out, struct store *store, const struct view_cell *cell,
                         size_t at)
{
    const struct view_trial *trial = &cell->trials[at];
    double begin_s = 0, end_s = 0, last_s = 0;
    struct strips strips = {.count = 0};
    char number[64], heading[HTML_HEADING_SIZE];
    CLEANUP(text_finish) struct text id = TEXT_INIT;

    EACH(part, trial->telemetry)
        add_part(&strips, store, trial->id, part);
    for (size_t k = 0; k < strips.count; ++k)
        if (strips.items[k].count > 0)
            last_s = fmax(last_s, strips.items[k].s[strips.items[k].count - 1]);
    end_s = last_s;
    for (size_t k = 0; k < trial->phase_count; ++k)
        if (strcmp(trial->phases[k].name, "window") == 0) {
            begin_s = (double)trial->phases[k].begin_ns.value / 1e9;
            end_s = (double)trial->phases[k].end_ns.value / 1e9;
        }
    html_figure_id(&id, cell, "w", at + 1);
    snprintf(number, sizeof(number), "System telemetry, trial %lld", (long long)trial->number);
    html_figure_heading(cell, number, heading);
    if (strips.count > 0 && last_s > 0) {
        text_append(out, "<figure>");
        chart_strips(out, id.data, heading, strips.items, strips.count, begin_s, end_s, last_s);
        if (strips.left_out)
            text_append_format(out,
                               "<figcaption>%zu more channels are in the database.</figcaption>",
                               strips.left_out);
        text_append(out, "</figure>\n");
    }
    finish(&strips);
}

void html_telemetry(struct doc *doc, struct store *store, const struct view_cell *cell)
{
    const struct view_trial *shown = NULL;

    for (size_t i = 0; i < cell->trial_count; ++i)
        if (json_array_size(cell->trials[i].telemetry) > 0 && !shown)
            shown = &cell->trials[i];
    if (!shown)
        return;
    doc_heading(doc, 4, NULL, "System telemetry");
    doc_open(doc, DOC_GROUP, "charts");
    for (size_t i = 0; i < cell->trial_count; ++i)
        append_trial(doc->out, store, cell, i);
    doc_close(doc);
    doc_say(doc, "soft small",
            "Horizontal: seconds since the trial's start; what lies outside the window is shaded. "
            "Each strip has its own scale.");
    doc_add(doc, "What was sampled, what it cost, and what could not be had (trial %lld)",
            (long long)shown->number);
    doc_open(doc, DOC_FOLD, NULL);
    cell_telemetry(doc, shown);
    doc_close(doc);
}
