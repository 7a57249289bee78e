/* The sections of the appendix, each drawn from one fully loaded cell. */
#include "reports/html_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "reports/escape.h"

static void collect_device(struct html_appendix *appendix, const struct view_cell *cell)
{
    const struct view_device *device = &cell->device;
    struct text body;

    if (!device->present)
        return;
    text_init(&body);
    text_append(&body, "<dl class=\"facts\">");
    html_fact_begin(&body, "Name");
    html_known(&body, device->name);
    html_fact_end(&body);
    html_fact_begin(&body, "Vendor");
    html_known(&body, device->vendor);
    html_fact_end(&body);
    html_fact_begin(&body, "Type");
    html_known(&body, device->type);
    text_append(&body, device->simulated && (!device->type || strcmp(device->type, "simulated"))
                           ? " (simulated)"
                           : "");
    html_fact_end(&body);
    html_fact_begin(&body, "UUID");
    html_known(&body, device->uuid);
    html_fact_end(&body);
    html_fact_begin(&body, "Opened as");
    html_known(&body, device->backend);
    if (device->index.known)
        text_append_format(&body, ":%lld", (long long)device->index.value);
    html_fact_end(&body);
    text_append(&body, "</dl>\n");
    html_reading_table(&body, "What device and driver report", &device->readings);
    html_appendix_add(appendix, HTML_APPENDIX_DEVICE, &body, cell);
}

/* True when every trial of the cell read the same. */
static bool is_constant(const struct view_cell *cell, const struct reading *reading)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct reading_list *host = &cell->trials[i].host;

        if (host->count && !html_reading_equal(reading, reading_find(host, reading->name)))
            return false;
    }
    return true;
}

/* One host for all trials; differences between them are listed next to it. */
static void collect_host(struct html_appendix *appendix, const struct view_cell *cell)
{
    const struct reading_list *readings = NULL;
    size_t varied = 0;
    struct text body;

    for (size_t i = 0; i < cell->trial_count && !readings; ++i)
        if (cell->trials[i].host.count)
            readings = &cell->trials[i].host;
    if (!readings)
        return;
    text_init(&body);
    html_reading_table(&body, "Read when the campaign began", readings);
    for (size_t i = 0; i < readings->count; ++i) {
        if (is_constant(cell, &readings->items[i]))
            continue;
        text_append(&body, varied++ ? ", " : "<p class=\"bad\">Not the same in all trials: ");
        escape_html(&body, readings->items[i].name);
    }
    text_append(&body, varied ? "</p>\n" : "");
    html_appendix_add(appendix, HTML_APPENDIX_HOST, &body, cell);
}

static void append_change(struct text *out, const struct view_component *component)
{
    switch (component->change) {
    case VIEW_CHANGED:
        text_append(out, "<b class=\"bad\">changed, now</b> ");
        html_digest(out, component->digest_end);
        break;
    case VIEW_APPEARED:
        text_append(out, "<span class=\"care\">only at the end</span>");
        break;
    case VIEW_GONE:
        text_append(out, "<span class=\"care\">only at the start</span>");
        break;
    case VIEW_ONCE:
        text_append(out, "<span class=\"soft\">end not reached</span>");
        break;
    default:
        text_append(out, "<span class=\"soft\">unchanged</span>");
    }
}

/* Files that a package manager puts somewhere, which are the same for one result and the next. */
static bool is_installed(const char *path)
{
    static const char *const folders[] = {"/usr/", "/lib/", "/lib64/", "/opt/", "/bin/", "/sbin/"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); ++i)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

static void append_component(struct text *out, const struct view_component *component)
{
    char size[NUMBER_SIZE];

    text_append(out, "<tr><th scope=\"row\" class=\"wrap\">");
    html_known(out, component->path);
    text_append(out, "</th><td>");
    html_known(out, component->kind);
    text_append(out, "</td><td class=\"wrap\">");
    if (component->version && *component->version)
        escape_html(out, component->version);
    else if (component->package && component->package_version) {
        escape_html(out, component->package);
        text_append_char(out, ' ');
        escape_html(out, component->package_version);
    } else
        text_append(out, "<span class=\"none\">unknown</span>");
    text_append(out, "</td><td class=\"num\">");
    if (component->size.known)
        text_append(out, number_format_bytes((double)component->size.value, size));
    else
        html_known(out, NULL);
    text_append(out, "</td><td>");
    if (component->digest) {
        html_digest(out, component->digest);
    } else {
        text_append(out, "<span class=\"none\">unavailable: ");
        escape_html(out, component->missing_reason ? component->missing_reason : "no reason given");
        text_append(out, "</span>");
    }
    text_append(out, "</td><td>");
    if (component->build_id)
        html_digest(out, component->build_id);
    else
        text_append(out, "<span class=\"none\">has none</span>");
    text_append(out, "</td><td>");
    append_change(out, component);
    text_append(out, "</td></tr>\n");
}

static void collect_files(struct html_appendix *appendix, const struct view_cell *cell,
                          const struct view_trial *trial, bool installed)
{
    size_t count = 0;
    struct text body;

    for (size_t i = 0; i < trial->component_count; ++i)
        count += is_installed(trial->components[i].path) == installed;
    if (count == 0)
        return;
    text_init(&body);
    text_append_format(
        &body,
        "<div class=\"scroll\"><table class=\"tight fixed\"><caption>%zu %s that the "
        "worker had mapped, seen at the start and at the end of the window</caption>"
        "<colgroup><col><col class=\"w9\"><col class=\"w20\"><col class=\"w9\">"
        "<col class=\"w12\"><col class=\"w12\"><col class=\"w12\"></colgroup>"
        "<thead><tr><th scope=\"col\">File</th><th scope=\"col\">Kind</th>"
        "<th scope=\"col\">Version</th><th scope=\"col\" class=\"num\">Size</th>"
        "<th scope=\"col\">SHA-256</th><th scope=\"col\">Build-id</th>"
        "<th scope=\"col\">In the window</th></tr></thead><tbody>\n",
        count, installed ? "installed files" : "files outside the system's folders");
    for (size_t i = 0; i < trial->component_count; ++i)
        if (is_installed(trial->components[i].path) == installed)
            append_component(&body, &trial->components[i]);
    text_append(&body, "</tbody></table></div>\n");
    html_appendix_add(appendix, installed ? HTML_APPENDIX_STACK : HTML_APPENDIX_FILES, &body, cell);
}

/* Registers and the like of each kernel, where the compiler reports them. */
static void append_resources(struct text *out, const json_t *resources)
{
    const char *name;
    json_t *kernel;

    if (json_object_size(resources) == 0)
        return;
    text_append(out, "<details><summary>registers, spills and shared memory</summary><ul>");
    json_object_foreach((json_t *)resources, name, kernel)
    {
        text_append(out, "<li>");
        escape_html(out, name);
        text_append(out, ": ");
        view_kernel_words(kernel, out);
        text_append(out, "</li>");
    }
    text_append(out, "</ul></details>");
}

static void append_artifact(struct text *out, const json_t *artifact)
{
    const char *log = member_string(artifact, "log");
    const json_t *lanes = json_object_get(artifact, "lanes");

    text_append(out, "<tr><th scope=\"row\" class=\"wrap\">");
    html_known(out, member_string(artifact, "file"));
    text_append(out, "</th><td class=\"num\">");
    if (json_is_integer(lanes))
        text_append_format(out, "%lld", (long long)json_integer_value(lanes));
    else
        html_known(out, NULL);
    text_append(out, "</td><td>");
    html_digest(out, member_string(artifact, "source"));
    text_append(out, "</td><td>");
    html_digest(out, member_string(artifact, "binary"));
    text_append(out, "</td><td class=\"wrap\">");
    html_known(out, member_string(artifact, "compiler"));
    text_append(out, "</td><td class=\"wrap\"><code>");
    escape_html(out, member_string(artifact, "options"));
    text_append(out, "</code>");
    append_resources(out, json_object_get(artifact, "resources"));
    if (log && *log) {
        text_append(out, "<details><summary>compiler's messages</summary><pre>");
        escape_html_short(out, log, 4000);
        text_append(out, "</pre></details>");
    }
    text_append(out, "</td></tr>\n");
}

static void collect_kernels(struct html_appendix *appendix, const struct view_cell *cell,
                            const struct view_trial *trial)
{
    struct text body;
    const json_t *entry;
    size_t index;

    text_init(&body);
    text_append(
        &body,
        "<div class=\"scroll\"><table class=\"tight fixed\"><caption>Kernel texts as compiled "
        "for the device</caption><colgroup><col class=\"w20\"><col class=\"w6\">"
        "<col class=\"w12\"><col class=\"w12\"><col class=\"w20\"><col></colgroup><thead><tr><th "
        "scope=\"col\">Text</th>"
        "<th scope=\"col\" class=\"num\">Lanes</th><th scope=\"col\">Source SHA-256</th>"
        "<th scope=\"col\">Binary SHA-256</th><th scope=\"col\">Compiler</th>"
        "<th scope=\"col\">Options</th></tr></thead><tbody>\n");
    json_array_foreach(trial->artifacts, index, entry)
        append_artifact(&body, json_object_get(entry, "artifact"));
    text_append(&body, "</tbody></table></div>\n");
    html_appendix_add(appendix, HTML_APPENDIX_KERNELS, &body, cell);
}

static void collect_declaration(struct html_appendix *appendix, enum html_appendix_kind kind,
                                const char *name, const char *description, const char *digest,
                                const json_t *json, const struct view_cell *cell)
{
    struct text body;

    if (!json)
        return;
    text_init(&body);
    text_append(&body, "<p><b>");
    html_known(&body, name);
    text_append(&body, "</b> ");
    escape_html(&body, description);
    text_append(&body, "</p><p class=\"soft wrap\">Identity: <code>sha256:");
    html_known(&body, digest);
    text_append(&body, "</code></p>");
    html_json_details(&body, "clauses", "the whole declaration", json);
    html_appendix_add(appendix, kind, &body, cell);
}

void html_appendix_collect(struct html_appendix *appendix, const struct view_cell *cell)
{
    collect_device(appendix, cell);
    collect_host(appendix, cell);
    for (size_t i = 0; i < cell->trial_count; ++i) {
        collect_files(appendix, cell, &cell->trials[i], true);
        collect_files(appendix, cell, &cell->trials[i], false);
        if (json_array_size(cell->trials[i].artifacts))
            collect_kernels(appendix, cell, &cell->trials[i]);
    }
    collect_declaration(appendix, HTML_APPENDIX_WORKLOAD, cell->workload,
                        cell->workload_description, cell->workload_digest, cell->workload_json,
                        cell);
    collect_declaration(appendix, HTML_APPENDIX_PROTOCOL, cell->protocol,
                        cell->protocol_description, cell->protocol_digest, cell->protocol_json,
                        cell);
}
