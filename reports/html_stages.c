/* Where the time of an iteration goes: its stages, the device's clock, the harness between samples.
 */
#include "reports/html_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "reports/escape.h"

/* Mean per iteration of a series over the steady samples of the trials in use; false: none. */
static bool series_mean(struct store *store, const struct view_cell *cell,
                        const struct html_loaded *loaded, const char *name, bool per_sample,
                        double *ret_ns, double *ret_wall_ns)
{
    double sum = 0, wall = 0, weight = 0;

    for (size_t i = 0; i < cell->trial_count; ++i) {
        AUTO_FREE int64_t *values = NULL;
        size_t count = 0;

        if (!loaded[i].used ||
            store_load_samples(store, cell->trials[i].id, name, &values, &count, NULL) != STATUS_OK)
            continue;
        for (size_t k = loaded[i].from; k < count && k < loaded[i].series.count; ++k) {
            if (values[k] < 0) /* unavailable */
                continue;
            sum += (double)values[k] / (per_sample ? loaded[i].series.iterations : 1);
            wall += (double)loaded[i].wall[k] / loaded[i].series.iterations;
            ++weight;
        }
    }
    if (!(weight > 0))
        return false;
    *ret_ns = sum / weight;
    *ret_wall_ns = wall / weight;
    return true;
}

struct stage {
    const char *name; /* without "stage:" */
    double ns, wall_ns;
};
#define STAGES_MAX 16

/* A step's own order; others follow in the order stored. */
static int stage_rank(const char *name)
{
    static const char *const order[] = {"data",     "upload",    "forward", "loss",
                                        "backward", "optimizer", "download"};

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); ++i)
        if (strcmp(name, order[i]) == 0)
            return (int)i;
    return 100;
}

static size_t find_stages(const struct view_cell *cell, const struct html_loaded *loaded,
                          struct stage *ret)
{
    size_t count = 0;

    for (size_t t = 0; t < cell->trial_count; ++t) {
        EACH(row, loaded[t].used ? cell->trials[t].series_rows : NULL) {
            const char *name = member_text(row, "name");
            bool known = false;
            size_t at = count;

            if (strncmp(name, "stage:", 6) != 0)
                continue;
            for (size_t i = 0; i < count; ++i)
                known = known || strcmp(ret[i].name, name + 6) == 0;
            if (known || count == STAGES_MAX)
                continue;
            while (at > 0 && stage_rank(ret[at - 1].name) > stage_rank(name + 6)) {
                ret[at] = ret[at - 1];
                --at;
            }
            ret[at] = (struct stage){.name = name + 6};
            ++count;
        }
    }
    return count;
}

static void append_stage_table(struct text *out, const struct chart_part *parts, size_t count,
                               double wall_ns)
{
    char number[NUMBER_SIZE];

    text_append(
        out, "<div class=\"scroll\"><table class=\"tight\"><thead><tr><th scope=\"col\">Stage</th>"
             "<th scope=\"col\" class=\"num\">Time</th><th scope=\"col\" class=\"num\">ns</th>"
             "<th scope=\"col\" class=\"num\">Share of the step</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; ++i) {
        struct number_unit unit = number_unit_duration(parts[i].ns);

        text_append_format(
            out, "<tr><th scope=\"row\" class=\"wrap\"><span class=\"swatch s%zu\"></span>",
            parts[i].slot);
        escape_html(out, parts[i].name);
        text_append_format(out, "</th><td class=\"num\">%s</td>",
                           number_format_unit(parts[i].ns, &unit, number));
        text_append_format(out, "<td class=\"num\">%s</td>",
                           number_format_count((int64_t)llround(parts[i].ns), number));
        text_append_format(out, "<td class=\"num\">%s</td></tr>\n",
                           number_format_percent(parts[i].ns / wall_ns, number));
    }
    text_append(out, "</tbody></table></div>\n");
}

void html_stages(struct text *out, struct store *store, const struct view_cell *cell,
                 const struct html_loaded *loaded)
{
    struct stage stages[STAGES_MAX];
    struct chart_part parts[STAGES_MAX + 1];
    size_t found = find_stages(cell, loaded, stages), count = 0;
    double sum = 0, wall_ns = 0;
    struct number_unit unit;
    CLEANUP(text_finish) struct text id = TEXT_INIT;
    char number[NUMBER_SIZE];

    for (size_t i = 0; i < found; ++i) {
        char name[128];

        snprintf(name, sizeof(name), "stage:%.110s", stages[i].name);
        if (!series_mean(store, cell, loaded, name, false, &stages[i].ns, &stages[i].wall_ns))
            continue;
        parts[count] = (struct chart_part){stages[i].name, stages[i].ns, count % CHART_SLOTS};
        ++count;
        sum += stages[i].ns;
        wall_ns = stages[i].wall_ns;
    }
    if (count == 0 || !(wall_ns > 0))
        return;
    unit = number_unit_duration(wall_ns);
    if (wall_ns - sum > wall_ns * 1e-4) {
        parts[count] =
            (struct chart_part){"in no stage (host, launch, waiting)", wall_ns - sum, CHART_SLOTS};
        ++count;
    }
    html_figure_id(&id, cell, "s", 0);
    text_append(out, "<h4>Stages of a step</h4>\n<figure>");
    chart_parts(out, id.data, "Stages of a step", parts, count, &unit);
    append_stage_table(out, parts, count, wall_ns);
    text_append_format(out, "<figcaption>Means over the %s; the step takes %s by the wall clock.",
                       view_is_steady(cell) ? "steady samples" : "windows",
                       number_format_unit(wall_ns, &unit, number));
    if (sum > wall_ns * 1.005)
        text_append_format(out,
                           " The stages add up to %s of that: they overlap, or their clock runs "
                           "differently.",
                           number_format_percent(sum / wall_ns, number));
    text_append(out, "</figcaption></figure>\n");
}

void html_clocks(struct text *out, struct store *store, const struct view_cell *cell,
                 const struct html_loaded *loaded)
{
    double device_ns, wall_ns, gap_ns;
    char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE];
    struct number_unit unit;

    text_append(out, "<h4>Clocks</h4>\n<p>");
    if (series_mean(store, cell, loaded, "device_ns", true, &device_ns, &wall_ns) && wall_ns > 0) {
        unit = number_unit_duration(wall_ns);
        text_append_format(out,
                           "Of %s per iteration by the wall clock, the device's own clock saw %s "
                           "(%s); the rest is launch, host and waiting.",
                           number_format_unit(wall_ns, &unit, a),
                           number_format_unit(device_ns, &unit, b),
                           number_format_percent(device_ns / wall_ns, c));
    } else {
        text_append(out,
                    "Times are the host's wall clock. The device's own clock: <span class=\"none\">"
                    "unavailable: no device times were recorded</span>.");
    }
    if (series_mean(store, cell, loaded, "gap_ns", false, &gap_ns, &wall_ns)) {
        unit = number_unit_duration(gap_ns);
        text_append_format(out, " Between two samples the harness took %s on average.",
                           number_format_unit(gap_ns, &unit, a));
    }
    text_append(out, "</p>\n");
}
