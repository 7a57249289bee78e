#include "harness/endpoint/event.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

/* A member that is text or an array, and not empty. */
static bool has_output(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_string_length(value) > 0 || json_array_size(value) > 0;
}

static bool read_choice(const json_t *choice, struct event *event)
{
    static const char *const members[] = {"content", "reasoning_content", "reasoning", "refusal",
                                          "tool_calls"};
    const json_t *delta = json_object_get(choice, "delta");
    const json_t *reason = json_object_get(choice, "finish_reason");

    if (!json_is_object(choice))
        return false;
    event->has_content |= has_output(choice, "text");
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); ++i)
        event->has_content |= has_output(delta, members[i]);
    event->is_finished |= json_is_string(reason);
    return true;
}

static bool read_count(const json_t *usage, const char *key, uint32_t *ret)
{
    const json_t *value = json_object_get(usage, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > UINT32_MAX)
        return false;
    *ret = (uint32_t)json_integer_value(value);
    return true;
}

static bool read_object(const json_t *root, struct event *event)
{
    const json_t *choices = json_object_get(root, "choices");
    const json_t *usage = json_object_get(root, "usage");
    const json_t *error = json_object_get(root, "error");

    if (error != NULL && !json_is_null(error)) {
        const json_t *message = json_is_object(error) ? json_object_get(error, "message") : error;
        const char *words = json_string_value(message);

        event->is_error = true;
        snprintf(event->error, sizeof(event->error), "%s", words ? words : "");
        return true;
    }
    if (usage != NULL && !json_is_null(usage)) {
        if (!read_count(usage, "prompt_tokens", &event->prompt_tokens) ||
            !read_count(usage, "completion_tokens", &event->output_tokens))
            return false;
        event->has_usage = true;
    }
    if (!json_is_array(choices))
        return event->has_usage && choices == NULL;
    for (size_t i = 0; i < json_array_size(choices); ++i)
        if (!read_choice(json_array_get(choices, i), event))
            return false;
    return true;
}

bool event_read(const char *data, size_t length, struct event *ret)
{
    struct event event = {0};
    json_t *root;
    bool is_good;

    if (length == 6 && !memcmp(data, "[DONE]", 6)) {
        *ret = (struct event){.is_end = true};
        return true;
    }
    root = json_loadb(data, length, JSON_ALLOW_NUL, NULL); /* a token may be that character */
    is_good = json_is_object(root) && read_object(root, &event);
    json_decref(root);
    if (is_good)
        *ret = event;
    return is_good;
}
