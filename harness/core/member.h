/* member - what a member of a JSON object says, where its absence needs no branch of its own. */
#ifndef ASSAY_CORE_MEMBER_H
#define ASSAY_CORE_MEMBER_H

#include <math.h>

#include <jansson.h>

/* Its text, borrowed; "": there is none, or it is no text. `object` may be NULL. */
static inline const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Its number; NAN: there is none, or it is no number. `object` may be NULL. */
static inline double member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

#endif
