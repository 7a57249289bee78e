#include "harness/endpoint/prompt.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/random.h"

#define JSON_LINES ".jsonl"
#define PROMPTS_SIZE_MAX ((size_t)256 << 20)
#define PROMPT_STREAM 0x70726f6d707400 /* apart from other draws of the seed: "prompt" */

static const char *const words[64] = {
    "time",  "year",  "people", "way",    "day",   "man",    "thing",  "woman",
    "life",  "child", "world",  "school", "state", "family", "group",  "country",
    "hand",  "part",  "place",  "case",   "week",  "system", "work",   "number",
    "night", "point", "home",   "water",  "room",  "mother", "area",   "money",
    "story", "fact",  "month",  "lot",    "right", "study",  "book",   "eye",
    "job",   "word",  "side",   "kind",   "head",  "house",  "friend", "father",
    "power", "hour",  "game",   "line",   "end",   "member", "law",    "car",
    "city",  "name",  "team",   "minute", "idea",  "kid",    "body",   "back",
};

void prompt_append(struct text *text, uint64_t seed, size_t index, uint32_t tokens)
{
    for (uint32_t i = 0; i < tokens || i == 0; ++i) {
        if (i > 0)
            text_append_char(text, ' ');
        text_append(text, words[random_at(seed, PROMPT_STREAM + index, i) % 64]);
    }
}

/* A line of JSON as a prompt, or a list of messages; NULL: it is neither. */
static json_t *of_json(const char *line, size_t length, bool is_chat)
{
    json_auto_t *value = json_loadb(line, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    json_t *messages = json_object_get(value, "messages");
    json_t *prompt = json_is_object(value) ? json_object_get(value, "prompt") : value;

    if (is_chat && json_array_size(messages) > 0)
        return json_incref(messages);
    return json_is_string(prompt) ? json_incref(prompt) : NULL;
}

/* What a request has as its prompt or messages, as JSON; NULL: the line is no prompt. */
static char *json_of(const char *line, size_t length, bool is_json, bool is_chat)
{
    json_auto_t *value = is_json                      ? of_json(line, length, is_chat)
                         : memchr(line, '\0', length) ? NULL
                                                      : json_stringn(line, length);

    if (is_chat && json_is_string(value))
        value = json_pack("[{s:s, s:o}]", "role", "user", "content", value);
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static size_t count_lines(const char *bytes, size_t length)
{
    size_t count = 1;

    for (size_t i = 0; i < length; ++i)
        count += bytes[i] == '\n';
    return count;
}

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), of = strlen(ending);

    return length > of && !strcmp(name + length - of, ending);
}

enum status prompts_read(const char *path, const char *name, bool is_chat, struct prompts *ret,
                         struct error *err)
{
    const bool is_json = ends_with(name, JSON_LINES);
    AUTO_FREE char *bytes = NULL;
    size_t length, line = 0, mark;

    TRY(file_read(path, PROMPTS_SIZE_MAX, &bytes, &length, err));
    ret->values = calloc(count_lines(bytes, length), sizeof(*ret->values));
    if (!ret->values)
        return error_no_memory(err);
    mark = length >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
    for (size_t at = mark, size; at < length; at += size + 1) {
        const char *end = memchr(bytes + at, '\n', length - at);

        size = end ? (size_t)(end - bytes) - at : length - at;
        ++line;
        if (strspn(bytes + at, " \t\r") >= size)
            continue;
        ret->values[ret->count] =
            json_of(bytes + at, size - (bytes[at + size - 1] == '\r'), is_json, is_chat);
        if (!ret->values[ret->count++])
            return error_set_at(err, STATUS_INVALID, path, line, "%s",
                                !is_json  ? "a prompt is text in UTF-8, without the byte 0"
                                : is_chat ? "write a JSON text, or an object with a text `prompt` "
                                            "or a list `messages`"
                                          : "write a JSON text, or an object with a text `prompt`");
    }
    return ret->count > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "%s has no prompt; write one a line", path);
}

void prompts_finish(struct prompts *prompts)
{
    for (size_t i = 0; i < prompts->count; ++i)
        free(prompts->values[i]);
    free(prompts->values);
    *prompts = (struct prompts){0};
}

const char *prompts_at(const struct prompts *prompts, uint64_t seed, size_t index)
{
    return prompts
        ->values[(random_at(seed, PROMPT_STREAM, 0) % prompts->count + index) % prompts->count];
}
