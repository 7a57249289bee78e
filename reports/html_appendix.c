/*
 * What many results share - the device, the host, the mapped files, kernels, declarations - is
 * stated once at the end of the page, and every result links to it.
 */
#include "reports/html_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
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
    } * users;
    size_t user_count;
};

static const struct {
    const char *id, *heading, *label;
} kinds[HTML_APPENDIX_KINDS] = {
    [HTML_APPENDIX_DEVICE] = {"device", "Devices", "Device"},
    [HTML_APPENDIX_HOST] = {"host", "Hosts", "Host"},
    [HTML_APPENDIX_STACK] = {"stack", "Software stacks", "Stack"},
    [HTML_APPENDIX_FILES] = {"files", "Other mapped files", "Files"},
    [HTML_APPENDIX_KERNELS] = {"kernels", "Compiled kernels", "Kernels"},
    [HTML_APPENDIX_WORKLOAD] = {"workload", "Declared workloads", "Workload"},
    [HTML_APPENDIX_PROTOCOL] = {"protocol", "Declared protocols", "Protocol"},
};

void html_appendix_finish(struct html_appendix *appendix)
{
    if (!appendix)
        return;
    for (size_t i = 0; i < appendix->count; ++i) {
        free(appendix->sections[i].body);
        free(appendix->sections[i].users);
    }
    free(appendix->sections);
    *appendix = (struct html_appendix){0};
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
    if (!ARRAY_ROOM(appendix->sections, appendix->count, 1))
        return NULL;
    sections = appendix->sections;
    sections[appendix->count] =
        (struct html_section){.kind = kind, .number = number, .digest = digest};
    sections[appendix->count].body = text_steal(body);
    return sections[appendix->count].body ? &sections[appendix->count++] : NULL;
}

static bool add_user(struct html_section *section, const struct view_cell *cell)
{
    if (section->user_count && section->users[section->user_count - 1].cell == cell->id)
        return true;
    if (!ARRAY_ROOM(section->users, section->user_count, 1))
        return false;
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

/* The numbers (from 1) of the sections of `kind` that the cell uses; returns how many. */
static size_t html_appendix_of(const struct html_appendix *appendix, enum html_appendix_kind kind,
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
        doc_phrase(out, "%s{link #%s-%zu %s %zu}", i ? ", " : "", kinds[kind].id, numbers[i],
                   kinds[kind].label, numbers[i]);
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
