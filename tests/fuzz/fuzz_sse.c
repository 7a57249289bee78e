/*
 * An event stream of a server that is not trusted. The first byte says how it is cut into pieces:
 * the events are those of the stream in one piece.
 */
#include "fuzz.h"

#include "harness/endpoint/event.h"
#include "harness/endpoint/reasons.h"
#include "harness/endpoint/sse.h"

#define LINE_LIMIT 512

static bool on_event(void *context, const char *data, size_t length)
{
    struct text *seen = context;
    char shown[REASON_EXAMPLE_SIZE];
    struct event event;

    FUZZ_REQUIRE(length <= LINE_LIMIT && data[length] == '\0');
    text_append_format(seen, "%zu:", length);
    text_append_bytes(seen, data, length);
    if (!event_read(data, length, &event))
        reasons_excerpt(data, length, "data", shown);
    else
        reasons_excerpt(event.error, strlen(event.error), NULL, shown);
    FUZZ_REQUIRE(text_is_utf8(shown, strlen(shown)) && strlen(shown) <= 203);
    for (const char *c = shown; *c; ++c)
        FUZZ_REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
    return true;
}

static enum sse_result read_pieces(const uint8_t *data, size_t size, size_t piece,
                                   struct text *seen)
{
    enum sse_result result = SSE_OK;
    struct sse sse;

    sse_init(&sse, LINE_LIMIT, on_event, seen);
    for (size_t at = 0; at < size && result == SSE_OK; at += piece)
        result = sse_feed(&sse, (const char *)data + at, size - at < piece ? size - at : piece);
    FUZZ_REQUIRE(sse.line.capacity <= 4 * LINE_LIMIT && sse.data.capacity <= 4 * LINE_LIMIT);
    sse_finish(&sse);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text whole, cut;

    if (size < 2)
        return 0;
    text_init(&whole);
    text_init(&cut);
    FUZZ_REQUIRE(read_pieces(data + 1, size - 1, size, &whole) ==
                 read_pieces(data + 1, size - 1, 1 + data[0] % 16, &cut));
    FUZZ_REQUIRE(whole.length == cut.length && !memcmp(whole.data, cut.data, cut.length));
    text_finish(&whole);
    text_finish(&cut);
    return 0;
}
