/*
 * declaration - YAML that people write, read through libyaml into a struct.
 *
 * A room describes its declarations by tables of FIELD_... macros. Every error says "FILE:LINE:
 * what, and what to write instead", and hostile input is bounded (DECLARATION_SIZE_MAX, _DEPTH_MAX,
 * no anchors, aliases or tags). A value means what it looks like: integers are decimal, booleans
 * are `true` or `false`, enumerations take only their names, a key is written at most once.
 */
#ifndef ASSAY_CORE_DECLARATION_H
#define ASSAY_CORE_DECLARATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

#define DECLARATION_SIZE_MAX (1024 * 1024)
#define DECLARATION_DEPTH_MAX 32

enum declaration_type {
    DECLARATION_INT,
    DECLARATION_UINT,
    DECLARATION_BOOL,
    DECLARATION_FLOAT,
    DECLARATION_ENUM,
    DECLARATION_STRING,
    DECLARATION_GROUP,
    DECLARATION_LIST,
};

struct declaration_name {
    const char *str;
    int64_t val;
};

/* What a value may be. */
struct declaration_schema {
    enum declaration_type type;
    unsigned flags;
    uint32_t size;                        /* of what is stored, in bytes */
    uint32_t min, max;                    /* characters of a string, items of a list */
    int32_t count;                        /* a list's counter, from its pointer on, in bytes */
    const struct declaration_name *names; /* of an enumeration: `max` of them */
    const struct declaration_field *fields;
    const struct declaration_schema *entry; /* of a list */
};

/* A member of a struct, and the key that it is written under. */
struct declaration_field {
    const char *key; /* NULL ends a table */
    uint32_t offset;
    struct declaration_schema value;
};

/*
 * Flags. DURATION and BYTES: the integer is written with a unit, as in
 *     FIELD_INT("window", FIELD_OPTIONAL | DECLARATION_DURATION, struct x, window_ns)
 * DURATION: "250ms", "2s", "1h" into nanoseconds. BYTES: "512KiB", "2MB" or a plain number. OPEN: a
 * group may have other keys, too, which are not read. TIMES: a real number may also be written as a
 * multiple of something else, "0.5x", which is kept as -0.5.
 */
#define FIELD_REQUIRED 0
#define FIELD_OPTIONAL 1
#define DECLARATION_DURATION 2
#define DECLARATION_BYTES 4
#define DECLARATION_OPEN 8
#define DECLARATION_TIMES 16

#define FIELD_UNLIMITED UINT32_MAX

/*
 * Fields of a struct S: its member M is written under the key K. An integer has any size; FLOAT is
 * a double, BOOL a bool, STRING a char * on the heap; a GROUP is a struct, whose table is FIELDS; a
 * LIST is a pointer to the heap, beside which M_count (32 bits) counts what ENTRY describes.
 * Without a value a member is zero.
 */
#define FIELD(K, TYPE, FLAGS, S, M, ...)                                                           \
    {                                                                                              \
        (K), offsetof(S, M),                                                                       \
        {                                                                                          \
            (TYPE), (FLAGS), sizeof(((S *)0)->M), __VA_ARGS__                                      \
        }                                                                                          \
    }
#define FIELD_IS(S, M, TYPE)                                                                       \
    (0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((S *)0)->M), TYPE) ? 1 : -1]))
#define FIELD_INT(K, FLAGS, S, M) FIELD(K, DECLARATION_INT, FLAGS, S, M, 0)
#define FIELD_UINT(K, FLAGS, S, M) FIELD(K, DECLARATION_UINT, FLAGS, S, M, 0)
#define FIELD_BOOL(K, FLAGS, S, M) FIELD(K, DECLARATION_BOOL, FLAGS, S, M, FIELD_IS(S, M, bool))
#define FIELD_FLOAT(K, FLAGS, S, M) FIELD(K, DECLARATION_FLOAT, FLAGS, S, M, FIELD_IS(S, M, double))
#define FIELD_ENUM(K, FLAGS, S, M, NAMES, COUNT)                                                   \
    FIELD(K, DECLARATION_ENUM, FLAGS, S, M, .names = (NAMES), .max = (COUNT))
#define FIELD_STRING(K, FLAGS, S, M, MIN, MAX)                                                     \
    FIELD(K, DECLARATION_STRING, FLAGS, S, M, (MIN) + FIELD_IS(S, M, __typeof__(&((S *)0)->M[0])), \
          (MAX))
#define FIELD_GROUP(K, FLAGS, S, M, FIELDS)                                                        \
    FIELD(K, DECLARATION_GROUP, FLAGS, S, M, .fields = (FIELDS))
#define FIELD_LIST(K, FLAGS, S, M, ENTRY, MIN, MAX)                                                \
    FIELD(K, DECLARATION_LIST, FLAGS, S, M, (MIN) + FIELD_IS(S, M##_count, uint32_t), (MAX),       \
          (int32_t)offsetof(S, M##_count) - (int32_t)offsetof(S, M), .entry = (ENTRY))
#define FIELD_END                                                                                  \
    {                                                                                              \
        NULL                                                                                       \
    }

/* Entries of lists, and (GROUP) a whole declaration. */
#define ENTRY_INT(FLAGS, TYPE) DECLARATION_INT, (FLAGS), sizeof(TYPE)
#define ENTRY_FLOAT DECLARATION_FLOAT, 0, sizeof(double)
#define ENTRY_ENUM(TYPE, NAMES, COUNT)                                                             \
    DECLARATION_ENUM, 0, sizeof(TYPE), .names = (NAMES), .max = (COUNT)
#define ENTRY_STRING(MIN, MAX) DECLARATION_STRING, 0, sizeof(char *), (MIN), (MAX)
#define ENTRY_GROUP(S, FIELDS) DECLARATION_GROUP, 0, sizeof(S), .fields = (FIELDS)

/* Whether a name is a file's: it has a / or ends in .yaml. */
bool declaration_is_path(const char *name);

struct declaration_node;

struct declaration {
    char *origin; /* heap: the file's path, or what names the text in messages */
    const struct declaration_schema *schema; /* a GROUP; static, the caller's */
    void *data;                              /* the caller's struct, as the schema says */
    struct declaration_node *root;           /* the text's keys with their lines */
};

/*
 * Reads and checks the file. `ret` is initialised on success (declaration_finish). INVALID: it is
 * wrong, with "FILE:LINE: ..." in the message; NOT_FOUND (says where it was looked for), DENIED,
 * IO.
 */
enum status declaration_load(const char *path, const struct declaration_schema *schema,
                             struct declaration *ret, struct error *err);

/* As declaration_load, from memory. Messages name `origin` instead of the file. */
enum status declaration_parse(const char *origin, const char *yaml, size_t length,
                              const struct declaration_schema *schema, struct declaration *ret,
                              struct error *err);

/* Frees all, the data included, whose strings and lists the caller may have replaced on the heap.
   Takes a zeroed one and NULL. */
void declaration_finish(struct declaration *declaration);

/*
 * Places are named by path: "model.heads", "batches[2]", "arrays[0].size"; "" is the whole.
 * True when that key or item is written in the text (a default never is).
 */
bool declaration_has(const struct declaration *declaration, const char *path);

/* Its line, from 1; of a place that is not written, the line of the nearest one around it. */
int declaration_line(const struct declaration *declaration, const char *path);

/*
 * For errors of meaning: sets INVALID and "FILE:LINE: message" with the line of `path`; returns
 * INVALID. Say what is wrong and what to write instead. Control characters are shown as \xNN.
 */
enum status declaration_error(const struct declaration *declaration, const char *path,
                              struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * A message that begins with a place, as in "items[1].declared: write ...", gets the place's
 * FILE:LINE before it. Other messages, and those that have a place, stay as they are.
 */
void declaration_locate(const struct declaration *declaration, struct error *err);

/*
 * The declared content as a new JSON object, after schema and data: enumerations by name, integers
 * (durations with their unit, "2000000ns", so that the JSON can be read again), reals, lists and
 * mappings. NULL pointers are left out, and so are optional values that are not
 * written and still zero. Its canonical digest does not depend on order, comments or spelling.
 */
enum status declaration_to_json(const struct declaration *declaration, json_t **ret,
                                struct error *err);

#endif
