/*
 * schema - what the JSON of each command looks like, as tables, from which JSON Schemas are written
 * (draft 2020-12). A shape says what a value is; an object's members are a table of their own.
 *
 * The tables describe what is printed, after envelope.c: integers within 2^53; times of day as
 * decimal strings of nanoseconds with an ISO 8601 twin; seeds as decimal strings.
 */
#ifndef ASSAY_CLI_SCHEMA_H
#define ASSAY_CLI_SCHEMA_H

#include <jansson.h>

enum shape_kind {
    SHAPE_ANY, /* anything declared or imported */
    SHAPE_NULL,
    SHAPE_STRING,
    SHAPE_WORD,   /* one of `words` */
    SHAPE_DIGEST, /* SHA-256, 64 hexadecimal digits */
    SHAPE_SEED,   /* 64 bits as a decimal string */
    SHAPE_UTC_NS, /* a time of day, nanoseconds since 1970; the member's name ends in "utc_ns" */
    SHAPE_BOOLEAN,
    SHAPE_INTEGER, /* within 2^53 */
    SHAPE_COUNT,   /* an integer, beyond 2^53 as a decimal string */
    SHAPE_NUMBER,
    SHAPE_OBJECT,   /* `members`, and no others */
    SHAPE_MAP,      /* any names; each value is `items` */
    SHAPE_LIST,     /* of `items` */
    SHAPE_EITHER,   /* one of `choices` */
    SHAPE_GENERATED /* what the schema of another table says */
};

struct shape {
    enum shape_kind kind;
    const char *name;             /* in "$defs", for what is used more than once; or NULL */
    const struct member *members; /* ended by {0} */
    const struct shape *items;
    const struct shape *const *choices; /* ended by NULL */
    const char *const *words;           /* ended by NULL */
    json_t *(*generate)(void);          /* new JSON Schema */
};

enum member_flag {
    MEMBER_NULLABLE = 1 << 0,
    MEMBER_OPTIONAL = 1 << 1, /* absent where it does not apply */
};

struct member {
    const char *name; /* its ending gives its unit: _ns, _bytes, _w, _j ... */
    const struct shape *shape;
    unsigned flags;
    const char *text; /* what it says, where its name does not; or NULL */
};

extern const struct shape shape_any, shape_null, shape_string, shape_digest, shape_seed,
    shape_utc_ns, shape_boolean, shape_integer, shape_count, shape_number, shape_strings,
    shape_object, shape_status;

/*
 * One command's JSON. A version counts up when a member is taken away or means something else; a
 * member more is no new version.
 */
struct schema {
    const char *command;
    unsigned version;
    const struct shape *data;
};

/* All, in the order of help. */
const struct schema *schemas_all(size_t *ret_count);

/* Of this command; of one that writes no JSON, or NULL, the schema of errors alone. */
const struct schema *schema_find(const char *command);

#define SCHEMA_ID_MAX 64
/* "urn:assay:schema:results:1": the schema's $id, and the member `schema` of each document. */
const char *schema_id(const struct schema *schema, char ret[SCHEMA_ID_MAX]);

/* The JSON Schema, new; NULL: no memory. */
json_t *schema_json(const struct schema *schema);

#endif
