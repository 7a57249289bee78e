#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include "harness/runner/message.h"
#include "tests/support/unit.h"

static struct message parse(const char *line)
{
    struct message message;
    struct error err = ERROR_INIT;

    if (message_parse(line, strlen(line), &message, &err) != STATUS_OK)
        fail_msg("%s: %s", line, err.message);
    return message;
}

TEST(good)
{
    struct message message = parse("{\"type\":\"hello\",\"protocol\":1,\"worker\":\"x 1\"}");

    assert_int_equal(message.type, MESSAGE_HELLO);
    assert_int_equal(message.protocol, 1);
    assert_string_equal(message.worker, "x 1");
    message_finish(&message);

    message = parse("{\"type\":\"samples\",\"series\":\"wall_ns\",\"first\":7,\"values\":[1,-1,"
                    "9223372036854775807]}");
    assert_int_equal(message.first, 7);
    assert_int_equal(message.count, 3);
    assert_true(message.values[2] == INT64_MAX);
    message_finish(&message);

    message = parse("{\"type\":\"check\",\"phase\":\"verify_before\",\"output\":\"a\",\"metric\":"
                    "\"m\",\"error\":null,\"tolerance\":1e-6,\"compared\":3,\"passed\":false}");
    assert_true(isnan(message.error));
    assert_null(message.reason);
    assert_false(message.passed);
    message_finish(&message);

    message = parse("{\"type\":\"end\",\"status\":\"check_failed\",\"message\":\"no\","
                    "\"iterations_per_sample\":0,\"window_first\":-1,\"samples\":0}");
    assert_int_equal(message.status, STATUS_CHECK_FAILED);
    assert_string_equal(message.text, "no");
    message_finish(&message);

    message = parse("{\"type\":\"alive\",\"unknown\":[1,2,{}]}");
    message_finish(&message);
}

/* Every line must be refused with PROTOCOL and leave the output unchanged. */
TEST(bad)
{
    static const char *const lines[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"type\":3}",
        "{\"type\":\"nonsense\"}",
        "{\"type\":\"hello\"}",
        "{\"type\":\"hello\",\"protocol\":\"1\",\"worker\":\"x\"}",
        "{\"type\":\"hello\",\"protocol\":1}",
        "{\"type\":\"phase\",\"name\":\"\",\"begin_ns\":1,\"end_ns\":2}",
        "{\"type\":\"phase\",\"name\":\"a b\",\"begin_ns\":1,\"end_ns\":2}",
        "{\"type\":\"phase\",\"name\":\"a\",\"begin_ns\":3,\"end_ns\":2}",
        "{\"type\":\"phase\",\"name\":\"a\",\"begin_ns\":-1,\"end_ns\":2}",
        "{\"type\":\"phase\",\"name\":"
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
        "\"begin_ns\":1,\"end_ns\":2}",
        "{\"type\":\"samples\",\"series\":\"w\",\"first\":-1,\"values\":[]}",
        "{\"type\":\"samples\",\"series\":\"w\",\"first\":0,\"values\":[1.5]}",
        "{\"type\":\"samples\",\"series\":\"w\",\"first\":0,\"values\":[\"1\"]}",
        "{\"type\":\"samples\",\"series\":\"w\",\"first\":0,\"values\":[99999999999999999999]}",
        "{\"type\":\"samples\",\"series\":\"w\",\"first\":0,\"values\":7}",
        "{\"type\":\"device\",\"device\":[]}",
        "{\"type\":\"facts\"}",
        "{\"type\":\"check\",\"phase\":\"p\",\"output\":\"a\",\"metric\":\"m\",\"error\":\"x\","
        "\"tolerance\":1,\"compared\":3,\"passed\":true}",
        "{\"type\":\"check\",\"phase\":\"p\",\"output\":\"a\",\"metric\":\"m\",\"error\":1,"
        "\"tolerance\":1,\"compared\":3,\"passed\":1}",
        "{\"type\":\"end\",\"status\":\"fine\",\"iterations_per_sample\":1,\"window_first\":0,"
        "\"samples\":1}",
        "{\"type\":\"end\",\"status\":\"ok\",\"iterations_per_sample\":0,\"window_first\":0,"
        "\"samples\":1}",
        "{\"type\":\"end\",\"status\":\"ok\",\"iterations_per_sample\":1,\"window_first\":5,"
        "\"samples\":5}",
        "{\"type\":\"end\",\"status\":\"ok\",\"iterations_per_sample\":1,\"window_first\":-1,"
        "\"samples\":5}",
        "{\"type\":\"alive\",\"type\":\"alive\"}",
        "{\"type\":\"alive\"}{}",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct message message = {.count = 77};
        struct error err = ERROR_INIT;

        if (message_parse(lines[i], strlen(lines[i]), &message, &err) != STATUS_PROTOCOL)
            fail_msg("accepted or wrong code (%s): %s", status_name(err.code), lines[i]);
        assert_true(err.message[0] != '\0');
        assert_int_equal(message.count, 77);
    }
}

TEST(builders)
{
    const int64_t values[] = {5, 6};
    json_t *json = message_new_samples("wall_ns", 3, values, 2);
    char *line = json_dumps(json, JSON_COMPACT);
    struct message message = parse(line);

    assert_int_equal(message.first, 3);
    assert_true(message.values[1] == 6);
    message_finish(&message);
    free(line);
    json_decref(json);
    json = message_new_phase("warmup", 1, 2);
    assert_string_equal(json_string_value(json_object_get(json, "name")), "warmup");
    json_decref(json);
    for (int type = 0; type < MESSAGE_TYPE_COUNT; type++)
        assert_string_not_equal(message_type_name((enum message_type)type), "unknown");
    assert_string_equal(message_type_name(MESSAGE_TYPE_COUNT), "unknown");
}
