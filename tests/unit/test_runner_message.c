#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    assert_int_equal(message.hello.protocol, 1);
    assert_string_equal(message.hello.worker, "x 1");
    message_finish(&message);

    message = parse("{\"type\":\"samples\",\"series\":\"wall_ns\",\"first\":7,\"values\":[1,-1,"
                    "9223372036854775807]}");
    assert_int_equal(message.samples.first, 7);
    assert_int_equal(message.samples.count, 3);
    assert_true(message.samples.values[2] == INT64_MAX);
    message_finish(&message);

    message = parse("{\"type\":\"check\",\"phase\":\"verify_before\",\"output\":\"a\",\"metric\":"
                    "\"m\",\"error\":null,\"tolerance\":1e-6,\"compared\":3,\"passed\":false}");
    assert_true(isnan(message.check.error));
    assert_null(message.check.reason);
    assert_false(message.check.passed);
    message_finish(&message);

    message = parse("{\"type\":\"end\",\"status\":\"check_failed\",\"message\":\"no\","
                    "\"iterations_per_sample\":0,\"window_first\":-1,\"samples\":0}");
    assert_int_equal(message.end.status, STATUS_CHECK_FAILED);
    assert_string_equal(message.end.message, "no");
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
        "{\"type\":\"check\",\"phase\":\"p\",\"output\":\"a\",\"metric\":\"m\",\"error\":1,"
        "\"tolerance\":null,\"compared\":3,\"passed\":false}",
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
        struct message message = {MESSAGE_TYPE_COUNT, .samples = {.count = 77}};
        struct error err = ERROR_INIT;

        if (message_parse(lines[i], strlen(lines[i]), &message, &err) != STATUS_PROTOCOL)
            fail_msg("accepted or wrong code (%s): %s", status_name(err.code), lines[i]);
        assert_true(err.message[0] != '\0');
        assert_int_equal(message.samples.count, 77);
    }
}

/* What a window took is a number from 0 up, or null: each member is named. */
TEST(bad_durations)
{
    static const struct {
        const char *member, *json;
    } rows[] = {
        {"reference_ns", "\"reference_ns\":-1"},
        {"read_back_ns", "\"read_back_ns\":-9223372036854775808"},
        {"clocks.raw_ns", "\"clocks\":{\"raw_ns\":-5,\"ticks\":1,\"device_ns\":1}"},
        {"clocks.ticks", "\"clocks\":{\"raw_ns\":1,\"ticks\":-1,\"device_ns\":1}"},
        {"clocks.device_ns", "\"clocks\":{\"raw_ns\":1,\"ticks\":1,\"device_ns\":\"1\"}"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct message message;
        struct error err = ERROR_INIT;
        char line[256], words[64];

        snprintf(line, sizeof(line),
                 "{\"type\":\"phase\",\"name\":\"window\",\"begin_ns\":1,\"end_ns\":2,%s}",
                 rows[i].json);
        snprintf(words, sizeof(words), "\"%s\"", rows[i].member);
        if (message_parse(line, strlen(line), &message, &err) != STATUS_PROTOCOL)
            fail_msg("accepted: %s", line);
        if (!strstr(err.message, words))
            fail_msg("no %s in: %s", words, err.message);
    }
}

/* What is sent over a pipe, as it is read at its other end; the line in `ret_line`. */
static struct message passed_on(struct channel *channel, const struct message *sent,
                                char ret_line[512])
{
    struct error err = ERROR_INIT;
    size_t length;
    char *line;

    if (message_send(channel, sent, INT64_MAX, &err) != STATUS_OK ||
        channel_read_line(channel, INT64_MAX, -1, &line, &length, &err) != STATUS_OK)
        fail_msg("%s: %s", message_type_name(sent->type), err.message);
    snprintf(ret_line, 512, "%s", line);
    return parse(line);
}

TEST(sent)
{
    static const int64_t values[] = {5, 6};
    struct message phase = {MESSAGE_PHASE,
                            .phase = {"warmup", 1, 2, {3, 4, -1}, {0, 7, -1, -1, -1}}},
                   read;
    struct channel channel;
    char line[512];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(channel_init(&channel, ends[0], ends[1], NULL), STATUS_OK);
    read = passed_on(&channel, &phase, line);
    assert_string_equal(line,
                        "{\"name\":\"warmup\",\"begin_ns\":1,\"end_ns\":2,\"type\":\"phase\"}");
    assert_int_equal(read.phase.report.read_back_ns, -1);
    assert_int_equal(read.phase.clocks.raw_ns, -1);
    message_finish(&read);
    phase.phase.name = "window";
    read = passed_on(&channel, &phase, line);
    assert_int_equal(read.phase.clocks.ticks, 4);
    assert_int_equal(read.phase.clocks.device_ns, -1);
    assert_int_equal(read.phase.report.reference_ns, 0);
    assert_int_equal(read.phase.report.read_back_ns, 7);
    message_finish(&read);
    read = passed_on(&channel, &(struct message){MESSAGE_SAMPLES, .samples = {"w", 3, values, 2}},
                     line);
    assert_int_equal(read.samples.first, 3);
    assert_int_equal(read.samples.values[1], 6);
    message_finish(&read);
    read = passed_on(&channel, &(struct message){MESSAGE_SPOT_CHECK, .spot_check = {2, 1ULL << 63}},
                     line);
    assert_non_null(strstr(line, "\"secret\":\"8000000000000000\""));
    assert_true(read.spot_check.secret == 1ULL << 63);
    message_finish(&read);
    channel_finish(&channel);
}

TEST(names)
{
    for (int type = 0; type < MESSAGE_TYPE_COUNT; type++)
        assert_string_not_equal(message_type_name((enum message_type)type), "unknown");
    assert_string_equal(message_type_name(MESSAGE_TYPE_COUNT), "unknown");
}
