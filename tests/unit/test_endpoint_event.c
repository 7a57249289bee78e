#include "harness/endpoint/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

static void test_output(void **state)
{
    static const char *const with[] = {
        "{\"choices\":[{\"text\":\"a\"}]}",
        "{\"choices\":[{\"text\":\"\\u0000\"}]}",
        "{\"choices\":[{\"delta\":{\"content\":\" \"}}]}",
        "{\"choices\":[{\"delta\":{\"reasoning_content\":\"a\",\"content\":null}}]}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\"a\"}}]}",
        "{\"choices\":[{\"delta\":{\"refusal\":\"a\"}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}",
        "{\"choices\":[{\"text\":\"\"},{\"text\":\"a\"}],\"usage\":null,\"error\":null}",
    };
    static const char *const without[] = {
        "{\"choices\":[]}",
        "{\"choices\":[{\"text\":\"\"}]}",
        "{\"choices\":[{\"text\":7}]}",
        "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
        "{\"choices\":[{\"delta\":{},\"finish_reason\":null}]}",
        "{\"choices\":[{\"delta\":[\"a\"]}]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(with) / sizeof(*with); ++i)
        assert_true(read_good(with[i]).has_content);
    for (size_t i = 0; i < sizeof(without) / sizeof(*without); ++i)
        assert_false(read_good(without[i]).has_content);
}

static void test_end(void **state)
{
    (void)state;
    assert_true(read_good("[DONE]").is_end);
    assert_false(read_good("{\"choices\":[]}").is_end);
    assert_true(read_good("{\"choices\":[{\"finish_reason\":\"length\"}]}").is_finished);
    assert_false(read_good("{\"choices\":[{\"finish_reason\":null}]}").is_finished);
}

static void test_usage(void **state)
{
    struct event event = read_good("{\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
                                   "\"completion_tokens\":4294967295,\"total_tokens\":-1}}");

    (void)state;
    assert_true(event.has_usage);
    assert_int_equal(event.prompt_tokens, 3);
    assert_int_equal(event.output_tokens, UINT32_MAX);
    assert_true(read_good("{\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}").has_usage);
    expect_bad("{\"choices\":[],\"usage\":{\"prompt_tokens\":3}}");
    expect_bad("{\"choices\":[],\"usage\":{\"prompt_tokens\":-3,\"completion_tokens\":1}}");
    expect_bad("{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1.5}}");
    expect_bad("{\"choices\":[],\"usage\":{\"prompt_tokens\":4294967296,\"completion_tokens\":1}}");
    expect_bad("{\"choices\":[],\"usage\":7}");
}

static void test_error(void **state)
{
    struct event event = read_good("{\"error\":{\"message\":\"out of memory\",\"code\":500}}");

    (void)state;
    assert_true(event.is_error);
    assert_string_equal(event.error, "out of memory");
    assert_string_equal(read_good("{\"error\":\"short\"}").error, "short");
    assert_true(read_good("{\"error\":{\"message\":7}}").is_error);
}

static void test_bad(void **state)
{
    (void)state;
    expect_bad("");
    expect_bad("[DONE");
    expect_bad("[1]");
    expect_bad("{}");
    expect_bad("{\"choices\":{}}");
    expect_bad("{\"choices\":[3]}");
    expect_bad("{\"choices\":[]} x");
    expect_bad("{\"choices\":[{\"text\":\"\xff\"}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output), cmocka_unit_test(test_end), cmocka_unit_test(test_usage),
        cmocka_unit_test(test_error),  cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
