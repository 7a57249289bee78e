/* The parts of text.h that know UTF-8. */
#include "harness/core/text.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

/*
 * Length of the well-formed sequence at the start of `bytes` (Unicode 15, table 3-7: no overlong
 * forms, no surrogates, nothing above U+10FFFF) and its code point; 0 when it is malformed.
 */
static size_t decode(const unsigned char *bytes, size_t length, uint32_t *ret)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size;
    uint32_t code;

    if (length == 0)
        return 0;
    if (bytes[0] < 0x80) {
        *ret = bytes[0];
        return 1;
    }
    if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf)
        size = 2;
    else if (bytes[0] >= 0xe0 && bytes[0] <= 0xef)
        size = 3;
    else if (bytes[0] >= 0xf0 && bytes[0] <= 0xf4)
        size = 4;
    else
        return 0;
    if (length < size)
        return 0;
    code = bytes[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; ++i) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret = code;
    return size;
}

#define ONES UINT64_C(0x0101010101010101)

bool text_is_utf8(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t code;
    uint64_t eight;

    while (length > 0) {
        size_t size;

        /* Eight at once, of 1 to 127 each. */
        for (; length >= 8; at += 8, length -= 8) {
            memcpy(&eight, at, 8);
            if ((eight | (eight - ONES)) & ONES << 7)
                break;
        }
        if (length == 0)
            break;
        size = decode(at, length, &code);
        if (size == 0 || code == 0)
            return false;
        at += size;
        length -= size;
    }
    return true;
}

/*
 * Control characters, the marks that reorder or hide text around them, and invisible ones, with
 * which two names look the same (Unicode's Default_Ignorable_Code_Point without the selectors).
 */
static bool is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
           code == 0x180e || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe007f);
}

void text_append_printable(struct text *text, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t code = 0;

    while (length > 0) {
        size_t size = decode(at, length, &code);

        if (size > 0 && !is_unsafe(code)) {
            text_append_bytes(text, at, size);
        } else {
            size = size ? size : 1;
            for (size_t i = 0; i < size; ++i)
                text_append_format(text, "\\x%02X", at[i]);
        }
        at += size;
        length -= size;
    }
}

/* Length of a sequence that sets colours, at the start; 0: it is none. */
static size_t colour_length(const char *at, size_t length)
{
    size_t end = 2;

    if (length < 3 || at[0] != '\x1b' || at[1] != '[')
        return 0;
    while (end < length && ((at[end] >= '0' && at[end] <= '9') || at[end] == ';'))
        end++;
    return end < length && at[end] == 'm' ? end + 1 : 0;
}

void text_append_shown(struct text *text, const char *page, size_t length, bool colour)
{
    while (length > 0) {
        size_t size = colour ? colour_length(page, length) : 0;

        if (size == 0 && (*page == '\n' || *page == '\t'))
            size = 1;
        if (size > 0) {
            text_append_bytes(text, page, size);
        } else {
            for (size = 1; size < length && page[size] != '\n' && page[size] != '\t' &&
                           !(colour && page[size] == '\x1b');)
                size++;
            text_append_printable(text, page, size);
        }
        page += size;
        length -= size;
    }
}

void text_append_json(struct text *text, const char *json, size_t length)
{
    const unsigned char *at = (const unsigned char *)json;
    uint32_t code = 0;

    while (length > 0) {
        const size_t size = decode(at, length, &code);

        if (size == 0 || code < 0x7f || !is_unsafe(code))
            text_append_bytes(text, at, size ? size : 1);
        else if (code < 0x10000)
            text_append_format(text, "\\u%04X", (unsigned)code);
        else
            text_append_format(text, "\\u%04X\\u%04X", 0xd7c0u + (unsigned)(code >> 10),
                               0xdc00u + (unsigned)(code & 0x3ff));
        at += size ? size : 1;
        length -= size ? size : 1;
    }
}

size_t text_columns(const char *utf8)
{
    const unsigned char *at = (const unsigned char *)utf8;
    size_t length = strlen(utf8), columns = 0;
    uint32_t code = 0;

    while (length > 0) {
        size_t size = decode(at, length, &code);
        int width = size ? wcwidth((wchar_t)code) : 1;

        columns += width < 0 ? 1 : (size_t)width;
        size = size ? size : 1;
        at += size;
        length -= size;
    }
    return columns;
}
