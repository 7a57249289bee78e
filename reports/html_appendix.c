/*
 * What many results share - the device, the host, the mapped files, kernels, declarations - is stated
 * once at the end of the page, and every result links to it.
 */
#include "reports/html_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/digest.h"
#include "reports/escape.h"

struct html_section {
    enum html_appendix_kind kind;
    size_t number; /* within its kind */
    struct digest digest;
    char *body;
    struct {
        int64_t cell;
        char result[80];
    } *users;
    size_t user_count;
};

static const struct {
    const char *id, *heading, *label;
} kinds[HTML_APPENDIX_KINDS] = {
    [HTML_APPENDIX_DEVICE] = {"device", "Devices", "Device"},
    [HTML_APPENDIX_HOST] = {"host", "Hosts", "Host"},
    [HTML_APPENDIX_STACK] = {"stack", "Software stacks", "Stack"},
    [HTML_APPENDIX_KERNELS] = {"kernels", "Compiled kernels", "Kernels"},
    [HTML_APPENDIX_WORKLOAD] = {"workload", "Declared workloads", "Workload"},
    [HTML_APPENDIX_PROTOCOL] = {"protocol", "Declared protocols", "Protocol"},
};

void html_appendix_init(struct html_appendix *appendix)
{
    *appendix = (struct html_appendix){0};
}

void html_appendix_finish(struct html_appendix *appendix)
{
    if (!appendix)
        return;
    for (size_t i = 0; i < appendix->count; ++i) {
        free(appendix->sections[i].body);
        free(appendix->sections[i].users);
    }
    free(appendix->sections);
    html_appendix_init(appendix);
}

static struct html_section *section_for(struct html_appendix *appendix,
                                        enum html_appendix_kind kind, struct text *body)
{
    struct digest digest = digest_bytes(body->data, body->length);
    struct html_section *sections = appendix->sections;
    size_t number = 1;

    for (size_t i = 0; i < appendix->count; ++i) {
        if (sections[i].kind != kind)
            continue;
        if (digest_equal(&sections[i].digest, &digest))
            return &sections[i];
        ++number;
    }
    if (appendix->count == appendix->capacity) {
        size_t capacity = appendix->capacity ? 2 * appendix->capacity : 16;

        sections = realloc(sections, capacity * sizeof(*sections));
        if (!sections)
            return NULL;
        appendix->sections = sections;
        appendix->capacity = capacity;
    }
    sections[appendix->count] =
        (struct html_section){.kind = kind, .number = number, .digest = digest};
    sections[appendix->count].body = text_steal(body);
    return sections[appendix->count].body ? &sections[appendix->count++] : NULL;
}

static bool add_user(struct html_section *section, const struct view_cell *cell)
{
    void *users;

    if (section->user_count && section->users[section->user_count - 1].cell == cell->id)
        return true;
    users = realloc(section->users, (section->user_count + 1) * sizeof(*section->users));
    if (!users)
        return false;
    section->users = users;
    section->users[section->user_count].cell = cell->id;
    memcpy(section->users[section->user_count].result, cell->result, sizeof(cell->result));
    ++section->user_count;
    return true;
}

size_t html_appendix_add(struct html_appendix *appendix, enum html_appendix_kind kind,
                         struct text *body, const struct view_cell *cell)
{
    struct html_section *section = text_ok(body) ? section_for(appendix, kind, body) : NULL;
    size_t number = 0;

    if (section && add_user(section, cell))
        number = section->number;
    else
        appendix->failed = true;
    text_finish(body);
    return number;
}

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
    text_append(&body, device->simulated ? " (simulated)" : "");
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
    html_reading_table(&body, "What the device and its driver tell of themselves",
                       &device->readings);
    html_appendix_add(appendix, HTML_APPENDIX_DEVICE, &body, cell);
}

/* True when every trial of the cell read the same, before and after. */
static bool is_constant(const struct view_cell *cell, const struct reading *reading)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct view_trial *trial = &cell->trials[i];

        if (trial->before.count && !html_reading_equal(reading, reading_find(&trial->before, reading->name)))
            return false;
        if (trial->after.count && reading_find(&trial->after, reading->name) &&
            !html_reading_equal(reading, reading_find(&trial->after, reading->name)))
            return false;
    }
    return true;
}

static void collect_host(struct html_appendix *appendix, const struct view_cell *cell)
{
    const struct reading_list *readings = NULL;
    struct reading_list kept; /* borrows the items */
    struct text body;

    for (size_t i = 0; i < cell->trial_count && !readings; ++i)
        if (cell->trials[i].before.count)
            readings = &cell->trials[i].before;
    if (!readings)
        return;
    kept = (struct reading_list){.items = calloc(readings->count, sizeof(*kept.items))};
    if (!kept.items) {
        appendix->failed = true;
        return;
    }
    for (size_t i = 0; i < readings->count; ++i)
        if (!html_is_moving(readings->items[i].name) && is_constant(cell, &readings->items[i]))
            kept.items[kept.count++] = readings->items[i];
    text_init(&body);
    html_reading_table(&body, "What did not change between the trials", &kept);
    free(kept.items);
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

static void collect_stack(struct html_appendix *appendix, const struct view_cell *cell,
                          const struct view_trial *trial)
{
    struct text body;
    char size[NUMBER_SIZE];

    text_init(&body);
    text_append_format(&body,
                       "<div class=\"scroll\"><table class=\"tight\"><caption>%zu files that the "
                       "worker had mapped, seen at the start and at the end of the window</caption>"
                       "<thead><tr><th scope=\"col\">File</th><th scope=\"col\">Kind</th>"
                       "<th scope=\"col\">Version</th><th scope=\"col\" class=\"num\">Size</th>"
                       "<th scope=\"col\">SHA-256</th><th scope=\"col\">Build-id</th>"
                       "<th scope=\"col\">In the window</th></tr></thead><tbody>\n",
                       trial->component_count);
    for (size_t i = 0; i < trial->component_count; ++i) {
        const struct view_component *component = &trial->components[i];

        text_append(&body, "<tr><th scope=\"row\" class=\"wrap\">");
        html_known(&body, component->path);
        text_append(&body, "</th><td>");
        html_known(&body, component->kind);
        text_append(&body, "</td><td class=\"wrap\">");
        html_known(&body, component->version);
        text_append(&body, "</td><td class=\"num\">");
        if (component->size.known)
            text_append(&body, number_format_bytes((double)component->size.value, size));
        else
            html_known(&body, NULL);
        text_append(&body, "</td><td>");
        if (component->digest) {
            html_digest(&body, component->digest);
        } else {
            text_append(&body, "<span class=\"none\">unavailable: ");
            escape_html(&body, component->missing_reason ? component->missing_reason : "no reason given");
            text_append(&body, "</span>");
        }
        text_append(&body, "</td><td>");
        if (component->build_id)
            html_digest(&body, component->build_id);
        else
            text_append(&body, "<span class=\"none\">has none</span>");
        text_append(&body, "</td><td>");
        append_change(&body, component);
        text_append(&body, "</td></tr>\n");
    }
    text_append(&body, "</tbody></table></div>\n");
    html_appendix_add(appendix, HTML_APPENDIX_STACK, &body, cell);
}

static void append_artifact(struct text *out, const json_t *artifact)
{
    const char *log = json_string_value(json_object_get(artifact, "log"));
    const json_t *lanes = json_object_get(artifact, "lanes");

    text_append(out, "<tr><th scope=\"row\" class=\"wrap\">");
    html_known(out, json_string_value(json_object_get(artifact, "file")));
    text_append(out, "</th><td class=\"num\">");
    if (json_is_integer(lanes))
        text_append_format(out, "%lld", (long long)json_integer_value(lanes));
    else
        html_known(out, NULL);
    text_append(out, "</td><td>");
    html_digest(out, json_string_value(json_object_get(artifact, "source")));
    text_append(out, "</td><td>");
    html_digest(out, json_string_value(json_object_get(artifact, "binary")));
    text_append(out, "</td><td class=\"wrap\">");
    html_known(out, json_string_value(json_object_get(artifact, "compiler")));
    text_append(out, "</td><td class=\"wrap\"><code>");
    escape_html(out, json_string_value(json_object_get(artifact, "options")));
    text_append(out, "</code>");
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
    const json_t *artifact;
    size_t index;

    text_init(&body);
    text_append(&body, "<div class=\"scroll\"><table class=\"tight\"><caption>Kernel texts as compiled "
                       "for the device</caption><thead><tr><th scope=\"col\">Text</th>"
                       "<th scope=\"col\" class=\"num\">Lanes</th><th scope=\"col\">Source SHA-256</th>"
                       "<th scope=\"col\">Binary SHA-256</th><th scope=\"col\">Compiler</th>"
                       "<th scope=\"col\">Options</th></tr></thead><tbody>\n");
    json_array_foreach (trial->artifacts, index, artifact)
        append_artifact(&body, artifact);
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
        if (cell->trials[i].component_count)
            collect_stack(appendix, cell, &cell->trials[i]);
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

size_t html_appendix_of(const struct html_appendix *appendix, enum html_appendix_kind kind,
                        const struct view_cell *cell, size_t *ret, size_t capacity)
{
    size_t count = 0;

    for (size_t i = 0; i < appendix->count && count < capacity; ++i) {
        const struct html_section *section = &appendix->sections[i];

        for (size_t u = 0; section->kind == kind && u < section->user_count; ++u)
            if (section->users[u].cell == cell->id) {
                ret[count++] = section->number;
                break;
            }
    }
    return count;
}

bool html_appendix_links(struct text *out, const struct html_appendix *appendix,
                         enum html_appendix_kind kind, const struct view_cell *cell)
{
    size_t numbers[16], count = html_appendix_of(appendix, kind, cell, numbers, 16);

    for (size_t i = 0; i < count; ++i)
        text_append_format(out, "%s<a href=\"#%s-%zu\">%s %zu</a>", i ? ", " : "", kinds[kind].id,
                           numbers[i], kinds[kind].label, numbers[i]);
    return count > 0;
}

static void write_section(struct text *out, const struct html_section *section)
{
    text_append_format(out, "<section id=\"%s-%zu\"><h4>%s %zu", kinds[section->kind].id,
                       section->number, kinds[section->kind].label, section->number);
    text_append(out, "</h4><p class=\"soft\">Of ");
    for (size_t u = 0; u < section->user_count; ++u) {
        text_append(out, u ? ", <a href=\"#r-" : "<a href=\"#r-");
        escape_html_id(out, section->users[u].result);
        text_append(out, "\">");
        escape_html(out, section->users[u].result);
        text_append(out, "</a>");
    }
    text_append(out, "</p>\n");
    text_append(out, section->body);
    text_append(out, "</section>\n");
}

void html_appendix_write(struct text *out, const struct html_appendix *appendix)
{
    for (int kind = 0; kind < HTML_APPENDIX_KINDS; ++kind) {
        bool any = false;

        for (size_t i = 0; i < appendix->count; ++i) {
            if ((int)appendix->sections[i].kind != kind)
                continue;
            if (!any)
                text_append_format(out, "<h2 id=\"appendix-%s\">%s</h2>\n", kinds[kind].id,
                                   kinds[kind].heading);
            any = true;
            write_section(out, &appendix->sections[i]);
        }
    }
}
