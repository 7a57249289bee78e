/* JSON as `--json` prints it, which every parser reads exactly. */
#include <stdint.h>
#include <stdlib.h>

#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "harness/library/inside.h"

/* Beyond this a reader that keeps numbers as doubles, as jq does, rounds an integer. */
#define EXACT_MAX (INT64_C(1) << 53)

/* Ends of an interval: real, even where the stored text of a large one has no fraction. */
static bool is_real(const char *key)
{
    return !strcmp(key, "value") || !strcmp(key, "lo") || !strcmp(key, "hi");
}

/* "created_utc" next to "created_utc_ns". */
static void add_iso(json_t *object, const char *key, json_int_t utc_ns)
{
    char iso[CLOCK_ISO_SIZE], *name = text_format("%.*s", (int)strlen(key) - 3, key);

    clock_format_iso(utc_ns, iso);
    if (name)
        json_object_set_new(object, name, json_string(iso));
    free(name);
}

/* A copy that every JSON parser reads exactly: no integer beyond 2^53. */
static json_t *portable(const char *key, const json_t *value)
{
    json_t *copy, *element;
    const char *name;
    size_t i;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        copy = json_object();
        json_object_foreach((json_t *)(uintptr_t)value, name, element)
        {
            json_object_set_new(copy, name, portable(name, element));
            if (text_ends_in(name, "utc_ns") && json_is_integer(element))
                add_iso(copy, name, json_integer_value(element));
        }
        return copy;
    case JSON_ARRAY:
        copy = json_array();
        json_array_foreach(value, i, element) json_array_append_new(copy, portable("", element));
        return copy;
    case JSON_INTEGER:
        if (is_real(key))
            return json_real((double)json_integer_value(value));
        if (member_is_printed_as_text(key) || json_integer_value(value) > EXACT_MAX ||
            json_integer_value(value) < -EXACT_MAX)
            return json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return json_deep_copy(value);
    default:
        return json_deep_copy(value);
    }
}

char *library_json_text(json_t *json)
{
    json_auto_t *data = json ? portable("", json) : NULL;
    char *dumped = data ? json_dumps(data, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    struct text text = TEXT_INIT;

    json_decref(json);
    text_append_json(&text, dumped ? dumped : "", dumped ? strlen(dumped) : 0);
    text_append_char(&text, '\n');
    free(dumped);
    if (!dumped)
        text_finish(&text);
    return dumped ? text_steal(&text) : NULL;
}
