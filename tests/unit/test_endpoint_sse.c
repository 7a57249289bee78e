/* Event streams: each is read whole, and again split at every byte, with the same events. */
#include "harness/endpoint/sse.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define LINE_MAX_HERE 64

/* Events joined by "|". */
static bool collect(void *context, const char *data, size_t length)
{
    struct text *seen = context;

    assert_int_equal(data[length], 0);
    text_append_bytes(seen, data, length);
    text_append_char(seen, '|');
    return length < 4 || memcmp(data, "STOP", 4);
}

static enum sse_result read_split(const char *stream, size_t length, size_t at, size_t step,
                                  struct text *seen)
{
    enum sse_result result;
    struct sse sse;

    sse_init(&sse, LINE_MAX_HERE, collect, seen);
    result = sse_feed(&sse, stream, at);
    while (result == SSE_OK && at < length) {
        size_t next = length - at < step ? length - at : step;
        char *exact = malloc(next); /* so that reading past the end is seen */

        assert_non_null(exact);
        memcpy(exact, stream + at, next);
        result = sse_feed(&sse, exact, next);
        free(exact);
        at += next;
    }
    sse_finish(&sse);
    return result;
}

static void check(const char *stream, size_t length, const char *expected, enum sse_result wanted)
{
    for (size_t at = 0; at <= length; ++at)
        for (size_t step = 1; step <= length + 1; step += length + (length == 0)) {
            struct text seen;

            text_init(&seen);
            assert_int_equal(read_split(stream, length, at, step, &seen), wanted);
            assert_string_equal(seen.data, expected);
            text_finish(&seen);
        }
}

static void expect(const char *stream, const char *expected)
{
    check(stream, strlen(stream), expected, SSE_OK);
}

TEST(line_ends)
{
    expect("data: a\n\ndata: b\n\n", "a|b|");
    expect("data: a\r\n\r\ndata: b\r\n\r\n", "a|b|");
    expect("data: a\r\rdata: b\r\r", "a|b|");
    expect("data: a\r\n\ndata: b\n\r\n", "a|b|");
    expect("\n\r\n\rdata: a\n\n\n\n", "a|");
}

TEST(fields)
{
    expect(": comment\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", "a|");
    expect("data: a\ndata: b\ndata\ndata:\n\n", "a\nb\n\n|");
    expect("data:a\n\ndata:  b\n\n", "a| b|");
    expect("data\n\n", "|");
    expect("dat: a\ndataset: b\n data: c\nDATA: d\n\n", "");
    expect("event: ping\n\n", "");
    expect("\xef\xbb\xbf"
           "data: a\n\n",
           "a|");
    expect("data: a\n\n\xef\xbb\xbf"
           "data: b\n\n",
           "a|");
}

TEST(end)
{
    expect("data: a\n\ndata: begun", "a|");
    expect("data: a\n\ndata: no empty line\n", "a|");
    expect("", "");
}

TEST(stop)
{
    static const char stream[] = "data: a\n\ndata: STOP\n\ndata: b\n\n";

    check(stream, 21, "a|STOP|", SSE_STOPPED);
}

TEST(nul)
{
    struct text seen;

    text_init(&seen);
    assert_int_equal(read_split("data: a\0b\n\n", 11, 3, 1, &seen), SSE_OK);
    assert_int_equal(seen.length, 4);
    assert_memory_equal(seen.data, "a\0b|", 4);
    text_finish(&seen);
}

TEST(limits)
{
    static const char long_event[] = "data: 1234567890123456789012345678901234567890\n"
                                     "data: 123456789012345678901234\n";
    char line[LINE_MAX_HERE + 3];

    memset(line, 'x', sizeof(line));
    memcpy(line, "data: ", 6);
    memcpy(line + LINE_MAX_HERE, "\n\n", 2);
    for (size_t at = 0; at <= LINE_MAX_HERE + 2; ++at) {
        struct text seen;

        text_init(&seen);
        assert_int_equal(read_split(line, LINE_MAX_HERE + 2, at, 7, &seen), SSE_OK);
        assert_int_equal(seen.length, LINE_MAX_HERE - 6 + 1);
        text_finish(&seen);
    }
    line[LINE_MAX_HERE] = 'x';
    check(line, LINE_MAX_HERE + 1, "", SSE_TOO_LONG);
    /* Short lines, of which one event has too many; and a comment that never ends. */
    check(long_event, sizeof(long_event) - 1, "", SSE_TOO_LONG);
    memset(line, ':', sizeof(line));
    check(line, sizeof(line), "", SSE_TOO_LONG);
}

TEST(reset)
{
    struct text seen;
    struct sse sse;

    text_init(&seen);
    sse_init(&sse, LINE_MAX_HERE, collect, &seen);
    assert_int_equal(sse_feed(&sse, "data: a\ndata: b", 15), SSE_OK);
    sse_reset(&sse);
    assert_int_equal(sse_feed(&sse, "\n\ndata: c\n\n", 11), SSE_OK);
    assert_string_equal(seen.data, "c|");
    sse_finish(&sse);
    text_finish(&seen);
}
