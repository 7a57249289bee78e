/* What the client of an endpoint, or the generator of assay's own server, counted in a trial. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "reports/view.h"

#define LIST_SHOWN 12

/* Where in a trial's facts: every member of these is shown, whatever it is. */
static const char *const places[][2] = {
    {"endpoint", "stats"}, {"endpoint", "told"}, {"endpoint", NULL}, {"generator", NULL}};

struct walk {
    view_client_fn *each;
    void *context;
    size_t count;
};

static void append_integer(struct text *out, const char *key, json_int_t value)
{
    const struct number_unit unit = number_unit_duration((double)value);
    char number[NUMBER_SIZE];

    if (text_ends_in(key, "_ns"))
        text_append(out, number_format_unit_digits((double)value, &unit, 3, number));
    else if (text_ends_in(key, "bytes"))
        text_append(out, number_format_bytes((double)value, number));
    else
        text_append(out, number_format_count(value, number));
}

/* "3 times HTTP 429: slow down" of the reasons; a list of names otherwise. */
static void append_entry(struct text *out, const json_t *entry)
{
    const char *reason = member_string(entry, "reason");
    const char *example = member_string(entry, "example");

    if (!reason) {
        text_append(out, json_is_string(entry) ? json_string_value(entry) : "?");
        return;
    }
    text_append_format(out, "%lld times %s", member_integer(entry, "count"), reason);
    if (example && *example)
        text_append_format(out, ": %s", example);
}

/* Nothing for what is 0, false, null or empty. */
static void append_value(struct text *out, const char *key, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) != 0)
        append_integer(out, key, json_integer_value(value));
    else if (json_is_real(value) && json_real_value(value) != 0)
        text_append_format(out, "%.6g", json_real_value(value));
    else if (json_is_true(value))
        text_append(out, "yes");
    else if (json_is_string(value))
        text_append(out, json_string_value(value));
    EACH(entry, value) {
        text_append(out, entry_at ? "; " : "");
        if (entry_at == LIST_SHOWN && json_array_size(value) > LIST_SHOWN + 1) {
            text_append_format(out, "%zu others", json_array_size(value) - entry_at);
            break;
        }
        append_entry(out, entry);
    }
}

static void walk_object(struct walk *walk, const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        char label[64];
        CLEANUP(text_finish) struct text words = TEXT_INIT;

        append_value(&words, key, value);
        snprintf(label, sizeof(label), "%s", key);
        if (text_ends_in(label, "_ns"))
            label[strlen(label) - 3] = '\0';
        for (char *c = label; *c; ++c)
            *c = *c == '_' ? ' ' : *c;
        if (words.length > 0 && text_ok(&words) && walk->each)
            walk->each(walk->context, label, words.data);
        walk->count += words.length > 0;
    }
}

size_t view_client_each(const struct view_trial *trial, view_client_fn *each, void *context)
{
    struct walk walk = {each, context, 0};

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); ++i) {
        const json_t *object = json_object_get(trial->facts, places[i][0]);

        walk_object(&walk, places[i][1] ? json_object_get(object, places[i][1]) : object);
    }
    return walk.count;
}
