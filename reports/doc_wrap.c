/* Lines that are no longer than a terminal is wide. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "reports/doc.h"

#define ALONE 4

size_t doc_longest_word(const char *string)
{
    size_t longest = 0;

    for (size_t length; *string; string += length + (string[length] == ' ')) {
        length = strcspn(string, " ");
        longest = length > longest ? length : longest;
    }
    return longest;
}

void doc_wrap_words(struct text *out, const char *string, size_t column, size_t indent, size_t to)
{
    bool first = true;

    while (*string) {
        size_t length = strcspn(string, " \n"), width, from;
        char word[256];

        if (length >= sizeof(word))
            length = sizeof(word) - 1;
        memcpy(word, string, length);
        word[length] = '\0';
        width = text_columns(word);
        /* What has no room below the others stands by itself. */
        from = indent > ALONE && indent + width > to ? ALONE : indent;
        if (column > from && column + !first + width > to) {
            while (out->length > 0 && out->data[out->length - 1] == ' ')
                out->data[--out->length] = '\0';
            text_append_format(out, "\n%*s", (int)from, "");
            column = from;
        } else if (!first) {
            text_append_char(out, ' ');
            column++;
        }
        first = false;
        text_append(out, word);
        column += width;
        string += length;
        string += strspn(string, " \n");
    }
    text_append_char(out, '\n');
}

/*
 * Bytes of a line before the part that continues below: to the last of its columns that leaves a
 * quarter of the line, or its indentation.
 */
static size_t lead_of(const char *line, size_t columns)
{
    const size_t indent = strspn(line, " ");
    size_t lead = indent;

    for (const char *gap = line + indent; (gap = strstr(gap, "  "));) {
        gap += strspn(gap, " ");
        if (!*gap || (size_t)(gap - line) > columns / 4 * 3)
            break;
        lead = (size_t)(gap - line);
    }
    return lead;
}

static void append_line(struct text *out, const char *line, size_t columns)
{
    const size_t lead = lead_of(line, columns), indent = strspn(line, " ");
    AUTO_FREE char *begin = NULL;

    if (text_columns(line) <= columns || !line[lead]) {
        text_append_format(out, "%s\n", line);
        return;
    }
    begin = strndup(line, lead);
    out->failed = out->failed || !begin;
    text_append(out, begin ? begin : "");
    doc_wrap_words(out, line + lead, text_columns(begin ? begin : ""),
                   lead > indent ? text_columns(begin ? begin : "") : indent + 4, columns);
}

void doc_wrap(struct text *out, const char *string, size_t columns)
{
    while (*string) {
        const size_t length = strcspn(string, "\n");
        AUTO_FREE char *line = strndup(string, length);

        if (line)
            append_line(out, line, columns);
        else
            out->failed = true;
        string += length + (string[length] == '\n');
    }
}
