#include "harness/endpoint/sse.h"

#include <string.h>

void sse_init(struct sse *sse, size_t line_max, sse_event_fn *on_event, void *context)
{
    memset(sse, 0, sizeof(*sse));
    sse->line_max = line_max;
    sse->on_event = on_event;
    sse->context = context;
    text_init(&sse->line);
    text_init(&sse->data);
}

void sse_finish(struct sse *sse)
{
    text_finish(&sse->line);
    text_finish(&sse->data);
}

void sse_reset(struct sse *sse)
{
    text_clear(&sse->line);
    text_clear(&sse->data);
    sse->has_data = sse->after_cr = sse->begun = false;
}

static enum sse_result end_event(struct sse *sse)
{
    bool has_data = sse->has_data, goes_on = true;

    sse->has_data = false;
    if (has_data)
        goes_on = sse->on_event(sse->context, sse->data.data, sse->data.length);
    text_clear(&sse->data);
    return goes_on ? SSE_OK : SSE_STOPPED;
}

static enum sse_result end_line(struct sse *sse, const char *line, size_t length)
{
    if (!sse->begun && length >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
        line += 3;
        length -= 3;
    }
    sse->begun = true;
    if (length == 0)
        return end_event(sse);
    if (length < 4 || memcmp(line, "data", 4) || (length > 4 && line[4] != ':'))
        return SSE_OK;
    line += length > 4 ? 5 : 4;
    length -= length > 4 ? 5 : 4;
    if (length > 0 && *line == ' ') {
        ++line;
        --length;
    }
    if (sse->data.length + sse->has_data + length > sse->line_max)
        return SSE_TOO_LONG;
    if (sse->has_data)
        text_append_char(&sse->data, '\n');
    text_append_bytes(&sse->data, line, length);
    sse->has_data = true;
    return text_ok(&sse->data) ? SSE_OK : SSE_NO_MEMORY;
}

/* The first CR or LF; NULL: there is none. */
static const char *find_end(const char *bytes, const char *end)
{
    while (bytes < end && *bytes != '\n' && *bytes != '\r')
        ++bytes;
    return bytes < end ? bytes : NULL;
}

enum sse_result sse_feed(struct sse *sse, const char *bytes, size_t length)
{
    const char *end = bytes + length;
    enum sse_result result = SSE_OK;

    while (result == SSE_OK && bytes < end) {
        const char *stop;

        if (sse->after_cr && *bytes == '\n')
            ++bytes;
        sse->after_cr = false;
        stop = find_end(bytes, end);
        if (sse->line.length + (size_t)((stop ? stop : end) - bytes) > sse->line_max)
            return SSE_TOO_LONG;
        if (stop && sse->line.length == 0) { /* a line in one piece */
            result = end_line(sse, bytes, (size_t)(stop - bytes));
        } else {
            text_append_bytes(&sse->line, bytes, (size_t)((stop ? stop : end) - bytes));
            if (!text_ok(&sse->line))
                return SSE_NO_MEMORY;
            if (!stop)
                return SSE_OK;
            result = end_line(sse, sse->line.data, sse->line.length);
            text_clear(&sse->line);
        }
        sse->after_cr = *stop == '\r';
        bytes = stop + 1;
    }
    return result;
}
