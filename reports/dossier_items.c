/* Sections 2 to 4 of a dossier: method, items, conditions. */
#include <string.h>

#include "reports/dossier_internal.h"
#include "reports/escape.h"

/* True when an earlier cell of the view has the same digest in this member. */
static bool seen_before(const struct view *view, size_t index, size_t member)
{
    const char *mine = *(const char *const *)((const char *)&view->cells[index] + member);

    for (size_t i = 0; mine && i < index; i++) {
        const char *other = *(const char *const *)((const char *)&view->cells[i] + member);

        if (other && strcmp(mine, other) == 0)
            return true;
    }
    return false;
}

static void append_declaration(struct text *out, const char *what, const char *name,
                               const struct view_count *version, const char *digest,
                               const char *description, const json_t *json)
{
    char summary[160];

    text_append_format(out, "<p><b>%s ", what);
    html_known(out, name);
    text_append(out, "</b>");
    if (version->known)
        text_append_format(out, ", version %lld", (long long)version->value);
    text_append(out, ", identity ");
    html_digest(out, digest);
    if (description) {
        text_append(out, "<br>");
        escape_html(out, description);
    }
    text_append(out, "</p>\n");
    snprintf(summary, sizeof(summary), "All clauses of this %s", what);
    html_json_details(out, "declared", summary, json);
}

void dossier_method(struct text *out, const struct view *view)
{
    text_append(
        out,
        "<h2 id=\"method\">2. Method</h2>\n"
        "<p>Each trial is a fresh process: it opens the device, checks its outputs against a "
        "reference in fp64, warms up, measures a window whose length was fixed before, and checks "
        "again. Trials of all cells are interleaved in a random order. All samples are kept, "
        "warmup included, and none is trimmed. Steady state is found in the samples; a trial "
        "without one gives no number. A figure is the mean over the trials&#39; own means on the "
        "log scale, with a t interval between trials.</p>\n");
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];

        if (!seen_before(view, i, offsetof(struct view_cell, protocol_digest)))
            append_declaration(out, "protocol", cell->protocol, &cell->protocol_version,
                               cell->protocol_digest, cell->protocol_description,
                               cell->protocol_json);
    }
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];

        if (!seen_before(view, i, offsetof(struct view_cell, workload_digest)))
            append_declaration(out, "workload", cell->workload, &cell->workload_version,
                               cell->workload_digest, cell->workload_description,
                               cell->workload_json);
    }
    for (size_t i = 0; i < view->cell_count; i++)
        if (view->cells[i].estimate.version.known) {
            text_append_format(out, "<p>Analysis version %lld.</p>\n",
                               (long long)view->cells[i].estimate.version.value);
            break;
        }
}

static bool same_device(const struct view_device *a, const struct view_device *b)
{
    if (!a->name || !b->name || strcmp(a->name, b->name) || a->readings.count != b->readings.count)
        return false;
    for (size_t i = 0; i < a->readings.count; i++)
        if (strcmp(a->readings.items[i].name, b->readings.items[i].name) ||
            !html_reading_equal(&a->readings.items[i], &b->readings.items[i]))
            return false;
    return true;
}

static void append_device(struct text *out, const struct view_cell *cell)
{
    const struct view_device *device = &cell->device;

    text_append(out, "<dl class=\"facts\">\n");
    html_fact_begin(out, "Device");
    html_known(out, device->name);
    html_fact_end(out);
    html_fact_begin(out, "Vendor");
    html_known(out, device->vendor);
    html_fact_end(out);
    html_fact_begin(out, "Kind");
    html_known(out, device->type);
    html_fact_end(out);
    html_fact_begin(out, "Unit (UUID)");
    if (device->uuid)
        html_known(out, device->uuid);
    else
        text_append(out, "<span class=\"care\">not told: this unit cannot be told from another of "
                         "its kind</span>");
    html_fact_end(out);
    html_fact_begin(out, "Reached through");
    html_known(out, cell->backend);
    html_fact_end(out);
    text_append(out, "</dl>\n");
    if (device->simulated)
        text_append(out, "<div class=\"note stop\"><p><b>This device is simulated.</b> Its results "
                         "say nothing of any hardware.</p></div>\n");
    text_append(out, "<details><summary>Everything the device told</summary>\n");
    html_reading_table(out, "Readings of the device", &device->readings);
    text_append(out, "</details>\n");
}

void dossier_items(struct text *out, const struct view *view)
{
    text_append(out, "<h2 id=\"items\">3. Items tested</h2>\n");
    for (size_t i = 0; i < view->cell_count; i++) {
        bool shown = false;

        for (size_t k = 0; k < i && !shown; k++)
            shown = same_device(&view->cells[k].device, &view->cells[i].device);
        if (!view->cells[i].device.present) {
            text_append(out, "<p class=\"bad\">No trial of ");
            escape_html(out, view->cells[i].result);
            text_append(out, " came so far as to name its device.</p>\n");
        } else if (!shown) {
            append_device(out, &view->cells[i]);
        }
    }
}

static const struct view_trial *first_with_files(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; i++)
        if (cell->trials[i].component_count > 0)
            return &cell->trials[i];
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_files(const struct view_trial *a, const struct view_trial *b)
{
    if (a->component_count != b->component_count)
        return false;
    for (size_t i = 0; i < a->component_count; i++)
        if (strcmp(a->components[i].path, b->components[i].path) ||
            !same_text(a->components[i].digest, b->components[i].digest))
            return false;
    return true;
}

static void append_file(struct text *out, const struct view_component *component)
{
    text_append(out, "<tr><td class=\"wrap\">");
    escape_html(out, component->path);
    text_append(out, "</td><td>");
    html_known(out, component->kind);
    text_append(out, "</td><td class=\"wrap\">");
    if (component->version)
        escape_html(out, component->version);
    if (component->package && component->package_version) {
        text_append(out, component->version ? "; " : "");
        escape_html(out, component->package);
        text_append_char(out, ' ');
        escape_html(out, component->package_version);
    } else if (!component->version) {
        text_append(out, "<span class=\"none\">of no package</span>");
    }
    text_append(out, "</td><td class=\"wrap\"><code>");
    html_known(out, component->digest ? component->digest : component->missing_reason);
    if (component->build_id) {
        text_append(out, "</code><br><span class=\"soft\">build-id</span> <code>");
        escape_html(out, component->build_id);
    }
    text_append(out, "</code></td></tr>\n");
}

/* The files of a result's first trial that has any; what changed within a window is a deviation. */
static void append_software(struct text *out, const struct view_cell *cell)
{
    const struct view_trial *trial = first_with_files(cell);

    if (!trial) {
        text_append(out, "<p class=\"bad\">No files are recorded of ");
        escape_html(out, cell->result);
        text_append(out, ".</p>\n");
        return;
    }
    text_append_format(out, "<details><summary>%zu files that took part in ",
                       trial->component_count);
    escape_html(out, cell->result);
    text_append(out, ", with SHA-256</summary>"
                     "<div class=\"scroll\"><table class=\"tight fixed\"><thead><tr>"
                     "<th scope=\"col\" class=\"w25\">File</th>"
                     "<th scope=\"col\" class=\"w9\">Kind</th>"
                     "<th scope=\"col\" class=\"w20\">Version, package</th>"
                     "<th scope=\"col\">SHA-256</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < trial->component_count; i++)
        append_file(out, &trial->components[i]);
    text_append(out, "</tbody></table></div></details>\n");
}

/* Cells on the same files as an earlier one are not repeated. */
static void append_all_software(struct text *out, const struct view *view)
{
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_trial *trial = first_with_files(&view->cells[i]);
        bool shown = view->cells[i].trial_count == 0;

        for (size_t k = 0; trial && k < i && !shown; k++)
            shown = first_with_files(&view->cells[k]) &&
                    same_files(first_with_files(&view->cells[k]), trial);
        if (!shown)
            append_software(out, &view->cells[i]);
    }
}

void dossier_conditions(struct text *out, const struct view *view)
{
    bool host = false;

    text_append(out, "<h2 id=\"conditions\">4. Conditions</h2>\n");
    for (size_t i = 0; i < view->cell_count && !host; i++) {
        const struct view_cell *cell = &view->cells[i];

        for (size_t t = 0; t < cell->trial_count && !host; t++)
            if (cell->trials[t].host.count > 0) {
                text_append(out, "<p>The host as it was before the first trial; what moved from "
                                 "trial to trial is in the database.</p>\n");
                html_reading_table(out, "Readings of the host", &cell->trials[t].host);
                host = true;
            }
    }
    if (!host)
        text_append(out, "<p class=\"bad\">No conditions are recorded.</p>\n");
    append_all_software(out, view);
    html_dumps(out, view);
}
