/* The table of results as a document: rows grouped by device, remarks below it. */
#include "reports/results_document.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/html_internal.h"
#include "reports/remarks.h"
#include "reports/serving_table.h"
#include "reports/size_words.h"

/* ---- a row ---- */

static void add_name(struct doc *doc, const struct view_cell *cell, bool with_ids)
{
    AUTO_FREE char *id = phrase_result_id(cell);

    doc_add(doc, "{link #%s %.64s}%s", id ? id : "",
            cell->workload ? cell->workload : "workload not recorded", cell->variant);
    if (with_ids)
        doc_add(doc, " {code %s}", cell->result);
    doc->out->failed |= !id;
}

static void add_value(struct doc *doc, const struct view_cell *cell, struct view_figure *figure)
{
    if (!view_headline_figure(cell, figure)) {
        doc_add(doc, "\t{care %s}\t%s", view_no_value_label(cell), view_no_value_reason(cell));
        return;
    }
    doc_add(doc, figure->marked ? "\t(%s%s)\t" : "\t%s%s\t", figure->value, figure->of);
    doc_add(doc, "%s",
            *figure->spread          ? figure->spread
            : cell->imported.present ? "as its file says"
                                     : "no interval");
}

static void add_refs(struct doc *doc, const struct remarks *remarks, size_t index)
{
    size_t refs[16];
    const size_t count = remarks_of(remarks, index, refs, 16);

    for (size_t i = 0; i < count; i++)
        doc_add(doc, "%s{link #remarks-%zu %zu}", i ? "," : " [", refs[i], refs[i]);
    doc_add(doc, count ? "]" : "");
}

static void add_metric(struct doc *doc, const struct view_cell *cell, enum metric_id id)
{
    struct view_figure figure;

    if (view_figure_of(id, view_metric(cell, id), &figure))
        doc_add(doc, "\t%s", figure.value);
    else
        doc_add(doc, "\t{soft \u2013}");
}

static void add_trials(struct doc *doc, const struct view_cell *cell)
{
    const long long planned = cell->trials_planned.known ? cell->trials_planned.value : 0;

    if (cell->imported.present)
        doc_add(doc, "\t{soft \u2013}");
    else
        doc_add(doc,
                view_is_unsupported(cell) || cell->run == VIEW_RUN_RUNNING ? "\t{soft %zu/%lld}"
                : (long long)cell->ok_count < planned                      ? "\t{bad %zu/%lld}"
                                                                           : "\t%zu/%lld",
                cell->ok_count, planned);
}

struct table {
    const struct view *view;
    struct remarks remarks;
    bool has_ratio, with_ids;
};

static void say_row(struct doc *doc, const struct table *table, size_t index)
{
    const struct view_cell *cell = &table->view->cells[index];
    struct view_figure figure;

    add_name(doc, cell, table->with_ids);
    doc_add(doc, "\t%s\t", cell->precision);
    doc_add(doc, cell->batch.known ? "%lld" : "{none not recorded}", (long long)cell->batch.value);
    add_value(doc, cell, &figure);
    add_refs(doc, &table->remarks, index);
    if (table->has_ratio)
        add_metric(doc, cell, METRIC_REFERENCE_RATIO);
    add_metric(doc, cell, METRIC_ITERATION_TIME);
    doc_add(doc,
            !cell->estimate        ? "\t%s\t{soft %s}"
            : view_is_steady(cell) ? "\t%s\t{good %s}"
                                   : "\t%s\t{care %s}",
            figure.grade, view_verdict_label(cell));
    add_trials(doc, cell);
    doc_end(doc, NULL);
}

/* ---- the table ---- */

static void say_group(struct doc *doc, const struct view *view, const struct view_cell *cell)
{
    doc_add(doc, "%.120s {soft %s%s%s",
            cell->device.name ? cell->device.name : "device not recorded", cell->device_spec,
            cell->device.simulated ? ", simulated" : "",
            cell->imported.present ? ", imported" : "");
    if (view->campaign_count > 1)
        doc_add(doc, ", campaign %.8s", view->campaigns[cell->campaign].uid);
    doc_say(doc, "group", "}");
}

static void say_rows(struct doc *doc, const struct table *table)
{
    const struct view *view = table->view;
    AUTO_FREE bool *done = calloc(view->cell_count + 1, sizeof(*done));

    doc->out->failed |= !done;
    for (size_t i = 0; done && i < view->cell_count; i++) {
        const struct view_cell *first = &view->cells[i];

        if (done[i])
            continue;
        say_group(doc, view, first);
        for (size_t k = i; k < view->cell_count; k++) {
            if (done[k] || view->cells[k].campaign != first->campaign ||
                !view_same_device(first, &view->cells[k]))
                continue;
            done[k] = true;
            say_row(doc, table, k);
        }
    }
}

/* Without the column of ratios where there is none. */
static void say_table(struct doc *doc, const struct table *table)
{
    enum { RATIO = 5, ALL = 10 };
    char interval[VIEW_INTERVAL_SIZE];
    struct doc_column columns[ALL] = {{"Workload", DOC_NAME | DOC_BREAK, 0, NULL},
                                      {"Precision", 0, 0, NULL},
                                      {"Batch", DOC_NUMBER, 0, "batch"},
                                      {"Result", DOC_NUMBER, 0, "value"},
                                      {interval, 0, 0, "spread"},
                                      {"/ reference loop", DOC_NUMBER, 0, "ratio"},
                                      {"Per iteration", DOC_NUMBER, 0, "time"},
                                      {"Grade", DOC_NUMBER, 0, "grade"},
                                      {"Verdict", 0, 0, NULL},
                                      {"Trials", DOC_NUMBER, 0, NULL}};

    view_interval_head(table->view, interval);
    if (!table->has_ratio)
        memmove(&columns[RATIO], &columns[RATIO + 1], (ALL - RATIO - 1) * sizeof(*columns));
    doc_add(doc,
            "One row per result. An interval is relative to its result; ± is its larger side. "
            "Grades: A within 1 %%, B within 5 %%, C within 20 %%, D an indication only, in "
            "parentheses. Results of different workloads, precisions or protocols are not to be "
            "compared, and none are averaged.");
    doc_table(doc, "results", columns, ALL - !table->has_ratio);
    say_rows(doc, table);
    doc_close(doc);
}

void results_document(struct doc *doc, const struct view *view, bool is_whole)
{
    CLEANUP(text_finish) struct text closing = TEXT_INIT;
    struct table table = {.view = view,
                          .has_ratio = view_any_metric(view, METRIC_REFERENCE_RATIO),
                          .with_ids = is_whole};

    remarks_init(&table.remarks);
    for (size_t i = 0; i < view->cell_count; i++)
        remarks_add_cell(&table.remarks, i, &view->cells[i]);
    remarks_render(&table.remarks);
    size_words(doc, view);
    say_table(doc, &table);
    serving_table(doc, view, false);
    if (table.remarks.count > 0)
        doc_open(doc, DOC_NUMBERED, "remarks");
    for (size_t i = 0; i < table.remarks.count; i++)
        doc_say(doc, NULL, "%s", table.remarks.items[i].text);
    if (table.remarks.count > 0)
        doc_close(doc);
    doc->out->failed |= table.remarks.failed;
    remarks_finish(&table.remarks);
    if (is_whole && view_closing_words(view, &closing))
        doc_say(doc, NULL, "%s", closing.data);
}
