/* The same work on several devices: a small picture for each, the devices below each other. */
#include "reports/html_pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "reports/plot.h"

#define DEVICES_MAX 64 /* in one picture; the table has all */

/* One piece of work under one protocol, whatever it was measured on. */
static bool is_alike(const struct view_cell *a, const struct view_cell *b)
{
    enum metric_id x, y;

    return view_headline(a, &x) && view_headline(b, &y) && x == y && !b->arm &&
           !b->imported.present && text_same(a->workload, b->workload) &&
           text_same(a->precision, b->precision) && a->batch.known == b->batch.known &&
           a->batch.value == b->batch.value && text_same(a->scenario, b->scenario) &&
           text_same(a->protocol_digest, b->protocol_digest);
}

static bool is_one_device(const struct view_cell *a, const struct view_cell *b)
{
    return a->campaign == b->campaign && text_same(a->device_spec, b->device_spec);
}

/* Results of the work of cell `index` on a device each, in `ret`; 0: an earlier one began them. */
static size_t devices_of(const struct view *view, size_t index,
                         const struct view_cell *ret[DEVICES_MAX])
{
    const struct view_cell *first = &view->cells[index];
    size_t count = 0;

    if (!is_alike(first, first))
        return 0;
    for (size_t i = 0; i < view->cell_count; ++i) {
        const struct view_cell *cell = &view->cells[i];
        bool is_new = true;

        if (!is_alike(first, cell))
            continue;
        if (i < index)
            return 0;
        for (size_t k = 0; k < count; ++k)
            is_new = is_new && !is_one_device(ret[k], cell);
        if (is_new && count < DEVICES_MAX)
            ret[count++] = cell;
    }
    return count;
}

/* Devices by their names; units of one type by where they were, and the result. */
static char *label_of(const struct view_cell *const *cells, size_t count, size_t index)
{
    const char *name = cells[index]->device.name;

    for (size_t i = 0; i < count; ++i)
        if (i != index && text_same(cells[i]->device.name, name))
            name = NULL;
    if (name)
        return text_format("%.40s", name);
    return text_format("%s, %s", cells[index]->device_spec ? cells[index]->device_spec : "?",
                       cells[index]->result);
}

static void append_panel(struct text *out, const struct view_cell *const *cells, size_t count,
                         size_t number)
{
    struct plot_row rows[DEVICES_MAX];
    char values[DEVICES_MAX][HTML_ROW_SIZE], *labels[DEVICES_MAX], id[32];
    char *heading = html_cell_words(cells[0], false);
    struct metric_value largest = {.value = 0};
    enum metric_id metric = METRIC_ITERATION_TIME;
    struct plot_rows plot = {.heading = heading ? heading : "",
                             .description = "A row per device, a mark with its interval.",
                             .rows = rows,
                             .count = count,
                             .reference = NAN,
                             .band_lo = NAN,
                             .band_hi = NAN};

    view_headline(cells[0], &metric);
    snprintf(id, sizeof(id), "device-%zu", number);
    for (size_t i = 0; i < count; ++i) {
        labels[i] = label_of(cells, count, i);
        out->failed = out->failed || !labels[i];
        rows[i] = html_row_of(cells[i], metric, labels[i] ? labels[i] : "", values[i]);
        if (rows[i].at > largest.value)
            largest = *view_metric(cells[i], metric);
    }
    plot.axis = plot_axis_new(NULL, view_metric_unit(metric, &largest), false);
    text_append(out, "<figure>");
    plot_rows(out, id, &plot);
    text_append(out, "</figure>\n");
    for (size_t i = 0; i < count; ++i)
        free(labels[i]);
    out->failed = out->failed || !heading;
    free(heading);
}

void html_devices(struct text *out, const struct view *view)
{
    const struct view_cell *cells[DEVICES_MAX];
    CLEANUP(text_finish) struct text body = TEXT_INIT;
    size_t panels = 0, most = 0;

    for (size_t i = 0; i < view->cell_count; ++i) {
        const size_t count = devices_of(view, i, cells);

        if (count < 2)
            continue;
        append_panel(&body, cells, count, ++panels);
        most = count > most ? count : most;
    }
    /* One piece of work on two devices is in the first picture already. */
    if (panels > 1 || most > 2) {
        text_append(out, "<section class=\"picture\"><h3>By device</h3>\n<div class=\"charts\">\n");
        text_append_bytes(out, body.data, body.length);
        text_append(out, "</div>\n<p class=\"soft\"><small>The same work under the same protocol; "
                         "each picture has its own scale. Whether two of them may be compared, and "
                         "what differs besides the device, <code>assay compare</code> says.</small>"
                         "</p></section>\n");
    }
    out->failed = out->failed || body.failed;
}
