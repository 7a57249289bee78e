/*
 * sse - server-sent events, as bytes arrive (WHATWG HTML, "9.2.6 Interpreting an event stream").
 *
 * Only `data` matters here: the fields `event`, `id` and `retry`, comments and unknown fields are
 * read over. Lines end in CRLF, LF or CR; an event ends at an empty line, so that what is left
 * without one at the end of the stream is no event. Nothing grows beyond `line_max`.
 */
#ifndef ASSAY_ENDPOINT_SSE_H
#define ASSAY_ENDPOINT_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/text.h"

/* An event's data, lines joined by LF, NUL-terminated; valid during the call. False: stop. */
typedef bool sse_event_fn(void *context, const char *data, size_t length);

enum sse_result {
    SSE_OK,
    SSE_STOPPED,  /* by the callback */
    SSE_TOO_LONG, /* a line or an event's data is longer than line_max */
    SSE_NO_MEMORY,
};

struct sse {
    size_t line_max; /* bytes of a line, and of an event's data */
    sse_event_fn *on_event;
    void *context;
    struct text line, data; /* begun and not ended */
    bool has_data;          /* the event has a `data` field, if an empty one */
    bool after_cr;          /* an LF that follows belongs to the CR */
    bool begun;             /* past the place of a byte order mark */
};

void sse_init(struct sse *sse, size_t line_max, sse_event_fn *on_event, void *context);
void sse_finish(struct sse *sse);

/* Forgets what was begun; keeps its memory. */
void sse_reset(struct sse *sse);

/* Takes the next bytes, in pieces of any size. After another result than SSE_OK: sse_reset. */
enum sse_result sse_feed(struct sse *sse, const char *bytes, size_t length);

#endif
