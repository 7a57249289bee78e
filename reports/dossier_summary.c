/*
 * The first page of a dossier, for whoever reads no further: what was asked and decided, each
 * figure with its interval in its own unit, objections to it, and who signed. The sections below
 * have all of it in full.
 */
#include <sqlite3.h>
#include <string.h>

#include "reports/dossier_internal.h"
#include "reports/escape.h"

static void append_row(struct text *out, const struct view_cell *cell)
{
    enum metric_id id = METRIC_ITERATION_TIME;
    const struct metric_value *value = view_headline(cell, &id);
    struct view_figure figure;

    text_append(out, "<tr><th scope=\"row\" class=\"wrap\"><a href=\"#");
    html_result_id(out, cell);
    text_append(out, "\">");
    html_cell_title(out, cell);
    text_append(out, "</a><br><span class=\"soft\">");
    escape_html_short(out, cell->device.name ? cell->device.name : "device not recorded", 80);
    text_append(out, cell->device.simulated ? ", simulated" : "");
    text_append(out, ", <code>");
    escape_html(out, cell->result);
    text_append(out, "</code></span></th><td class=\"value\">");
    if (view_figure_of(id, value, &figure)) {
        escape_html(out, figure.marked ? "(" : "");
        escape_html(out, figure.value);
        text_append(out, figure.of);
        text_append(out, figure.marked ? ")</td><td class=\"when\">" : "</td><td class=\"when\">");
        escape_html(out, figure.ends[0]           ? figure.ends
                         : cell->imported.present ? "as its file says, without an interval"
                                                  : "none");
    } else {
        text_append_format(out, "<span class=\"care\">%s</span></td><td>",
                           view_no_value_label(cell));
        escape_html(out, view_no_value_reason(cell));
    }
    text_append(out, "</td><td>");
    if (view_is_unsupported(cell))
        text_append(out, "\u2013");
    else
        text_append_format(out, "%s%s", figure.grade, *figure.grade ? ", " : "");
    if (!view_is_unsupported(cell))
        escape_html(out, view_verdict_label(cell));
    text_append_format(out, "</td><td class=\"num%s\">",
                       view_is_unsupported(cell) ? ""
                       : cell->trials_planned.known &&
                               (int64_t)cell->ok_count < cell->trials_planned.value
                           ? " bad"
                           : "");
    if (cell->imported.present)
        text_append(out, "\u2013");
    else
        text_append_format(out, "%zu of %lld", cell->ok_count,
                           cell->trials_planned.known ? (long long)cell->trials_planned.value : 0);
    text_append(out, "</td></tr>\n");
}

static double confidence_of(const struct view *view)
{
    double confidence = 0;

    for (size_t i = 0; i < view->cell_count; i++) {
        const struct estimate *estimate = view->cells[i].estimate;
        double own = estimate && estimate->confidence > 0 ? estimate->confidence : 0;

        if (own > 0 && confidence > 0 && own != confidence)
            return 0;
        confidence = own > 0 ? own : confidence;
    }
    return confidence;
}

static void append_figures(struct text *out, const struct view *view)
{
    double confidence = confidence_of(view);

    text_append(out, "<div class=\"scroll\"><table class=\"results short\"><thead><tr>"
                     "<th scope=\"col\">What was measured, on what</th>"
                     "<th scope=\"col\" class=\"num\">Result</th><th scope=\"col\">");
    if (confidence > 0)
        text_append_format(out, "%.4g %% interval", 100 * confidence);
    else
        text_append(out, "Interval");
    text_append(out, "</th><th scope=\"col\">Grade, verdict</th>"
                     "<th scope=\"col\" class=\"num\">Trials</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < view->cell_count; i++)
        append_row(out, &view->cells[i]);
    text_append(out, "</tbody></table></div>\n");
}

static void append_attempts(struct text *out, const struct view *view)
{
    size_t attempts = 0, ok = 0, imported = 0, unsupported = 0;
    long long planned = 0;

    for (size_t i = 0; i < view->cell_count; i++) {
        attempts += view->cells[i].trial_count;
        imported += view->cells[i].imported.present;
        ok += view->cells[i].ok_count;
        unsupported += view_is_unsupported(&view->cells[i]) ? view->cells[i].trial_count : 0;
        planned += view->cells[i].trials_planned.known ? view->cells[i].trials_planned.value : 0;
    }
    html_fact_begin(out, "Attempts");
    if (imported == view->cell_count) {
        text_append(out, "none of assay's own: another program measured");
    } else {
        text_append_format(
            out, "%lld planned beforehand, %zu started, <span class=\"%s\">%zu completed</span>",
            planned, attempts, (long long)(ok + unsupported) < planned ? "bad" : "good", ok);
        if (unsupported > 0)
            text_append_format(out, ", %zu asked for what their device does not support",
                               unsupported);
        text_append(out, "; <a href=\"#attempts\">all of them</a>");
    }
    html_fact_end(out);
}

/* columns: 0 severity, 1 names of checks */
static void append_severity(struct text *out, const struct dossier_row *row)
{
    text_append(out, out->length ? "; " : "");
    escape_html(out, dossier_column(row, 1));
    text_append(out, " (");
    escape_html(out, dossier_column(row, 0));
    text_append_char(out, ')');
}

static enum status append_machine(struct text *out, struct store *store, const struct view *view,
                                  struct error *err)
{
    struct text found;
    size_t rows = 0, looked = 0;
    enum status status = STATUS_OK;

    text_init(&found);
    for (size_t i = 0; i < view->campaign_count && status == STATUS_OK; i++) {
        looked += json_array_size(json_object_get(view->campaigns[i].root, "doctor"));
        status = dossier_each_row(
            &found, store, view,
            "SELECT severity, group_concat(name, ', ') FROM (SELECT DISTINCT severity,"
            " \"check\" AS name FROM findings WHERE campaign = ?1 AND severity <> 'info')"
            " GROUP BY severity ORDER BY severity DESC",
            view->campaigns[i].id, append_severity, &rows, err);
    }
    html_fact_begin(out, "The machine");
    if (found.length > 0) {
        bool unfit = strstr(found.data, "(critical)") != NULL;

        text_append_format(out, "<span class=\"%s\">%s: ", unfit ? "bad" : "care",
                           unfit ? "not fit to measure on" : "with warnings");
        text_append_bytes(out, found.data, found.length);
        text_append(out, "</span>; <a href=\"#deviations\">the effects</a>");
    } else {
        text_append(out, looked ? "found fit to measure on"
                                : "<span class=\"care\">its fitness was not checked</span>");
    }
    html_fact_end(out);
    out->failed = out->failed || found.failed;
    text_finish(&found);
    return status;
}

/* columns: 0 name, 1 role, 2 kinds of heads */
static void append_signer(struct text *out, const struct dossier_row *row)
{
    text_append(out, out->length ? "; " : "");
    html_known(out, dossier_column(row, 0));
    text_append(out, " (");
    escape_html(out, dossier_column(row, 1));
    text_append(out, ": ");
    escape_html(out, dossier_column(row, 2));
    text_append_char(out, ')');
}

/* The names under a bundle's head: lines that begin with a dash in its signed note. Column: note.
 */
static void append_note_signers(struct text *out, const struct dossier_row *row)
{
    static const char mark[] = "\n\u2014 ";
    const char *note = dossier_column(row, 0);

    while (note && (note = strstr(note, mark)) != NULL) {
        size_t length;

        note += sizeof(mark) - 1;
        length = strcspn(note, " \n");
        text_append(out, out->length ? "; " : "");
        escape_html_bytes(out, note, length);
        text_append(out, " (the bundle it came in)");
        note += length;
    }
}

static enum status append_signers(struct text *out, struct store *store, const struct view *view,
                                  struct error *err)
{
    struct text signers;
    size_t rows = 0, unsigned_count = 0;
    enum status status = STATUS_OK;

    text_init(&signers);
    for (size_t i = 0; i < view->campaign_count && status == STATUS_OK; i++) {
        size_t before = signers.length;

        status = dossier_each_row(&signers, store, view,
                                  "SELECT s.name, s.role, replace(group_concat(DISTINCT c.kind),"
                                  " ',', ', ') FROM signature s"
                                  " JOIN checkpoint c ON c.id = s.checkpoint WHERE c.campaign = ?1"
                                  " GROUP BY s.public_key, s.role ORDER BY min(s.id)",
                                  view->campaigns[i].id, append_signer, &rows, err);
        if (status == STATUS_OK)
            status = dossier_each_row(&signers, store, view,
                                      "SELECT note FROM bundle WHERE campaign = ?1",
                                      view->campaigns[i].id, append_note_signers, &rows, err);
        unsigned_count += signers.length == before;
    }
    html_fact_begin(out, "Signed");
    text_append_bytes(out, signers.data, signers.length);
    if (signers.length > 0)
        text_append(out, " (names as the file has them)");
    if (unsigned_count == view->campaign_count)
        text_append(out, "<span class=\"care\">unsigned</span>");
    else if (unsigned_count > 0)
        text_append_format(out, "; <span class=\"care\">%zu of %zu campaigns unsigned</span>",
                           unsigned_count, view->campaign_count);
    text_append(out, "; <a href=\"#signatures\">keys</a>, <a href=\"#check\">how to check</a>");
    html_fact_end(out);
    out->failed = out->failed || signers.failed;
    text_finish(&signers);
    return status;
}

/* What invalidates a figure comes before it. */
static void append_stops(struct text *out, const struct view *view)
{
    size_t simulated = 0, looks = 0, first = 0, imported = 0, workers = 0, roots = 0;

    for (size_t i = 0; i < view->cell_count; i++) {
        simulated += view->cells[i].device.simulated;
        imported += view->cells[i].imported.present;
        workers += view->cells[i].origin.worker != NULL;
        roots += view->cells[i].origin.host_root != NULL;
        looks += !view->cells[i].evidence && !view->cells[i].imported.present;
        first += view_is_first_look(&view->cells[i]);
    }
    if (simulated)
        text_append_format(out,
                           "<div class=\"note stop\"><p><b>%zu of %zu results are of a simulated "
                           "device</b> and say nothing of any hardware.</p></div>\n",
                           simulated, view->cell_count);
    if (workers)
        text_append_format(out,
                           "<div class=\"note stop\"><p><b>%zu of %zu results were measured by "
                           "another worker than assay's own</b>: device, times and checks are that "
                           "program's word alone.</p></div>\n",
                           workers, view->cell_count);
    if (roots)
        text_append_format(out,
                           "<div class=\"note stop\"><p><b>Of %zu of %zu results the host's "
                           "readings were taken from a folder</b>, not from the machine that "
                           "measured.</p></div>\n",
                           roots, view->cell_count);
    if (looks)
        text_append_format(
            out,
            "<div class=\"note stop\"><p><b>%zu of %zu results are no evidence</b>, by their own "
            "protocol%s.</p></div>\n",
            looks, view->cell_count, first == looks ? ": a first look" : "");
    if (imported)
        text_append_format(out,
                           "<div class=\"note stop\"><p><b>%zu of %zu results were measured by "
                           "another program</b> and are shown as its file has them.</p></div>\n",
                           imported, view->cell_count);
}

enum status dossier_summary(struct text *out, struct store *store, const struct view *view,
                            struct error *err)
{
    enum status status;

    text_append(out, "<h2 id=\"short\">In short</h2>\n");
    append_stops(out, view);
    status = dossier_decided(out, store, view, err);
    append_figures(out, view);
    text_append(out, "<dl class=\"facts\">\n");
    append_attempts(out, view);
    if (status == STATUS_OK)
        status = append_machine(out, store, view, err);
    if (status == STATUS_OK)
        status = append_signers(out, store, view, err);
    text_append(out, "</dl>\n");
    return status;
}
