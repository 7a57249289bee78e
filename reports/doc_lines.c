/*
 * A document as plain lines, each as long as it is: whoever writes to a terminal wraps them
 * (output_lines), and other programs read them.
 */
#include <stdint.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/doc.h"

#define LABEL_WIDTH 22 /* of facts */
#define GAP 2          /* between columns */
#define LAST_WIDTH 24  /* of a table's last column, at least */
#define DIGEST_SHOWN 12
#define JOINED_WIDTH 24 /* of the first cells of a table whose others are joined */

/* Two blanks for each box around it but the page and groups. */
static void append_indent(struct doc *doc)
{
    for (size_t i = 1; i <= doc->depth; i++)
        if (doc->boxes[i] != DOC_GROUP && doc->boxes[i] != DOC_TABLE && doc->boxes[i] != DOC_ITEM)
            text_append(doc->out, "  ");
}

static void append_padded(struct text *out, const char *string, size_t width, bool right)
{
    const size_t used = text_columns(string), blanks = used < width ? width - used : 0;

    text_append_format(out, "%*s%s%*s", right ? (int)blanks : 0, "", string,
                       right ? 0 : (int)blanks, "");
}

static void append_plain(struct doc *doc, struct text *out, const char *phrases)
{
    doc_plain_short(out, phrases, doc->is_short ? DIGEST_SHOWN : SIZE_MAX);
}

static void append_fact(struct doc *doc, size_t index, char *cell, bool is_last)
{
    CLEANUP(text_finish) struct text plain = TEXT_INIT;

    (void)index;
    append_plain(doc, &plain, cell);
    append_padded(doc->out, plain.data, is_last ? 0 : LABEL_WIDTH, false);
    text_append(doc->out, is_last ? "\n" : "  ");
}

static void keep_cell(struct doc *doc, size_t index, char *cell, bool is_last)
{
    (void)index;
    append_plain(doc, &doc->rows, cell);
    text_append_char(&doc->rows, is_last ? '\n' : '\t');
}

static void block(struct doc *doc, const char *look)
{
    const enum doc_box box = doc_box(doc);

    (void)look;
    if (box == DOC_TABLE) {
        doc_each_cell(doc, keep_cell);
        return;
    }
    append_indent(doc);
    if (box == DOC_FACTS) {
        doc_each_cell(doc, append_fact);
        return;
    }
    text_append(doc->out, box == DOC_LIST ? "- " : "");
    if (box == DOC_NUMBERED)
        text_append_format(doc->out, "%zu. ", doc->number);
    doc_plain(doc->out, doc->block.data);
    text_append_char(doc->out, '\n');
}

static void heading(struct doc *doc, int level, const char *id)
{
    (void)level;
    (void)id;
    text_append(doc->out, doc->out->length > 0 ? "\n" : "");
    doc_plain(doc->out, doc->block.data);
    text_append_char(doc->out, '\n');
}

/* The first line of a column's head. */
static void append_head(struct text *out, const struct doc_column *column)
{
    AUTO_FREE char *head = strndup(column->head, strcspn(column->head, "\n"));

    if (head)
        doc_plain(out, head);
    out->failed = out->failed || !head;
}

static void open(struct doc *doc, const char *look)
{
    doc->is_stacked = look && strstr(look, "stacked");
    doc->is_joined = look && !doc->is_stacked && strstr(look, "fixed");
    if (doc->block.length > 0) { /* a caption, a summary, or what begins an item */
        text_append(doc->out, doc->is_joined && doc->out->length > 0 ? "\n" : "");
        text_append(doc->out, doc_box(doc) == DOC_ITEM ? "  - " : "");
        doc_plain(doc->out, doc->block.data);
        text_append_char(doc->out, '\n');
    }
    for (size_t i = 0;
         doc_box(doc) == DOC_TABLE && !doc->is_stacked && !doc->is_joined && i < doc->column_count;
         i++) {
        append_head(&doc->rows, &doc->columns[i]);
        text_append_char(&doc->rows, i + 1 < doc->column_count ? '\t' : '\n');
    }
}

/* Of each column but a row's last cell, which may be as long as it wants. */
static void measure(const char *rows, size_t widths[DOC_COLUMNS])
{
    size_t column = 0;

    for (size_t length; *rows; rows += length + 1) {
        length = strcspn(rows, "\t\n");
        if (rows[length] == '\t') {
            AUTO_FREE char *cell = strndup(rows, length);
            const size_t width = cell ? text_columns(cell) : length;

            widths[column] = width > widths[column] ? width : widths[column];
        }
        column = rows[length] == '\t' ? column + 1 : 0;
    }
}

/* The first cell, and each other one below it, after its head. */
static void append_stacked(struct doc *doc, char *rows)
{
    size_t column = 0;

    for (char *end; *rows; rows = end + 1) {
        const bool is_last = (end = rows + strcspn(rows, "\t\n"))[0] == '\n';

        *end = '\0';
        if (column > 0) {
            text_append(doc->out, "  ");
            append_head(doc->out, &doc->columns[column]);
            text_append(doc->out, ": ");
        }
        text_append_format(doc->out, "%s\n", rows);
        column = is_last ? 0 : column + 1;
    }
    text_append_char(doc->out, '\n');
}

/* The first cell as a label, and the others that say something after it. */
static void append_joined(struct doc *doc, char *rows)
{
    size_t column = 0, said = 0;

    for (char *end; *rows; rows = end + 1) {
        const bool is_last = (end = rows + strcspn(rows, "\t\n"))[0] == '\n';

        *end = '\0';
        if (column == 0) {
            text_append(doc->out, "  ");
            append_padded(doc->out, rows, JOINED_WIDTH, false);
            if (text_columns(rows) > JOINED_WIDTH)
                text_append_format(doc->out, "\n%*s", JOINED_WIDTH + 2, "");
            text_append(doc->out, "  ");
            said = 0;
        } else if (*rows) {
            text_append_format(doc->out, "%s%s", said++ ? "; " : "", rows);
        }
        if (is_last)
            text_append_char(doc->out, '\n');
        column = is_last ? 0 : column + 1;
    }
}

/* Without the blanks before an empty last cell. */
static void end_line(struct text *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
    text_append_char(out, '\n');
}

/*
 * A row's last cell; below its beginning, where it is longer than what is left of the line and no
 * word is.
 */
static void append_last(struct doc *doc, const char *lead, const char *cell)
{
    const size_t used = text_columns(lead);

    if (doc->width == 0 || used + text_columns(cell) <= doc->width ||
        used + doc_longest_word(cell) > doc->width) {
        text_append_format(doc->out, "%s%s", lead, cell);
        end_line(doc->out);
    } else {
        text_append(doc->out, lead);
        doc_wrap_words(doc->out, cell, used, used, doc->width);
    }
}

static void append_table(struct doc *doc, char *rows, const size_t widths[DOC_COLUMNS])
{
    CLEANUP(text_finish) struct text lead = TEXT_INIT;
    size_t column = 0;

    text_append(doc->out, doc->out->length > 0 ? "\n" : "");
    for (char *end; *rows; rows = end + 1) {
        const bool is_last = (end = rows + strcspn(rows, "\t\n"))[0] == '\n';

        *end = '\0';
        if (is_last) {
            append_last(doc, lead.data, rows);
            text_clear(&lead);
        } else {
            append_padded(&lead, rows, widths[column], doc->columns[column].flags & DOC_NUMBER);
            text_append_format(&lead, "%*s", GAP, "");
        }
        column = is_last ? 0 : column + 1;
    }
    text_append_char(doc->out, '\n');
    doc->out->failed = doc->out->failed || lead.failed;
}

/* Whether all columns fit beside each other, with room for words in the last one. */
static bool fits(const struct doc *doc, const size_t widths[DOC_COLUMNS])
{
    size_t used = LAST_WIDTH;

    for (size_t i = 0; i + 1 < doc->column_count; i++)
        used += widths[i] + GAP;
    return doc->width == 0 || used <= doc->width;
}

static void close(struct doc *doc)
{
    size_t widths[DOC_COLUMNS] = {0};

    if (doc_box(doc) != DOC_TABLE || !text_ok(&doc->rows))
        return;
    measure(doc->rows.data, widths);
    if (doc->is_stacked)
        append_stacked(doc, doc->rows.data);
    else if (doc->is_joined)
        append_joined(doc, doc->rows.data);
    else if (!fits(doc, widths)) /* without the row of heads */
        append_stacked(doc, strchr(doc->rows.data, '\n') + 1);
    else
        append_table(doc, doc->rows.data, widths);
    text_clear(&doc->rows);
}

const struct doc_medium doc_lines = {block, heading, open, close};
