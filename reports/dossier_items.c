/* Three sections of a dossier: method, items, conditions. */
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

static void append_time(struct text *out, const json_t *group, const char *key)
{
    const json_t *value = json_object_get(group, key);
    char number[NUMBER_SIZE];
    struct number_unit unit = number_unit_duration(json_number_value(value));

    text_append(out, json_is_number(value)
                         ? number_format_unit(json_number_value(value), &unit, number)
                         : "not recorded");
}

static void append_count(struct text *out, const json_t *group, const char *key, const char *what)
{
    const json_t *value = json_object_get(group, key);

    if (json_is_integer(value))
        text_append_format(out, "%lld %s%s", (long long)json_integer_value(value), what,
                           json_integer_value(value) == 1 ? "" : "s");
    else
        text_append_format(out, "a number of %ss that is not recorded", what);
}

/* The clauses by which a reader judges a method, in a sentence. */
static void append_protocol_words(struct text *out, const json_t *protocol)
{
    const json_t *warmup = json_object_get(protocol, "warmup");
    const json_t *window = json_object_get(protocol, "window");
    const json_t *analysis = json_object_get(protocol, "analysis");

    if (!json_is_object(warmup) || !json_is_object(window))
        return; /* a workload, or another program's */
    text_append(out, "<p>");
    append_count(out, protocol, "trials", "trial");
    text_append(out, " of each result; in each, warmup for at least ");
    append_count(out, warmup, "iterations", "iteration");
    text_append(out, " and ");
    append_time(out, warmup, "time_ns");
    text_append(out, ", then a window of ");
    append_time(out, window, "time_ns");
    text_append(out, " and at least ");
    append_count(out, window, "min_samples", "sample");
    text_append_format(
        out, ", its caches %s; intervals of %.4g %%; two results are equivalent within ±%.4g %%.",
        json_string_value(json_object_get(json_object_get(protocol, "cache"), "state")),
        100 * json_number_value(json_object_get(analysis, "confidence")),
        100 * json_number_value(json_object_get(analysis, "margin")));
    text_append(out, "</p>\n");
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
    append_protocol_words(out, json);
    snprintf(summary, sizeof(summary), "All clauses of this %s", what);
    html_json_details(out, "declared", summary, json);
}

static void append_own_method(struct text *out)
{
    text_append(
        out,
        "<p>Each trial is a fresh process: it opens the device, checks its outputs against a "
        "reference in fp64, warms up, measures a window whose length was fixed before, and checks "
        "again. Trials of all cells are interleaved in a random order. All samples are kept, "
        "warmup included, and none is trimmed. Steady state is found in the samples; a trial "
        "without one gives no number. A figure is the mean over the trials&#39; own means on the "
        "log scale, with a t interval between trials.</p>\n");
}

void dossier_method(struct text *out, const struct view *view)
{
    size_t imported = 0;

    for (size_t i = 0; i < view->cell_count; i++)
        imported += view->cells[i].imported.present;
    dossier_section(out, DOSSIER_METHOD);
    if (imported > 0)
        text_append(out, "<p><b>Imported results were measured by another program</b>, under its "
                         "own rules: nothing that this section says of assay&#39;s trials, checks "
                         "and intervals holds for them.</p>\n");
    if (imported < view->cell_count)
        append_own_method(out);
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];

        if (seen_before(view, i, offsetof(struct view_cell, protocol_digest)))
            continue;
        append_declaration(out, "protocol", cell->protocol, &cell->protocol_version,
                           cell->protocol_digest, cell->protocol_description, cell->protocol_json);
    }
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];

        if (!seen_before(view, i, offsetof(struct view_cell, workload_digest)))
            append_declaration(out, "workload", cell->workload, &cell->workload_version,
                               cell->workload_digest, cell->workload_description,
                               cell->workload_json);
    }
    for (size_t i = 0; i < view->cell_count; i++)
        if (view->cells[i].estimate && view->cells[i].estimate->version > 0) {
            text_append_format(out, "<p>Analysis version %lld.</p>\n",
                               (long long)view->cells[i].estimate->version);
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

/* The results of the view that have the same device. */
static void append_results_of(struct text *out, const struct view *view,
                              const struct view_device *device)
{
    const char *separator = "";

    for (size_t i = 0; i < view->cell_count; i++) {
        if (!view->cells[i].device.present || !same_device(&view->cells[i].device, device))
            continue;
        text_append(out, separator);
        html_result(out, view, view->cells[i].result);
        separator = "; ";
    }
}

static void append_device(struct text *out, const struct view *view, const struct view_cell *cell)
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
        text_append(
            out, "<span class=\"care\">unknown: this unit cannot be distinguished from another of "
                 "its kind</span>");
    html_fact_end(out);
    html_fact_begin(out, "Reached through");
    html_known(out, cell->backend);
    html_fact_end(out);
    html_fact_begin(out, "Results on it");
    append_results_of(out, view, device);
    html_fact_end(out);
    text_append(out, "</dl>\n");
    if (device->simulated)
        text_append(out, "<div class=\"note stop\"><p><b>This device is simulated.</b> Its results "
                         "say nothing of any hardware.</p></div>\n");
    text_append(out, "<details><summary>Everything the device reported</summary>\n");
    html_reading_table(out, "Readings of the device", &device->readings);
    text_append(out, "</details>\n");
}

/* Of an imported result, as its file states it. */
static void append_imported(struct text *out, const struct view *view, const struct view_cell *cell)
{
    text_append(out, "<dl class=\"facts\">\n");
    html_fact_begin(out, "Device, as the file names it");
    html_known(out, cell->device.name);
    html_fact_end(out);
    html_fact_begin(out, "Result on it");
    html_result(out, view, cell->result);
    html_fact_end(out);
    text_append(out, "</dl>\n<details><summary>What the file contains, and what it lacks"
                     "</summary>\n");
    html_reading_table(out, "Readings of the file", &cell->device.readings);
    text_append(out, "</details>\n");
}

void dossier_items(struct text *out, const struct view *view)
{
    dossier_section(out, DOSSIER_ITEMS);
    for (size_t i = 0; i < view->cell_count; i++) {
        bool shown = false;

        for (size_t k = 0; k < i && !shown; k++)
            shown = same_device(&view->cells[k].device, &view->cells[i].device);
        if (view->cells[i].imported.present) {
            append_imported(out, view, &view->cells[i]);
        } else if (!view->cells[i].device.present) {
            text_append(out, "<p class=\"bad\">No trial of ");
            html_result(out, view, view->cells[i].result);
            text_append(out, " came so far as to name its device.</p>\n");
        } else if (!shown) {
            append_device(out, view, &view->cells[i]);
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

static bool has_file(const struct view_trial *trial, const struct view_component *file)
{
    for (size_t i = 0; i < trial->component_count; i++)
        if (!strcmp(trial->components[i].path, file->path) &&
            same_text(trial->components[i].digest, file->digest))
            return true;
    return false;
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

static void append_file_table(struct text *out, const struct view_trial *trial,
                              const struct view_trial *known)
{
    text_append(out, "<div class=\"scroll\"><table class=\"tight fixed\"><thead><tr>"
                     "<th scope=\"col\" class=\"w25\">File</th>"
                     "<th scope=\"col\" class=\"w9\">Kind</th>"
                     "<th scope=\"col\" class=\"w20\">Version, package</th>"
                     "<th scope=\"col\">SHA-256</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < trial->component_count; i++)
        if (!known || !has_file(known, &trial->components[i]))
            append_file(out, &trial->components[i]);
    text_append(out, "</tbody></table></div></details>\n");
}

static void append_names(struct text *out, const struct view_trial *trial,
                         const struct view_trial *present)
{
    const char *separator = "";

    for (size_t i = 0; i < trial->component_count; i++)
        if (!has_file(present, &trial->components[i])) {
            text_append(out, separator);
            escape_html(out, trial->components[i].path);
            separator = ", ";
        }
}

/*
 * The files of a result's first trial that has any; of later results what differs from the first.
 * What changed within a window is a deviation.
 */
static void append_software(struct text *out, const struct view_cell *cell,
                            const struct view_cell *first)
{
    const struct view_trial *trial = first_with_files(cell);
    const struct view_trial *known = first ? first_with_files(first) : NULL;
    size_t common = 0;

    if (!trial) {
        text_append(out, "<p class=\"bad\">No files are recorded of ");
        escape_html(out, cell->result);
        text_append(out, ".</p>\n");
        return;
    }
    for (size_t i = 0; known && i < trial->component_count; i++)
        common += has_file(known, &trial->components[i]);
    if (!known || common == 0) {
        text_append_format(out, "<details><summary>%zu files that took part in ",
                           trial->component_count);
        escape_html(out, cell->result);
        text_append(out, ", with SHA-256</summary>");
        append_file_table(out, trial, NULL);
        return;
    }
    if (common == trial->component_count && common == known->component_count)
        return;
    text_append_format(out, "<details><summary>%zu other file%s in ",
                       trial->component_count - common,
                       trial->component_count - common == 1 ? "" : "s");
    escape_html(out, cell->result);
    text_append_format(out, "; the other %zu are those of ", common);
    escape_html(out, first->result);
    text_append(out, "</summary>");
    if (common < known->component_count) {
        text_append(out, "<p>In place of, or without: ");
        append_names(out, known, trial);
        text_append(out, "</p>\n");
    }
    append_file_table(out, trial, known);
}

static void append_all_software(struct text *out, const struct view *view)
{
    const struct view_cell *first = NULL;

    for (size_t i = 0; i < view->cell_count; i++) {
        if (view->cells[i].trial_count == 0)
            continue;
        append_software(out, &view->cells[i], first);
        if (!first && first_with_files(&view->cells[i]))
            first = &view->cells[i];
    }
}

static const struct view_trial *first_with_host(const struct view *view, size_t campaign)
{
    for (size_t i = 0; i < view->cell_count; i++)
        for (size_t t = 0; view->cells[i].campaign == campaign && t < view->cells[i].trial_count;
             t++)
            if (view->cells[i].trials[t].host.count > 0)
                return &view->cells[i].trials[t];
    return NULL;
}

/* What readers look for first; all of it is also in the table below. */
static void append_host(struct text *out, const struct view_campaign *campaign,
                        const struct reading_list *host)
{
    static const char *const facts[][2] = {
        {"Processor", "host.cpu.model"},   {"Operating system", "host.os"},
        {"Kernel", "host.kernel.release"}, {"Memory", "host.memory.total"},
        {"Governor", "host.cpu.governor"}, {"Hypervisor", "host.hypervisor"},
        {"Container", "host.container"},   {"Machine", "host.machine.product"}};

    text_append(out, "<dl class=\"facts\">\n");
    html_fact_begin(out, "Campaign");
    text_append(out, "<code>");
    escape_html_short(out, campaign->uid ? campaign->uid : "not recorded", 9);
    text_append(out, "</code>");
    html_fact_end(out);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        html_fact_begin(out, facts[i][0]);
        html_reading(out, reading_find(host, facts[i][1]));
        html_fact_end(out);
    }
    text_append_format(out, "</dl>\n<details><summary>All %zu readings of the host of ",
                       host->count);
    escape_html_short(out, campaign->uid ? campaign->uid : "not recorded", 9);
    text_append(out, "</summary>\n");
    html_reading_table(out, "Readings of the host", host);
    text_append(out, "</details>\n");
}

void dossier_conditions(struct text *out, const struct view *view)
{
    dossier_section(out, DOSSIER_CONDITIONS);
    text_append(out,
                "<p>The host as it was before the first trial of each campaign; what moved from "
                "trial to trial is in the database.</p>\n");
    for (size_t i = 0; i < view->campaign_count; i++) {
        const struct view_trial *trial = first_with_host(view, i);

        if (trial) {
            append_host(out, &view->campaigns[i], &trial->host);
            continue;
        }
        text_append_format(out, "<p class=\"%s\">No conditions are recorded of ",
                           view_is_import(view, i) ? "care" : "bad");
        escape_html_short(out, view->campaigns[i].uid ? view->campaigns[i].uid : "a campaign", 9);
        text_append(out, view_is_import(view, i) ? ": its results are another program's.</p>\n"
                                                 : " by any trial.</p>\n");
    }
    append_all_software(out, view);
    html_dumps(out, view);
}
