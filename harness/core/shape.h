/*
 * shape - member tables (type.h) of JSON that is made from no struct: what it looks like, for its
 * schema. At file scope, since the tables must outlive the function that they stand in.
 *
 *     static const struct type place = TYPE_OF({
 *         SHOWN("name", TEXT),
 *         OR_NULL("height", REAL, .help = "metres above the sea"),
 *     });
 */
#ifndef ASSAY_CORE_SHAPE_H
#define ASSAY_CORE_SHAPE_H

#include "harness/core/type.h"

#define TYPE_OF(...)                                                                               \
    {                                                                                              \
        .members = (const struct member[])__VA_ARGS__,                                             \
        .count = sizeof((const struct member[])__VA_ARGS__) / sizeof(struct member)                \
    }

/* A member, one that may be null, one that may be absent, one that may be both. */
#define SHOWN(json_name, of_kind, ...)                                                             \
    {                                                                                              \
        .name = json_name, .kind = MEMBER_##of_kind, __VA_ARGS__                                   \
    }
#define OR_NULL(json_name, of_kind, ...)                                                           \
    SHOWN(json_name, of_kind, .flags = MEMBER_NULLABLE, __VA_ARGS__)
#define OPTIONAL(json_name, of_kind, ...)                                                          \
    SHOWN(json_name, of_kind, .flags = MEMBER_OPTIONAL, __VA_ARGS__)
#define OPTIONAL_OR_NULL(json_name, of_kind, ...)                                                  \
    SHOWN(json_name, of_kind, .flags = MEMBER_NULLABLE | MEMBER_OPTIONAL, __VA_ARGS__)

/* Types that are one value: a list, one of several types, a word, another type. */
#define LIST_OF(type) TYPE_OF_VALUE(MEMBER_LIST, .of = &(type))
#define ONE_OF(list) TYPE_OF_VALUE(MEMBER_ANY, .choices = (list))
#define WORD_OF(list) TYPE_OF_VALUE(MEMBER_NAME, .names = MEMBER_NAMES(list))
#define RECORD_OF(type) TYPE_OF_VALUE(MEMBER_RECORD, .of = &(type))

#endif
