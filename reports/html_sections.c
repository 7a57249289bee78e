/* The sections of the appendix, each drawn from one fully loaded cell. */
#include "reports/cell_document.h"

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

/* What a section says of one trial, if anything. */
static void collect(struct html_appendix *appendix, enum html_appendix_kind kind,
                    const struct view_cell *cell, const struct view_trial *trial)
{
    struct text body = TEXT_INIT;
    CLEANUP(doc_finish) struct doc doc = doc_new(&body, &doc_html);

    if (kind == HTML_APPENDIX_KERNELS)
        cell_kernels(&doc, trial);
    else
        cell_files(&doc, trial, kind == HTML_APPENDIX_STACK);
    if (body.length > 0 || body.failed)
        html_appendix_add(appendix, kind, &body, cell);
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
        collect(appendix, HTML_APPENDIX_STACK, cell, &cell->trials[i]);
        collect(appendix, HTML_APPENDIX_FILES, cell, &cell->trials[i]);
        collect(appendix, HTML_APPENDIX_KERNELS, cell, &cell->trials[i]);
    }
    collect_declaration(appendix, HTML_APPENDIX_WORKLOAD, cell->workload,
                        cell->workload_description, cell->workload_digest, cell->workload_json,
                        cell);
    collect_declaration(appendix, HTML_APPENDIX_PROTOCOL, cell->protocol,
                        cell->protocol_description, cell->protocol_digest, cell->protocol_json,
                        cell);
}
