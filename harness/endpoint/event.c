#include "harness/endpoint/event.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

/* ---- output ---- */

/* Characters without anything to see in them: white space, and those of no width (Unicode 15,
 * White_Space and Default_Ignorable_Code_Point, as far as servers' tokens have them). */
static const struct blank {
    const char *lead;          /* bytes of UTF-8 before the last one */
    unsigned char least, most; /* the last one */
} blanks[] = {
    {"", 0x00, 0x20},         {"", 0x7f, 0x7f},         {"\xc2", 0xa0, 0xa0},
    {"\xc2", 0xad, 0xad},     {"\xe2\x80", 0x80, 0x8f}, {"\xe2\x80", 0xa8, 0xaf},
    {"\xe2\x81", 0x9f, 0xa4}, {"\xe3\x80", 0x80, 0x80}, {"\xef\xbb", 0xbf, 0xbf},
};

/* Bytes of the blank that the text begins with; 0: it begins with something else. */
static size_t blank_at(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(blanks) / sizeof(*blanks); ++i) {
        const size_t lead = strlen(blanks[i].lead);

        if (lead < length && !memcmp(text, blanks[i].lead, lead) &&
            (unsigned char)text[lead] >= blanks[i].least &&
            (unsigned char)text[lead] <= blanks[i].most)
            return lead + 1;
    }
    return 0;
}

static bool is_blank(const char *text, size_t length)
{
    size_t at = 0, blank = 1;

    while (at < length && blank > 0)
        at += blank = blank_at(text + at, length - at);
    return at == length;
}

/* Adds a member that is text, an array or an object, and not empty. */
static void take_output(const json_t *object, const char *key, struct event *event)
{
    const json_t *value = json_object_get(object, key);
    const size_t length = json_string_length(value);
    const bool is_text = length > 0;

    if (!is_text && json_array_size(value) + json_object_size(value) == 0)
        return;
    event->is_blank = (!event->has_content || event->is_blank) && is_text &&
                      is_blank(json_string_value(value), length);
    event->bytes = is_text && length < UINT32_MAX - event->bytes ? event->bytes + (uint32_t)length
                                                                 : UINT32_MAX;
    event->has_content = true;
}

/* ---- ends ---- */

/* The names that servers have for an answer that ended by itself, and for one of full length. */
static const char *const stops[] = {"stop",     "eos",           "eos_token", "stop_sequence",
                                    "end_turn", "complete",      "completed", "tool_calls",
                                    "tool_use", "function_call", NULL};
static const char *const lengths[] = {"length", "max_tokens", "max_length", "limit", NULL};
/* What stands for null where a program writes text for it. */
static const char *const nulls[] = {"null", "none", "nil", NULL};

static bool is_among(const char *word, const char *const *list)
{
    while (*list && strcasecmp(word, *list) != 0)
        ++list;
    return *list != NULL;
}

bool event_reason_is_length(const char *reason)
{
    return is_among(reason, lengths);
}

bool event_reason_is_whole(const char *reason)
{
    return is_among(reason, stops) || is_among(reason, lengths);
}

static bool read_choice(const json_t *choice, struct event *event)
{
    static const char *const members[] = {"content", "reasoning_content", "reasoning",
                                          "refusal", "tool_calls",        "function_call"};
    const json_t *delta = json_object_get(choice, "delta");
    const json_t *ended = json_object_get(choice, "finish_reason"); /* text, or {"type": text} */
    const char *reason =
        json_string_value(json_is_object(ended) ? json_object_get(ended, "type") : ended);

    if (!json_is_object(choice))
        return false;
    take_output(choice, "text", event);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); ++i)
        take_output(delta, members[i], event);
    if (reason && !is_among(reason, nulls))
        snprintf(event->reason, sizeof(event->reason), "%s", reason);
    return true;
}

/* Leaves `ret` where the count is not told; false: it is no number of tokens. */
static bool read_count(const json_t *usage, const char *key, uint32_t *ret, bool *ret_told)
{
    const json_t *value = json_object_get(usage, key);
    double number;

    *ret_told = value && !json_is_null(value);
    if (!*ret_told)
        return true;
    number = json_is_number(value) ? json_number_value(value) : -1;
    if (!(number >= 0) || number > UINT32_MAX || number != floor(number))
        return false;
    *ret = (uint32_t)number;
    return true;
}

static void read_usage(const json_t *usage, struct event *event)
{
    bool is_prompt_told;

    if (!usage || json_is_null(usage))
        return;
    event->is_usage_bad =
        !json_is_object(usage) ||
        !read_count(usage, "completion_tokens", &event->output_tokens, &event->has_usage) ||
        !read_count(usage, "prompt_tokens", &event->prompt_tokens, &is_prompt_told);
    event->has_usage &= !event->is_usage_bad;
}

/* Null, false, 0, "", [] and {} say nothing of an error. */
static bool says_something(const json_t *value)
{
    if (json_is_object(value) || json_is_array(value))
        return json_object_size(value) + json_array_size(value) > 0;
    if (json_is_string(value))
        return json_string_length(value) > 0;
    return json_is_true(value) || json_number_value(value) != 0;
}

static bool read_object(const json_t *root, struct event *event)
{
    const json_t *choices = json_object_get(root, "choices");
    const json_t *error = json_object_get(root, "error");

    if (says_something(error)) {
        const json_t *message = json_is_object(error) ? json_object_get(error, "message") : error;
        const char *words = json_string_value(message);

        event->is_error = true;
        snprintf(event->error, sizeof(event->error), "%s", words ? words : "");
        return true;
    }
    read_usage(json_object_get(root, "usage"), event);
    if (!choices || json_is_null(choices))
        return json_is_object(json_object_get(root, "usage"));
    if (!json_is_array(choices))
        return false;
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
