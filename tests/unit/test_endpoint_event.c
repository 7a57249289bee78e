#include "harness/endpoint/event.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

static struct event read_good(const char *json)
{
    struct event event;

    if (!event_read(json, strlen(json), &event))
        fail_msg("refused: %s", json);
    return event;
}

static void expect_bad(const char *json)
{
    struct event event;

    if (event_read(json, strlen(json), &event))
        fail_msg("taken: %s", json);
}

TEST(output)
{
    static const char *const with[] = {
        "{\"choices\":[{\"text\":\"a\"}]}",
        "{\"choices\":[{\"text\":\"\\u0000\"}]}",
        "{\"choices\":[{\"delta\":{\"content\":\" \"}}]}",
        "{\"choices\":[{\"delta\":{\"reasoning_content\":\"a\",\"content\":null}}]}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\"a\"}}]}",
        "{\"choices\":[{\"delta\":{\"refusal\":\"a\"}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}",
        "{\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"f\"}}}]}",
        "{\"choices\":[{\"text\":\"\"},{\"text\":\"a\"}],\"usage\":null,\"error\":null}",
    };
    static const char *const without[] = {
        "{\"choices\":[]}",
        "{\"choices\":[{\"text\":\"\"}]}",
        "{\"choices\":[{\"text\":7}]}",
        "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
        "{\"choices\":[{\"delta\":{},\"finish_reason\":null}]}",
        "{\"choices\":[{\"delta\":[\"a\"]}]}",
        "{\"choices\":[{\"delta\":{\"function_call\":{}}}]}",
    };

    for (size_t i = 0; i < sizeof(with) / sizeof(*with); ++i)
        assert_true(read_good(with[i]).has_content);
    for (size_t i = 0; i < sizeof(without) / sizeof(*without); ++i)
        assert_false(read_good(without[i]).has_content);
}

/* What a finish_reason says, and not that there is one. */
TEST(end)
{
    static const struct {
        const char *sent, *read;
        bool is_whole, is_length;
    } reasons[] = {
        {"\"length\"", "length", true, true},
        {"\"stop\"", "stop", true, false},
        {"\"STOP\"", "STOP", true, false},
        {"\"eos_token\"", "eos_token", true, false},
        {"\"MAX_TOKENS\"", "MAX_TOKENS", true, true},
        {"\"tool_calls\"", "tool_calls", true, false},
        {"\"error\"", "error", false, false},
        {"\"abort\"", "abort", false, false},
        {"\"content_filter\"", "content_filter", false, false},
        {"\"insufficient_system_resource\"", "insufficient_system_resource", false, false},
        {"\"stopped by the operator\"", "stopped by the operator", false, false},
        {"null", "", false, false},
        {"\"\"", "", false, false},
        {"\"null\"", "", false, false},
        {"\"None\"", "", false, false},
        {"false", "", false, false},
        {"0", "", false, false},
        {"{}", "", false, false},
        {"{\"type\":\"length\",\"length\":8}", "length", true, true},
        {"{\"type\":\"abort\"}", "abort", false, false},
        {"{\"type\":1}", "", false, false},
    };
    char json[128];

    assert_true(read_good("[DONE]").is_end);
    assert_false(read_good("{\"choices\":[]}").is_end);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); ++i) {
        struct event event;

        snprintf(json, sizeof(json), "{\"choices\":[{\"finish_reason\":%s}]}", reasons[i].sent);
        event = read_good(json);
        assert_string_equal(event.reason, reasons[i].read);
        assert_int_equal(event_reason_is_whole(event.reason), reasons[i].is_whole);
        assert_int_equal(event_reason_is_length(event.reason), reasons[i].is_length);
    }
}

static struct event read_usage(const char *usage)
{
    char json[256];

    snprintf(json, sizeof(json), "{\"choices\":[],\"usage\":%s}", usage);
    return read_good(json);
}

TEST(usage)
{
    static const char *const untold[] = {
        "null",
        "{}",
        "{\"prompt_tokens\":3}",
        "{\"prompt_tokens\":null,\"completion_tokens\":null}",
    };
    static const char *const bad[] = {
        "{\"prompt_tokens\":-3,\"completion_tokens\":1}",
        "{\"prompt_tokens\":3,\"completion_tokens\":-1}",
        "{\"prompt_tokens\":3,\"completion_tokens\":1.5}",
        "{\"prompt_tokens\":4294967296,\"completion_tokens\":1}",
        "{\"prompt_tokens\":3,\"completion_tokens\":1e300}",
        "{\"prompt_tokens\":3,\"completion_tokens\":\"8\"}",
        "{\"prompt_tokens\":3,\"completion_tokens\":true}",
        "{\"prompt_tokens\":\"3\",\"completion_tokens\":8}",
        "7",
        "\"\"",
        "[8]",
    };
    struct event event = read_usage("{\"prompt_tokens\":3,\"completion_tokens\":4294967295,"
                                    "\"total_tokens\":-1}");

    assert_true(event.has_usage);
    assert_int_equal(event.prompt_tokens, 3);
    assert_int_equal(event.output_tokens, UINT32_MAX);
    event = read_usage("{\"prompt_tokens\":3.0,\"completion_tokens\":8.0}");
    assert_true(event.has_usage && event.prompt_tokens == 3 && event.output_tokens == 8);
    event = read_usage("{\"completion_tokens\":8}");
    assert_true(event.has_usage && event.prompt_tokens == 0 && event.output_tokens == 8);
    assert_true(read_good("{\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}").has_usage);
    assert_true(read_good("{\"choices\":null,\"usage\":{\"completion_tokens\":1}}").has_usage);
    for (size_t i = 0; i < sizeof(untold) / sizeof(*untold); ++i) {
        event = read_usage(untold[i]);
        assert_false(event.has_usage || event.is_usage_bad);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); ++i) {
        event = read_usage(bad[i]);
        if (event.has_usage || !event.is_usage_bad)
            fail_msg("taken: %s", bad[i]);
    }
    expect_bad("{\"usage\":7}");
}

TEST(error)
{
    static const char *const none[] = {"null", "\"\"", "{}", "[]", "false", "0"};
    struct event event = read_good("{\"error\":{\"message\":\"out of memory\",\"code\":500}}");
    char json[128];

    assert_true(event.is_error);
    assert_string_equal(event.error, "out of memory");
    assert_string_equal(read_good("{\"error\":\"short\"}").error, "short");
    assert_true(read_good("{\"error\":{\"message\":7}}").is_error);
    assert_true(read_good("{\"error\":true,\"choices\":[]}").is_error);
    assert_true(read_good("{\"error\":500,\"choices\":[]}").is_error);
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); ++i) {
        snprintf(json, sizeof(json), "{\"error\":%s,\"choices\":[{\"text\":\"a\"}]}", none[i]);
        event = read_good(json);
        assert_true(event.has_content && !event.is_error);
    }
}

TEST(bad)
{
    expect_bad("");
    expect_bad("[DONE");
    expect_bad("[1]");
    expect_bad("{}");
    expect_bad("{\"choices\":{}}");
    expect_bad("{\"choices\":[3]}");
    expect_bad("{\"choices\":[]} x");
    expect_bad("{\"choices\":[{\"text\":\"\xff\"}]}");
}
