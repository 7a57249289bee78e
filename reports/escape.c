#include "reports/escape.h"

#include "harness/core/cleanup.h"

#include <ctype.h>
#include <string.h>

static void append_references(struct text *out, const char *string, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        switch (string[i]) {
        case '&':
            text_append(out, "&amp;");
            break;
        case '<':
            text_append(out, "&lt;");
            break;
        case '>':
            text_append(out, "&gt;");
            break;
        case '"':
            text_append(out, "&quot;");
            break;
        case '\'':
            text_append(out, "&#39;");
            break;
        default:
            text_append_char(out, string[i]);
        }
    }
}

void escape_html_bytes(struct text *out, const void *bytes, size_t length)
{
    CLEANUP(text_finish) struct text printable = TEXT_INIT;

    text_append_printable(&printable, bytes, length);
    append_references(out, printable.data, printable.length);
    out->failed = out->failed || printable.failed;
}

void escape_html(struct text *out, const char *string)
{
    if (string)
        escape_html_bytes(out, string, strlen(string));
}

void escape_html_name(struct text *out, const void *bytes, size_t length)
{
    const char *from = bytes, *const end = from + length;

    for (const char *at = from; at + 1 < end; at++) {
        const bool dot = *at == '.' && isalpha((unsigned char)at[1]);

        if ((*at != '_' && *at != '/' && !dot) || at == bytes)
            continue;
        escape_html_bytes(out, from, (size_t)(at + 1 - from));
        text_append(out, "<wbr>");
        from = at + 1;
    }
    escape_html_bytes(out, from, (size_t)(end - from));
}

void escape_html_short(struct text *out, const char *string, size_t columns)
{
    CLEANUP(text_finish) struct text cut = TEXT_INIT;

    escape_terminal_short(&cut, string, columns);
    append_references(out, cut.data, cut.length);
    out->failed = out->failed || cut.failed;
}

void escape_html_id(struct text *out, const char *string)
{
    bool hyphen = true; /* none at the start */
    size_t length = 0;

    for (const unsigned char *at = (const unsigned char *)string; at && *at && length < 64; ++at) {
        bool plain = *at < 0x80 && isalnum(*at);

        if (plain)
            text_append_char(out, (char)tolower(*at));
        else if (!hyphen)
            text_append_char(out, '-');
        length += plain || !hyphen;
        hyphen = !plain;
    }
}

/* Bytes of the character at the start of a well-formed string. */
static size_t character_size(const char *utf8)
{
    size_t size = 1;

    while (((unsigned char)utf8[size] & 0xc0) == 0x80)
        ++size;
    return size;
}

void escape_terminal_short(struct text *out, const char *string, size_t columns)
{
    struct text printable = TEXT_INIT;
    size_t used = 0, fits = 0;

    if (!string || columns == 0)
        return;
    text_append_printable(&printable, string, strlen(string));
    out->failed = out->failed || printable.failed;
    if (text_columns(printable.data) <= columns) {
        text_append(out, printable.data);
        text_finish(&printable);
        return;
    }
    /* One column is kept for the ellipsis. */
    while (fits < printable.length) {
        size_t size = character_size(printable.data + fits);
        char one[8] = "";

        memcpy(one, printable.data + fits, size < sizeof(one) ? size : sizeof(one) - 1);
        if (used + text_columns(one) > columns - 1)
            break;
        used += text_columns(one);
        fits += size;
    }
    text_append_bytes(out, printable.data, fits);
    text_append(out, "…");
    text_finish(&printable);
}
