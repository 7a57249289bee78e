#include "harness/core/reading.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "tests/support/unit.h"

static void fill(struct reading_list *list)
{
    reading_list_init(list);
    reading_add_text(list, "host.cpu.model", "Some CPU", "/proc/cpuinfo");
    reading_add_integer(list, "host.memory.total", INT64_C(1) << 40, "bytes", "/proc/meminfo");
    reading_add_real(list, "host.load", 0.25, NULL, "/proc/loadavg");
    reading_add_missing(list, "host.governor", READING_UNAVAILABLE, "sysfs", "no such file");
    reading_add_missing(list, "device.power", READING_DENIED, NULL, "needs root");
    assert_false(list->failed);
}

TEST(values)
{
    struct reading_list list;
    const struct reading *reading;

    fill(&list);
    assert_int_equal(list.count, 5);
    reading = reading_find(&list, "host.memory.total");
    assert_non_null(reading);
    assert_int_equal(reading->status, READING_MEASURED);
    assert_int_equal(reading->type, READING_INTEGER);
    assert_int_equal(reading->integer, INT64_C(1) << 40);
    assert_string_equal(reading->unit, "bytes");
    assert_null(reading->reason);
    reading = reading_find(&list, "host.governor");
    assert_int_equal(reading->status, READING_UNAVAILABLE);
    assert_string_equal(reading->reason, "no such file");
    assert_null(reading->text);
    assert_null(reading_find(&list, "nothing"));

    /* The same name again replaces the previous reading. */
    reading_add_integer(&list, "host.governor", 7, NULL, "new");
    assert_int_equal(list.count, 5);
    reading = reading_find(&list, "host.governor");
    assert_int_equal(reading->status, READING_MEASURED);
    assert_int_equal(reading->integer, 7);
    assert_string_equal(reading->source, "new");
    assert_null(reading->reason);

    /* A value that is no number is not stored as one. */
    reading_add_real(&list, "host.load", NAN, NULL, "x");
    reading = reading_find(&list, "host.load");
    assert_int_equal(reading->status, READING_UNAVAILABLE);
    for (int i = 0; i < 100; ++i) {
        char name[16];

        snprintf(name, sizeof(name), "many.%d", i);
        reading_add_integer(&list, name, i, NULL, NULL);
    }
    assert_int_equal(list.count, 105);
    assert_int_equal(reading_find(&list, "many.99")->integer, 99);
    reading_list_finish(&list);
    reading_list_finish(&list);
    reading_list_finish(NULL);
}

static const char expected_json[] =
    "{\"device.power\":{\"reason\":\"needs root\",\"status\":\"denied\"},"
    "\"host.cpu.model\":{\"source\":\"/proc/cpuinfo\",\"status\":\"measured\",\"value\":\"Some "
    "CPU\"},\"host.governor\":{\"reason\":\"no such file\",\"source\":\"sysfs\",\"status\":"
    "\"unavailable\"},\"host.load\":{\"source\":\"/proc/"
    "loadavg\",\"status\":\"measured\",\"value\":"
    "0.25},\"host.memory.total\":{\"source\":\"/proc/meminfo\",\"status\":\"measured\",\"unit\":"
    "\"bytes\",\"value\":1099511627776}}";

TEST(json)
{
    struct reading_list list, back;
    struct error err = ERROR_INIT;
    json_t *json;
    char *text;

    fill(&list);
    json = reading_list_to_json(&list);
    assert_int_equal(canonical_dump(json, &text, &err), STATUS_OK);
    assert_string_equal(text, expected_json);
    free(text);
    assert_int_equal(reading_list_from_json(json, &back, &err), STATUS_OK);
    json_decref(json);
    assert_int_equal(back.count, 5);
    assert_string_equal(reading_find(&back, "host.cpu.model")->text, "Some CPU");
    assert_true(reading_find(&back, "host.load")->real == 0.25);
    assert_int_equal(reading_find(&back, "device.power")->status, READING_DENIED);
    json = reading_list_to_json(&back);
    assert_int_equal(canonical_dump(json, &text, &err), STATUS_OK);
    assert_string_equal(text, expected_json);
    free(text);
    json_decref(json);
    reading_list_finish(&back);
    reading_list_finish(&list);
}

TEST(hostile_strings)
{
    struct reading_list list;
    json_t *json;

    reading_list_init(&list);
    reading_add_text(&list, "device.name", "GPU \xff\x1b[31m", "x");
    json = reading_list_to_json(&list);
    assert_non_null(json);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "device.name"), "value")),
        "GPU \\xFF\\x1B[31m");
    json_decref(json);
    reading_list_finish(&list);
}

/* As a store returns a value that its bundle withheld, and as workers write it: null means none. */
TEST(withheld)
{
    static const char text[] =
        "{\"host.name\":{\"reason\":\"withheld\",\"status\":\"denied\",\"value\":null},"
        "\"host.os\":{\"status\":\"measured\",\"value\":\"Debian\",\"unit\":null,\"reason\":null}}";
    struct reading_list list;
    struct error err = ERROR_INIT;
    json_t *json;

    assert_int_equal(canonical_parse(text, strlen(text), "x", &json, &err), STATUS_OK);
    assert_int_equal(reading_list_from_json(json, &list, &err), STATUS_OK);
    json_decref(json);
    assert_int_equal(reading_find(&list, "host.name")->status, READING_DENIED);
    assert_string_equal(reading_find(&list, "host.name")->reason, "withheld");
    assert_string_equal(reading_find(&list, "host.os")->text, "Debian");
    reading_list_finish(&list);
}

TEST(corrupt)
{
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"[]", "readings are no JSON object"},
        {"{\"a\":1}", "reading \"a\": not an object of strings"},
        {"{\"a\":{}}", "reading \"a\": unknown status \"\""},
        {"{\"a\":{\"status\":\"guessed\"}}", "reading \"a\": unknown status \"guessed\""},
        {"{\"a\":{\"status\":\"measured\"}}", "reading \"a\": status \"measured\" needs a value"},
        {"{\"a\":{\"status\":\"denied\",\"value\":0}}",
         "reading \"a\": status \"denied\" has no value"},
        {"{\"a\":{\"status\":\"measured\",\"value\":[]}}",
         "reading \"a\": value is not a string or a number"},
        {"{\"a\":{\"status\":\"measured\",\"value\":1,\"unit\":2}}",
         "reading \"a\": not an object of strings"},
    };
    struct reading_list list;
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
        json_t *json;

        assert_int_equal(canonical_parse(cases[i].json, strlen(cases[i].json), "x", &json, &err),
                         STATUS_OK);
        assert_int_equal(reading_list_from_json(json, &list, &err), STATUS_CORRUPT);
        assert_string_equal(err.message, cases[i].message);
        json_decref(json);
    }
    assert_int_equal(reading_list_from_json(NULL, &list, &err), STATUS_CORRUPT);
}

TEST(status_names)
{
    enum reading_status status = READING_DENIED;

    assert_true(reading_status_from_name("not_applicable", &status));
    assert_int_equal(status, READING_NOT_APPLICABLE);
    assert_false(reading_status_from_name("", &status));
    assert_false(reading_status_from_name(NULL, &status));
    assert_string_equal(reading_status_name(READING_DECLARED), "declared");
    assert_string_equal(reading_status_name((enum reading_status)99), "unknown");
}
