#include "harness/endpoint/reasons.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/text.h"

#define EXAMPLE_LENGTH 200

void reasons_excerpt(const char *bytes, size_t length, const char *key,
                     char ret[REASON_EXAMPLE_SIZE])
{
    size_t key_length = key ? strlen(key) : 0, shown;
    struct text text, clean;

    text_init(&text);
    text_init(&clean);
    for (size_t i = 0; i < length && text.length <= EXAMPLE_LENGTH;)
        if (key_length > 0 && length - i >= key_length && !memcmp(bytes + i, key, key_length)) {
            text_append(&text, "[key]");
            i += key_length;
        } else {
            text_append_char(&text, bytes[i++]);
        }
    text_append_printable(&clean, text.data, text.length);
    shown = clean.length;
    if (shown > EXAMPLE_LENGTH)
        for (shown = EXAMPLE_LENGTH;
             shown > 0 && ((unsigned char)clean.data[shown] & 0xc0) == 0x80;)
            --shown;
    snprintf(ret, REASON_EXAMPLE_SIZE, "%.*s%s", (int)shown, clean.data,
             shown < clean.length ? "..." : "");
    text_finish(&text);
    text_finish(&clean);
}

void reasons_add(struct reasons *reasons, const char *reason, const char *bytes, size_t length,
                 const char *key)
{
    struct reason *found = NULL;

    for (size_t i = 0; i < reasons->count && !found; ++i)
        if (!strcmp(reasons->list[i].reason, reason))
            found = &reasons->list[i];
    if (!found && reasons->count == REASONS_MAX)
        found = &reasons->list[REASONS_MAX - 1];
    if (!found) {
        found = &reasons->list[reasons->count++];
        snprintf(found->reason, sizeof(found->reason), "%s",
                 reasons->count == REASONS_MAX ? "other reasons" : reason);
        reasons_excerpt(bytes, bytes ? length : 0, key, found->example);
    }
    ++found->count;
}
