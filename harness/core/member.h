/* member - what a member of a JSON object says, and numbers as JSON can hold them. */
#ifndef ASSAY_CORE_MEMBER_H
#define ASSAY_CORE_MEMBER_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "harness/core/text.h"

/*
 * Runs the statement that follows for each `entry` (json_t *) of an array, the one at `entry`_at.
 * break and continue are as in any loop; `list` is evaluated for each, and may be NULL.
 */
#define EACH(entry, list)                                                                          \
    for (size_t entry##_at = 0, entry##_on = 1; entry##_on && entry##_at < json_array_size(list);  \
         entry##_on = !entry##_on, entry##_at++)                                                   \
        for (json_t *entry = json_array_get(list, entry##_at); entry##_on; entry##_on = !entry##_on)

/* Its text, borrowed; NULL: there is none, or it is no text. `object` may be NULL, here and below.
 */
static inline const char *member_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The same; "": there is none. */
static inline const char *member_text(const json_t *object, const char *key)
{
    const char *text = member_string(object, key);

    return text ? text : "";
}

/* Its number; `otherwise`: there is none, or it is no number. */
static inline double member_number_or(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : otherwise;
}

/* The same; NAN: there is none. */
static inline double member_number(const json_t *object, const char *key)
{
    return member_number_or(object, key, NAN);
}

/* The same; 0: there is none. */
static inline double member_real(const json_t *object, const char *key)
{
    return member_number_or(object, key, 0);
}

/* Its whole number; 0: there is none, or it is no whole number. */
static inline long long member_integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* How many it holds; 0: there is none, or it is no array. */
static inline size_t member_size(const json_t *object, const char *key)
{
    return json_array_size(json_object_get(object, key));
}

static inline bool member_is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* The member of a member, borrowed; NULL: there is none. */
static inline json_t *member_in(const json_t *object, const char *outer, const char *key)
{
    return json_object_get(json_object_get(object, outer), key);
}

/* A number as JSON, which has neither NAN nor infinities: null. New. */
static inline json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/*
 * Text of anyone's as JSON: control characters and malformed UTF-8 spelled as \xNN, with which a
 * path is shown as in messages; null of NULL. New; NULL: no memory.
 */
static inline json_t *printable_or_null(const char *string)
{
    struct text printable;
    json_t *json;

    if (!string)
        return json_null();
    text_init(&printable);
    text_append_printable(&printable, string, strlen(string));
    json = text_ok(&printable) ? json_string(printable.data) : NULL;
    text_finish(&printable);
    return json;
}

#endif
