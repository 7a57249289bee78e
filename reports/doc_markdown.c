/* A document as GitHub's Markdown; what is data cannot break out of its place, nor mention anybody.
 */
#include <string.h>

#include "reports/doc.h"

/* Numeric references in place of what is markup; brackets make a link only before these. */
static void append_escaped(struct text *out, const char *string, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const bool is_link = string[i] == ']' && i + 1 < length && strchr("([:", string[i + 1]);

        if (is_link || strchr("|<&@*_`#~\\", string[i]))
            text_append_format(out, "&#%d;", string[i]);
        else
            text_append_char(out, string[i]);
    }
}

/* Code has no references; nothing in it may end it, or the cell around it. */
static void append_code(struct text *out, const char *string, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        text_append(out, string[i] == '|' ? "\\" : "");
        text_append_char(out, string[i] == '`' ? '\'' : string[i]);
    }
}

static void append_phrases(struct text *out, const char *at)
{
    const char *ends[DOC_DEPTH];
    size_t open = 0;
    bool in_code = false;

    for (; *at; at += *at != '\0') {
        const size_t length = doc_plain_length(at);

        if (in_code)
            append_code(out, at, length);
        else
            append_escaped(out, at, length);
        at += length;
        if (*at == '\n') {
            text_append(out, "<br>");
        } else if (*at == MARK_LINK) {
            at += strcspn(at, (char[]){MARK_TO, '\0'});
            ends[open++] = "";
        } else if (*at == MARK_END || *at == MARK_COMMAND_END) {
            in_code = in_code && !(open && *ends[open - 1] == '`');
            text_append(out, open ? ends[--open] : "");
        } else if (*at && *at != '\t' && open < DOC_DEPTH) {
            const bool is_code =
                (*at == MARK_CODE || *at == MARK_DIGEST || *at == MARK_COMMAND) && !in_code;

            ends[open] = is_code ? "`" : *at == MARK_BOLD && !in_code ? "**" : "";
            in_code = in_code || is_code;
            text_append(out, ends[open++]);
        }
    }
}

/* A blank line, unless nothing is before it. */
static void append_gap(struct text *out)
{
    if (out->length > 1 && strcmp(out->data + out->length - 2, "\n\n") != 0)
        text_append_char(out, '\n');
}

static void append_cell(struct doc *doc, size_t index, char *cell, bool is_last)
{
    text_append(doc->out, "| ");
    append_phrases(doc->out, cell);
    text_append_char(doc->out, ' ');
    for (; is_last && index < doc->column_count; index++)
        text_append(doc->out, index + 1 < doc->column_count ? "| " : "|\n");
}

static void append_fact(struct doc *doc, size_t index, char *cell, bool is_last)
{
    text_append(doc->out, index ? "" : "- ");
    append_phrases(doc->out, cell);
    text_append(doc->out, is_last ? "\n" : ": ");
}

static void block(struct doc *doc, const char *look)
{
    const enum doc_box box = doc_box(doc);

    (void)look;
    if (box == DOC_TABLE || box == DOC_FACTS) {
        doc_each_cell(doc, box == DOC_TABLE ? append_cell : append_fact);
        return;
    }
    if (box == DOC_LIST || box == DOC_DETAILS)
        text_append(doc->out, "- ");
    else if (box == DOC_NUMBERED)
        text_append_format(doc->out, "%zu. ", doc->number);
    else
        append_gap(doc->out);
    append_phrases(doc->out, doc->block.data);
    text_append_char(doc->out, '\n');
}

static void heading(struct doc *doc, int level, const char *id)
{
    (void)id;
    append_gap(doc->out);
    while (level-- > 0)
        text_append_char(doc->out, '#');
    text_append_char(doc->out, ' ');
    append_phrases(doc->out, doc->block.data);
    text_append_char(doc->out, '\n');
}

static void open(struct doc *doc, const char *look)
{
    const bool is_item = doc_box(doc) == DOC_ITEM;

    (void)look;
    if (is_item)
        text_append(doc->out, "- ");
    else
        append_gap(doc->out);
    if (doc->block.length > 0) { /* a caption, a summary, or what begins an item */
        append_phrases(doc->out, doc->block.data);
        text_append(doc->out, is_item ? "\n" : "\n\n");
    }
    if (doc_box(doc) != DOC_TABLE)
        return;
    for (size_t i = 0; i < doc->column_count; i++) {
        text_append(doc->out, i ? " | " : "| ");
        append_phrases(doc->out, doc->columns[i].head);
    }
    text_append(doc->out, " |\n|");
    for (size_t i = 0; i < doc->column_count; i++)
        text_append(doc->out, doc->columns[i].flags & DOC_NUMBER ? " ---: |" : " --- |");
    text_append_char(doc->out, '\n');
}

static void close(struct doc *doc)
{
    (void)doc;
}

const struct doc_medium doc_markdown = {block, heading, open, close};
