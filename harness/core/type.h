/*
 * type - a record described once: one table of its members writes it as JSON, reads it back, and
 * gives its JSON Schema (type_schema.c). A type may be described for its schema alone, without a
 * struct; then its members have no offsets.
 *
 *     static const struct member members[] = {
 *         MEMBER(struct point, REAL, x, .help = "metres to the east"),
 *         MEMBER(struct point, COUNT, visits),
 *     };
 *     const struct type point_type = TYPE(struct point, "a point", members);
 *
 * A record is valid with all bytes zero. What its members point to (TEXT, JSON, ANY, LIST) is on
 * the heap and its own, but for what is BORROWED; type_finish frees it.
 */
#ifndef ASSAY_CORE_TYPE_H
#define ASSAY_CORE_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

enum member_kind {
    MEMBER_REAL,    /* double; NaN and infinities are null */
    MEMBER_FINITE,  /* double that always has a value */
    MEMBER_COUNT,   /* uint64_t, below 2^63 */
    MEMBER_INTEGER, /* int64_t */
    MEMBER_BOOLEAN, /* bool */
    MEMBER_NAME, /* an enumeration (unsigned), by the names of `names`; a NULL among them is null */
    MEMBER_TEXT, /* char *, UTF-8; NULL: there is none */
    MEMBER_CHARS,  /* char[of `size`], UTF-8, ends in 0; longer text is cut when it is read */
    MEMBER_DIGEST, /* struct digest, as 64 hexadecimal digits; of zeros: there is none */
    /* json_t *, a reference; NULL: there is none. An array or object, its values of the type `of`
     * where it is said; anything, or one of the types `choices` where they are said. */
    MEMBER_JSON,
    MEMBER_ANY,
    MEMBER_RECORD, /* a record of the type `of`, inside this one */
    /* A pointer to records of the type `of`; their number (size_t) at `count`. With a `size` they
     * lie in this record, and are so many at most. */
    MEMBER_LIST,
    MEMBER_CUSTOM, /* by the functions of `codec` */
};

enum member_flags {
    /* Where it is 0, NULL or empty: null. */
    MEMBER_NULLABLE = 1,
    /* Where it is 0, NULL or empty (RECORD: of members that are left out): left out. Need not be
     * there when it is read. */
    MEMBER_OPTIONAL = 2,
    /* Came later: need not be there when it is read. */
    MEMBER_LATER = 4,
    /* INTEGER, COUNT (of an int64_t): below 0 there is none, and it is null; -1 where null is read,
     * or nothing. */
    MEMBER_FROM_0 = 8,
    /* CHARS: text that does not fit is not valid. */
    MEMBER_WHOLE = 16,
    /* TEXT, JSON, ANY: where it is read, it stays what `json` owns. */
    MEMBER_BORROWED = 32,
    /* Means something beside the others of its file alone (a row's number): exports leave it out.
     */
    MEMBER_LOCAL = 64,
    /* TEXT: written in printable characters (printable_or_null), as what others say is. */
    MEMBER_PRINTABLE = 128,
};

/* How a member is written that no kind fits. All three get the member's address in the record. */
struct member_codec {
    json_t *(*to_json)(const void *at);                     /* new; NULL: out of memory */
    const char *(*from_json)(const json_t *json, void *at); /* as type_read */
    json_t *(*schema)(void);
    void (*finish)(void *at); /* NULL: it owns nothing */
};

struct member {
    /* In JSON. NULL: a RECORD whose members are written as members of this one; or TYPE_OF_VALUE.
     */
    const char *name;
    enum member_kind kind;
    unsigned flags;
    size_t offset;
    size_t has; /* numbers, RECORD, DIGEST: offset of a bool, whether there is one; 0: the value
                   says it */
    bool (*absent)(const void *record); /* whether there is none; NULL: the value says it */
    size_t size;                        /* of CHARS, of a LIST inside the record */
    size_t count;                       /* of a LIST: the offset of its number */
    const char *const *names;           /* of a NAME */
    size_t name_count;
    json_type json; /* of JSON; an object where nothing is said */
    const struct type *of;
    const struct type *const *choices; /* of JSON and ANY, ended by NULL; in the schema alone */
    const struct member_codec *codec;
    const char *help; /* in the schema */
};

struct type {
    const char *what; /* "an estimate", for errors */
    size_t size;
    const struct member *members;
    size_t count;
    const void
        *unknown; /* as type_unknown gives it; NULL: zeros, and -1 where a member is FROM_0 */
    void (*settle)(
        void *record); /* after reading: what follows from several members; NULL: nothing */
    const char *def;   /* in schemas it stands once, in "$defs" under this name; NULL: in place */
    bool is_open;      /* in schemas: an object that may have other members, too */
};

#define MEMBER(record, of_kind, member_name, ...)                                                  \
    {                                                                                              \
        .name = #member_name, .kind = MEMBER_##of_kind, .offset = offsetof(record, member_name),   \
        __VA_ARGS__                                                                                \
    }
/* A member whose name in JSON is another than its name here. */
#define MEMBER_AS(record, of_kind, json_name, member_name, ...)                                    \
    {                                                                                              \
        .name = json_name, .kind = MEMBER_##of_kind, .offset = offsetof(record, member_name),      \
        __VA_ARGS__                                                                                \
    }
/* What follows `.names = `: an array of names. */
#define MEMBER_NAMES(array) (array), .name_count = sizeof(array) / sizeof(*(array))

#define TYPE(record, of_what, table, ...)                                                          \
    {                                                                                              \
        .what = (of_what), .size = sizeof(record), .members = (table),                             \
        .count = sizeof(table) / sizeof(*(table)), __VA_ARGS__                                     \
    }

/*
 * A type of no struct of its own: its members lie in the record around it, of which it is an object
 * in JSON (MEMBER_GROUP); or they are described for their schema alone.
 */
#define TYPE_OF_MEMBERS(table, ...)                                                                \
    {                                                                                              \
        .members = (table), .count = sizeof(table) / sizeof(*(table)), __VA_ARGS__                 \
    }
#define MEMBER_GROUP(json_name, group, ...)                                                        \
    {                                                                                              \
        .name = json_name, .kind = MEMBER_RECORD, .of = &(group), __VA_ARGS__                      \
    }
/* All members of another type among these; `.offset` where it is a record of a struct. */
#define MEMBER_ALL_OF(other, ...)                                                                  \
    {                                                                                              \
        .kind = MEMBER_RECORD, .of = &(other), __VA_ARGS__                                         \
    }

/* A type whose only member has no name is that member alone, no object. */
#define TYPE_OF_VALUE(of_kind, ...)                                                                \
    .members = &(const struct member){.kind = (of_kind), __VA_ARGS__}, .count = 1
bool type_is_value(const struct type *type);
/* For lists: double, double that is never null, int64_t, char *, json_t * (an object), and an enum
 * status. */
extern const struct type type_of_real, type_of_finite, type_of_integer, type_of_text,
    type_of_object, type_of_status;

/* New JSON, an object; NULL: out of memory. */
json_t *type_to_json(const struct type *type, const void *record);

/* A record of which nothing is known, from which reading starts. */
void type_unknown(const struct type *type, void *ret);

/*
 * Reads what is valid; the rest of `ret` is as of type_unknown, reals NaN. NULL, or the path of the
 * first member that is missing or not valid ("plan.load"; "" where `json` is no object), in a
 * buffer of the calling thread until its next call; type_no_memory where memory has run out. Free
 * the record with type_finish in each case.
 */
const char *type_read(const struct type *type, const json_t *json, void *ret);
extern const char type_no_memory[];

/* The same of what must be valid: CORRUPT names the member, and `ret` holds nothing to free. */
enum status type_from_json(const struct type *type, const json_t *json, void *ret,
                           struct error *err);

/*
 * JSON Schema (type_schema.c), new: an object, closed unless is_open, as `--json` prints it:
 * integers within 2^53, COUNTs beyond as decimal strings; a member that is printed as text is a
 * string, and one whose name ends in "utc_ns" has an ISO 8601 twin. Members that are neither
 * OPTIONAL nor LATER are required. Types with a `def` are added to `definitions`; where it is NULL
 * they stand in place.
 */
json_t *type_schema(const struct type *type, json_t *definitions);

/* Times of day ("..utc_ns") and seeds: printed as text, so that their type does not depend on their
 * value. */
bool member_is_printed_as_text(const char *name);

/* Whether the member is null where it is empty: numbers that are not known always are. */
bool member_may_be_null(const struct member *member);

/* Frees what members point to, and sets them to NULL. */
void type_finish(const struct type *type, void *record);

#endif
