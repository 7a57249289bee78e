/* A document as parts of a page. */
#include <stdio.h>

#include "harness/core/cleanup.h"
#include "reports/doc.h"
#include "reports/escape.h"

#define DIGEST_SHOWN 12

static const char *const tags[][2] = {
    [MARK_BOLD] = {"<b>", "</b>"},
    [MARK_SOFT] = {"<span class=\"soft\">", "</span>"},
    [MARK_GOOD] = {"<span class=\"good\">", "</span>"},
    [MARK_CARE] = {"<span class=\"care\">", "</span>"},
    [MARK_BAD] = {"<span class=\"bad\">", "</span>"},
    [MARK_NONE] = {"<span class=\"none\">", "</span>"},
    [MARK_CODE] = {"<code>", "</code>"},
    [MARK_COMMAND] = {"<code>", "</code>"},
    [MARK_LINK] = {"<a href=\"", "</a>"},
    [MARK_CLAUSE] = {"<span class=\"clause\">", "</span>"},
    [MARK_DIGEST] = {"<code title=\"sha256:", "</code>"},
};

/* The whole in a title; returns its length. */
static size_t append_digest(struct text *out, const char *digest)
{
    const size_t length = doc_plain_length(digest);

    escape_html_bytes(out, digest, length);
    text_append(out, "\">");
    escape_html_bytes(out, digest, length < DIGEST_SHOWN ? length : DIGEST_SHOWN);
    text_append(out, length > DIGEST_SHOWN ? "…" : "");
    return length;
}

static void append_phrases(struct text *out, const char *at,
                           void (*escape)(struct text *out, const void *bytes, size_t length))
{
    const char *ends[DOC_DEPTH];
    size_t open = 0;

    for (; *at; at += *at != '\0') {
        const size_t length = doc_plain_length(at);

        escape(out, at, length);
        at += length;
        if (*at == '\n') {
            text_append(out, "<br>");
        } else if (*at == MARK_TO) {
            text_append(out, "\">");
        } else if (*at == MARK_END || *at == MARK_COMMAND_END) {
            text_append(out, open ? ends[--open] : "");
        } else if (*at && *at != '\t' && open < DOC_DEPTH) {
            const bool is_missing = *at == MARK_DIGEST && at[1] == MARK_NONE;

            text_append(out, is_missing ? "" : tags[(size_t)*at][0]);
            ends[open++] = is_missing ? "" : tags[(size_t)*at][1];
            if (*at == MARK_DIGEST && !is_missing)
                at += append_digest(out, at + 1);
        }
    }
}

void doc_html_phrases(struct text *out, const char *phrases)
{
    append_phrases(out, phrases, escape_html_bytes);
}

void html_phrase(struct text *out, const char *format, ...)
{
    CLEANUP(text_finish) struct text phrases = TEXT_INIT;
    va_list args;

    va_start(args, format);
    doc_phrasev(&phrases, format, args);
    va_end(args);
    doc_html_phrases(out, phrases.data);
    out->failed = out->failed || phrases.failed;
}

/* ' class="num wrap"', of those that are not empty. */
static void append_look(struct text *out, const char *first, const char *second)
{
    if (*first || *second)
        text_append_format(out, " class=\"%s%s%s\"", first, *first && *second ? " " : "", second);
}

/* Of a cell: its column's, or what its flags come to. */
static void append_cell_look(struct text *out, const struct doc_column *column)
{
    append_look(out,
                column->flags & DOC_NUMBER  ? "num"
                : column->flags & DOC_WHOLE ? "when"
                                            : "",
                column->look                ? column->look
                : column->flags & DOC_BREAK ? "wrap"
                                            : "");
}

static void append_tag(struct text *out, const char *name, const char *look)
{
    text_append_format(out, "<%s", name);
    append_look(out, look ? look : "", "");
    text_append_char(out, '>');
}

static void append_cell(struct doc *doc, size_t index, char *cell, bool is_last)
{
    const struct doc_column *column = &doc->columns[index];
    const size_t span = is_last ? doc->column_count - index : 1;
    const char *name = column->flags & DOC_NAME ? "th" : "td";

    text_append_format(doc->out, column->flags & DOC_NAME ? "<%s scope=\"row\"" : "<%s", name);
    if (span > 1)
        text_append_format(doc->out, " colspan=\"%zu\"", span);
    else
        append_cell_look(doc->out, column);
    if (column->flags & DOC_LABELLED && span == 1) {
        text_append(doc->out, " data-name=\"");
        escape_html_bytes(doc->out, column->head, doc_plain_length(column->head));
        text_append_char(doc->out, '"');
    }
    text_append_char(doc->out, '>');
    append_phrases(doc->out, cell, column->flags & DOC_NAME ? escape_html_name : escape_html_bytes);
    text_append_format(doc->out, "</%s>", name);
}

static void append_fact(struct doc *doc, size_t index, char *cell, bool is_last)
{
    text_append(doc->out, index ? "<dd>" : "<div><dt>");
    doc_html_phrases(doc->out, cell);
    text_append(doc->out, is_last ? "</dd></div>\n" : "</dt>");
}

static void block(struct doc *doc, const char *look)
{
    const enum doc_box box = doc_box(doc);
    const bool is_item = box == DOC_LIST || box == DOC_NUMBERED || box == DOC_DETAILS;
    const char *tag = box == DOC_TABLE ? "tr" : is_item ? "li" : "p";

    if (box == DOC_FACTS) {
        doc_each_cell(doc, append_fact);
        return;
    }
    if (box == DOC_NUMBERED)
        text_append_format(doc->out, "<li id=\"%s-%zu\">", doc->numbered, doc->number);
    else
        append_tag(doc->out, tag, look);
    if (box == DOC_TABLE)
        doc_each_cell(doc, append_cell);
    else
        doc_html_phrases(doc->out, doc->block.data);
    text_append_format(doc->out, "</%s>\n", tag);
}

static void heading(struct doc *doc, int level, const char *id)
{
    text_append_format(doc->out, id ? "<h%d id=\"%s\">" : "<h%d>", level, id);
    doc_html_phrases(doc->out, doc->block.data);
    text_append_format(doc->out, "</h%d>\n", level);
}

static void append_heads(struct doc *doc)
{
    text_append(doc->out, "<thead><tr>");
    for (size_t i = 0; i < doc->column_count; i++) {
        const struct doc_column *column = &doc->columns[i];
        char look[16] = "";

        if (column->width > 0)
            snprintf(look, sizeof(look), "w%u", column->width);
        text_append(doc->out, "<th scope=\"col\"");
        append_look(doc->out, column->flags & DOC_NUMBER ? "num" : "", look);
        text_append_char(doc->out, '>');
        doc_html_phrases(doc->out, column->head);
        text_append(doc->out, "</th>");
    }
    text_append(doc->out, "</tr></thead><tbody>\n");
}

/* The element of each box, and what the block before it is in it. */
static const struct {
    const char *name, *before, *first, *close;
} elements[] = {
    [DOC_PAGE] = {"", "", "", ""},
    [DOC_GROUP] = {"div", "", "", "</div>\n"},
    [DOC_FOLD] = {"details", "", "summary", "</details>\n"},
    [DOC_DETAILS] = {"ul", "", "", "</ul>\n"},
    [DOC_LIST] = {"ul", "", "", "</ul>\n"},
    [DOC_NUMBERED] = {"ol", "", "", "</ol>\n"},
    [DOC_ITEM] = {"li", "", "", "</li>\n"},
    [DOC_FACTS] = {"dl", "", "", "</dl>\n"},
    [DOC_TABLE] = {"table", "<div class=\"scroll\">", "caption", "</tbody></table></div>\n"},
};

static void open(struct doc *doc, const char *look)
{
    const enum doc_box box = doc_box(doc);

    text_append(doc->out, elements[box].before);
    append_tag(doc->out, elements[box].name, look);
    if (box == DOC_ITEM) {
        doc_html_phrases(doc->out, doc->block.data);
    } else if (doc->block.length > 0) {
        append_tag(doc->out, elements[box].first, NULL);
        doc_html_phrases(doc->out, doc->block.data);
        text_append_format(doc->out, "</%s>", elements[box].first);
    }
    if (box == DOC_TABLE)
        append_heads(doc);
    else
        text_append_char(doc->out, '\n');
}

static void close(struct doc *doc)
{
    text_append(doc->out, elements[doc_box(doc)].close);
}

const struct doc_medium doc_html = {block, heading, open, close};
