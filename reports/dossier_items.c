/* Three sections of a dossier: method, items, conditions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"
#include "reports/dossier_internal.h"

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

/* "2.00 s", or that it is not recorded. */
static void append_time(struct text *out, const json_t *group, const char *key)
{
    const double value = member_number(group, key);
    const struct number_unit unit = number_unit_duration(value);
    char number[NUMBER_SIZE];

    doc_phrase(out, "%s", isnan(value) ? NULL : number_format_unit(value, &unit, number));
}

static void append_count(struct text *out, const json_t *group, const char *key, const char *what)
{
    const json_t *value = json_object_get(group, key);

    if (json_is_integer(value))
        doc_phrase(out, "%lld %s%s", (long long)json_integer_value(value), what,
                   json_integer_value(value) == 1 ? "" : "s");
    else
        doc_phrase(out, "a number of %ss that is not recorded", what);
}

/* The clauses by which a reader judges a method, in a sentence. */
static void say_protocol(struct doc *doc, const json_t *protocol)
{
    const json_t *warmup = json_object_get(protocol, "warmup");
    const json_t *window = json_object_get(protocol, "window");
    const json_t *analysis = json_object_get(protocol, "analysis");

    if (!json_is_object(warmup) || !json_is_object(window))
        return; /* a workload, or another program's */
    append_count(&doc->block, protocol, "trials", "trial");
    doc_add(doc, " of each result; in each, warmup for at least ");
    append_count(&doc->block, warmup, "iterations", "iteration");
    doc_add(doc, " and ");
    append_time(&doc->block, warmup, "time_ns");
    doc_add(doc, ", then a window of ");
    append_time(&doc->block, window, "time_ns");
    doc_add(doc, " and at least ");
    append_count(&doc->block, window, "min_samples", "sample");
    doc_say(doc, NULL,
            ", its caches %s; intervals of %.4g %%; two results are equivalent within ±%.4g %%.",
            member_string(json_object_get(protocol, "cache"), "state"),
            100 * member_number(analysis, "confidence"), 100 * member_number(analysis, "margin"));
}

static void say_declaration(struct doc *doc, const char *what, const char *name,
                            const struct view_count *version, const char *digest,
                            const char *description, const json_t *json)
{
    char summary[160];

    doc_add(doc, "{bold %s %s}", what, name);
    if (version->known)
        doc_add(doc, ", version %lld", (long long)version->value);
    doc_add(doc, ", identity {digest %s}", digest);
    if (description)
        doc_add(doc, "\n%s", description);
    doc_end(doc, NULL);
    say_protocol(doc, json);
    snprintf(summary, sizeof(summary), "All clauses of this %s", what);
    html_json_details(doc->out, "declared", summary, json);
}

void dossier_method(struct doc *doc, const struct view *view)
{
    size_t imported = 0;

    for (size_t i = 0; i < view->cell_count; i++)
        imported += view->cells[i].imported.present;
    dossier_section(doc, DOSSIER_METHOD);
    if (imported > 0)
        doc_say(doc, NULL,
                "{bold Imported results were measured by another program}, under its own rules: "
                "nothing that this section says of assay's trials, checks and intervals holds for "
                "them.");
    if (imported < view->cell_count)
        doc_say(doc, NULL,
                "Each trial is a fresh process: it opens the device, checks its outputs against a "
                "reference in fp64, warms up, measures a window whose length was fixed before, and "
                "checks again. Trials of all cells are interleaved in a random order. All samples "
                "are kept, warmup included, and none is trimmed. Steady state is found in the "
                "samples; a trial without one gives no number. A figure is the mean over the "
                "trials' own means on the log scale, with a t interval between trials.");
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];

        if (!seen_before(view, i, offsetof(struct view_cell, protocol_digest)))
            say_declaration(doc, "protocol", cell->protocol, &cell->protocol_version,
                            cell->protocol_digest, cell->protocol_description, cell->protocol_json);
    }
    for (size_t i = 0; i < view->cell_count; i++) {
        const struct view_cell *cell = &view->cells[i];

        if (!seen_before(view, i, offsetof(struct view_cell, workload_digest)))
            say_declaration(doc, "workload", cell->workload, &cell->workload_version,
                            cell->workload_digest, cell->workload_description, cell->workload_json);
    }
    for (size_t i = 0; i < view->cell_count; i++)
        if (view->cells[i].estimate && view->cells[i].estimate->version > 0) {
            doc_say(doc, NULL, "Analysis version %lld.",
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
        phrase_result(out, view, view->cells[i].result);
        separator = "; ";
    }
}

static void say_readings(struct doc *doc, const char *summary, const char *caption,
                         const struct reading_list *readings)
{
    doc_add(doc, "%s", summary);
    doc_open(doc, DOC_FOLD, NULL);
    html_reading_table(doc, caption, readings);
    doc_close(doc);
}

static void say_device(struct doc *doc, const struct view *view, const struct view_cell *cell)
{
    const struct view_device *device = &cell->device;

    doc_open(doc, DOC_FACTS, "facts");
    doc_say(doc, NULL, "Device\t%s", device->name);
    doc_say(doc, NULL, "Vendor\t%s", device->vendor);
    doc_say(doc, NULL, "Kind\t%s", device->type);
    if (device->uuid)
        doc_say(doc, NULL, "Unit (UUID)\t%s", device->uuid);
    else
        doc_say(doc, NULL,
                "Unit (UUID)\t{care unknown: this unit cannot be distinguished from "
                "another of its kind}");
    doc_say(doc, NULL, "Reached through\t%s", cell->backend);
    doc_add(doc, "Results on it\t");
    append_results_of(&doc->block, view, device);
    doc_end(doc, NULL);
    doc_close(doc);
    if (device->simulated)
        doc_note(doc, "note stop",
                 "{bold This device is simulated.} Its results say nothing of any hardware.");
    say_readings(doc, "Everything the device reported", "Readings of the device",
                 &device->readings);
}

/* Of an imported result, as its file states it. */
static void say_imported(struct doc *doc, const struct view *view, const struct view_cell *cell)
{
    doc_open(doc, DOC_FACTS, "facts");
    doc_say(doc, NULL, "Device, as the file names it\t%s", cell->device.name);
    doc_add(doc, "Result on it\t");
    phrase_result(&doc->block, view, cell->result);
    doc_end(doc, NULL);
    doc_close(doc);
    say_readings(doc, "What the file contains, and what it lacks", "Readings of the file",
                 &cell->device.readings);
}

void dossier_items(struct doc *doc, const struct view *view)
{
    dossier_section(doc, DOSSIER_ITEMS);
    for (size_t i = 0; i < view->cell_count; i++) {
        bool shown = false;

        for (size_t k = 0; k < i && !shown; k++)
            shown = same_device(&view->cells[k].device, &view->cells[i].device);
        if (view->cells[i].imported.present) {
            say_imported(doc, view, &view->cells[i]);
        } else if (!view->cells[i].device.present) {
            doc_add(doc, "No trial of ");
            phrase_result(&doc->block, view, view->cells[i].result);
            doc_say(doc, "bad", " came so far as to name its device.");
        } else if (!shown) {
            say_device(doc, view, &view->cells[i]);
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

static bool has_file(const struct view_trial *trial, const struct view_component *file)
{
    for (size_t i = 0; i < trial->component_count; i++)
        if (!strcmp(trial->components[i].path, file->path) &&
            text_same(trial->components[i].sha256, file->sha256))
            return true;
    return false;
}

static void say_file(struct doc *doc, const struct view_component *component)
{
    doc_add(doc, "%s\t%s\t%s", component->path, component->kind,
            component->version ? component->version : "");
    if (component->package && component->package_version)
        doc_add(doc, "%s%s %s", component->version ? "; " : "", component->package,
                component->package_version);
    else if (!component->version)
        doc_add(doc, "{none of no package}");
    doc_add(doc, "\t{code %s}", component->sha256 ? component->sha256 : component->missing_reason);
    if (component->build_id)
        doc_add(doc, "\n{soft build-id} {code %s}", component->build_id);
    doc_end(doc, NULL);
}

static void say_files(struct doc *doc, const struct view_trial *trial,
                      const struct view_trial *known)
{
    static const struct doc_column columns[] = {{"File", DOC_BREAK, 25},
                                                {"Kind", 0, 9},
                                                {"Version, package", DOC_BREAK, 20},
                                                {"SHA-256", DOC_BREAK}};

    doc_table(doc, "tight fixed", columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < trial->component_count; i++)
        if (!known || !has_file(known, &trial->components[i]))
            say_file(doc, &trial->components[i]);
    doc_close(doc);
}

static void append_names(struct text *out, const struct view_trial *trial,
                         const struct view_trial *present)
{
    const char *separator = "";

    for (size_t i = 0; i < trial->component_count; i++)
        if (!has_file(present, &trial->components[i])) {
            doc_phrase(out, "%s%s", separator, trial->components[i].path);
            separator = ", ";
        }
}

/*
 * The files of a result's first trial that has any; of later results what differs from the first.
 * What changed within a window is a deviation.
 */
static void say_software(struct doc *doc, const struct view_cell *cell,
                         const struct view_cell *first)
{
    const struct view_trial *trial = first_with_files(cell);
    const struct view_trial *known = first ? first_with_files(first) : NULL;
    size_t common = 0;

    if (!trial) {
        doc_say(doc, "bad", "No files are recorded of %s.", cell->result);
        return;
    }
    for (size_t i = 0; known && i < trial->component_count; i++)
        common += has_file(known, &trial->components[i]);
    if (!known || common == 0) {
        doc_add(doc, "%zu files that took part in %s, with SHA-256", trial->component_count,
                cell->result);
        doc_open(doc, DOC_FOLD, NULL);
        say_files(doc, trial, NULL);
        doc_close(doc);
        return;
    }
    if (common == trial->component_count && common == known->component_count)
        return;
    doc_add(doc, "%zu other file%s in %s; the other %zu are those of %s",
            trial->component_count - common, trial->component_count - common == 1 ? "" : "s",
            cell->result, common, first->result);
    doc_open(doc, DOC_FOLD, NULL);
    if (common < known->component_count) {
        doc_add(doc, "In place of, or without: ");
        append_names(&doc->block, known, trial);
        doc_end(doc, NULL);
    }
    say_files(doc, trial, known);
    doc_close(doc);
}

static void say_all_software(struct doc *doc, const struct view *view)
{
    const struct view_cell *first = NULL;

    for (size_t i = 0; i < view->cell_count; i++) {
        if (view->cells[i].trial_count == 0)
            continue;
        say_software(doc, &view->cells[i], first);
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
static void say_host(struct doc *doc, const struct view_campaign *campaign,
                     const struct reading_list *host)
{
    static const char *const facts[][2] = {
        {"Processor", "host.cpu.model"},   {"Operating system", "host.os"},
        {"Kernel", "host.kernel.release"}, {"Memory", "host.memory.total"},
        {"Governor", "host.cpu.governor"}, {"Hypervisor", "host.hypervisor"},
        {"Container", "host.container"},   {"Machine", "host.machine.product"}};

    doc_open(doc, DOC_FACTS, "facts");
    doc_say(doc, NULL, "Campaign\t{code %.8s}", campaign->uid);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        doc_add(doc, "%s\t", facts[i][0]);
        phrase_reading(&doc->block, reading_find(host, facts[i][1]));
        doc_end(doc, NULL);
    }
    doc_close(doc);
    doc_add(doc, "All %zu readings of the host of %.8s", host->count, campaign->uid);
    doc_open(doc, DOC_FOLD, NULL);
    html_reading_table(doc, "Readings of the host", host);
    doc_close(doc);
}

void dossier_conditions(struct doc *doc, const struct view *view)
{
    dossier_section(doc, DOSSIER_CONDITIONS);
    doc_say(doc, NULL,
            "The host as it was before the first trial of each campaign; what moved from trial to "
            "trial is in the database.");
    for (size_t i = 0; i < view->campaign_count; i++) {
        const struct view_trial *trial = first_with_host(view, i);

        if (trial)
            say_host(doc, &view->campaigns[i], &trial->host);
        else if (view_is_import(view, i))
            doc_say(doc, "care",
                    "No conditions are recorded of %.8s: its results are another program's.",
                    view->campaigns[i].uid);
        else
            doc_say(doc, "bad", "No conditions are recorded of %.8s by any trial.",
                    view->campaigns[i].uid);
    }
    say_all_software(doc, view);
    html_dumps(doc, view);
}
