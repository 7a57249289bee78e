/* The sections of the appendix, each drawn from one fully loaded cell. */
#include "reports/html_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"

static void collect_device(struct html_appendix *appendix, const struct view_cell *cell)
{
    const struct view_device *device = &cell->device;
    struct text body = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&body, &doc_html);

    if (!device->present)
        return;
    doc_open(&doc, DOC_FACTS, "facts");
    doc_say(&doc, NULL, "Name\t%s", device->name);
    doc_say(&doc, NULL, "Vendor\t%s", device->vendor);
    doc_say(&doc, NULL, "Type\t%s%s", device->type,
            device->simulated && (!device->type || strcmp(device->type, "simulated"))
                ? " (simulated)"
                : "");
    doc_say(&doc, NULL, "UUID\t%s", device->uuid);
    doc_add(&doc, "Opened as\t%s", device->backend);
    if (device->index.known)
        doc_add(&doc, ":%lld", (long long)device->index.value);
    doc_end(&doc, NULL);
    doc_close(&doc);
    html_reading_table(&doc, "What device and driver report", &device->readings);
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
    struct text body = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&body, &doc_html);

    for (size_t i = 0; i < cell->trial_count && !readings; ++i)
        if (cell->trials[i].host.count)
            readings = &cell->trials[i].host;
    if (!readings)
        return;
    html_reading_table(&doc, "Read when the campaign began", readings);
    for (size_t i = 0; i < readings->count; ++i)
        if (!is_constant(cell, &readings->items[i]))
            doc_add(&doc, "%s%s",
                    varied++ ? ", " : "Not the same in all trials: ", readings->items[i].name);
    if (varied)
        doc_end(&doc, "bad");
    html_appendix_add(appendix, HTML_APPENDIX_HOST, &body, cell);
}

static void append_change(struct text *out, const struct view_component *component)
{
    switch (component->change) {
    case VIEW_CHANGED:
        doc_phrase(out, "{bad changed, now} {digest %s}", component->sha256_end);
        break;
    case VIEW_APPEARED:
        doc_phrase(out, "{care only at the end}");
        break;
    case VIEW_GONE:
        doc_phrase(out, "{care only at the start}");
        break;
    case VIEW_ONCE:
        doc_phrase(out, "{soft end not reached}");
        break;
    default:
        doc_phrase(out, "{soft unchanged}");
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

static void say_component(struct doc *doc, const struct view_component *component)
{
    char size[NUMBER_SIZE];

    doc_add(doc, "%s\t%s\t", component->path, component->kind);
    if (component->version && *component->version)
        doc_add(doc, "%s", component->version);
    else if (component->package && component->package_version)
        doc_add(doc, "%s %s", component->package, component->package_version);
    else
        doc_add(doc, "{none unknown}");
    doc_add(doc, "\t%s\t",
            component->size.known ? number_format_bytes((double)component->size.value, size)
                                  : NULL);
    if (component->sha256)
        doc_add(doc, "{digest %s}\t", component->sha256);
    else
        doc_add(doc, "{none unavailable: %s}\t",
                component->missing_reason ? component->missing_reason : "no reason given");
    if (component->build_id)
        doc_add(doc, "{digest %s}\t", component->build_id);
    else
        doc_add(doc, "{none has none}\t");
    append_change(&doc->block, component);
    doc_end(doc, NULL);
}

static void collect_files(struct html_appendix *appendix, const struct view_cell *cell,
                          const struct view_trial *trial, bool installed)
{
    static const struct doc_column columns[] = {
        {"File", DOC_NAME | DOC_BREAK}, {"Kind", 0, 9},     {"Version", DOC_BREAK, 20},
        {"Size", DOC_NUMBER, 9},        {"SHA-256", 0, 12}, {"Build-id", 0, 12},
        {"In the window", 0, 12}};
    struct text body = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&body, &doc_html);
    size_t count = 0;

    for (size_t i = 0; i < trial->component_count; ++i)
        count += is_installed(trial->components[i].path) == installed;
    if (count == 0)
        return;
    doc_add(&doc,
            "%zu %s that the worker had mapped, seen at the start and at the end of the window",
            count, installed ? "installed files" : "files outside the system's folders");
    doc_table(&doc, "tight fixed", columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = 0; i < trial->component_count; ++i)
        if (is_installed(trial->components[i].path) == installed)
            say_component(&doc, &trial->components[i]);
    doc_close(&doc);
    html_appendix_add(appendix, installed ? HTML_APPENDIX_STACK : HTML_APPENDIX_FILES, &body, cell);
}

static void say_artifact(struct doc *doc, const json_t *artifact)
{
    const json_t *lanes = json_object_get(artifact, "lanes");

    doc_add(doc, "%s\t", member_string(artifact, "file"));
    if (json_is_integer(lanes))
        doc_add(doc, "%lld", (long long)json_integer_value(lanes));
    else
        doc_add(doc, "{none not recorded}");
    doc_say(doc, NULL, "\t{digest %s}\t{digest %s}\t%s\t{code %s}",
            member_string(artifact, "source"), member_string(artifact, "binary"),
            member_string(artifact, "compiler"), member_text(artifact, "options"));
}

/* What the compiler reports of it: registers and the like of each kernel, and its messages. */
static void say_compiled(struct doc *doc, const json_t *artifact)
{
    const char *log = member_text(artifact, "log"), *name;
    const json_t *resources = json_object_get(artifact, "resources");
    json_t *kernel;

    if (json_object_size(resources) == 0 && !*log)
        return;
    doc_add(doc, "%s as compiled", member_string(artifact, "file"));
    doc_open(doc, DOC_FOLD, NULL);
    doc_open(doc, DOC_LIST, NULL);
    json_object_foreach((json_t *)resources, name, kernel)
    {
        CLEANUP(text_finish) struct text words = TEXT_INIT;

        view_kernel_words(kernel, &words);
        doc_say(doc, NULL, "%s: %s", name, words.data);
    }
    if (*log)
        doc_say(doc, NULL, "the compiler's messages: %.4000s", log);
    doc_close(doc);
    doc_close(doc);
}

static void collect_kernels(struct html_appendix *appendix, const struct view_cell *cell,
                            const struct view_trial *trial)
{
    static const struct doc_column columns[] = {
        {"Text", DOC_NAME | DOC_BREAK, 20}, {"Lanes", DOC_NUMBER, 6},    {"Source SHA-256", 0, 12},
        {"Binary SHA-256", 0, 12},          {"Compiler", DOC_BREAK, 20}, {"Options", DOC_BREAK}};
    struct text body = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&body, &doc_html);

    doc_add(&doc, "Kernel texts as compiled for the device");
    doc_table(&doc, "tight fixed", columns, sizeof(columns) / sizeof(*columns));
    EACH(entry, trial->artifacts)
        say_artifact(&doc, json_object_get(entry, "artifact"));
    doc_close(&doc);
    EACH(entry, trial->artifacts)
        say_compiled(&doc, json_object_get(entry, "artifact"));
    html_appendix_add(appendix, HTML_APPENDIX_KERNELS, &body, cell);
}

static void collect_declaration(struct html_appendix *appendix, enum html_appendix_kind kind,
                                const char *name, const char *description, const char *digest,
                                const json_t *json, const struct view_cell *cell)
{
    struct text body = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&body, &doc_html);

    if (!json)
        return;
    doc_say(&doc, NULL, "{bold %s} %s", name, description ? description : "");
    doc_say(&doc, "soft wrap", "Identity: {code sha256:%s}", digest);
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
