/*
 * declaration - YAML that people write, read through libcyaml.
 *
 * A room describes its declarations by libcyaml schema tables (CYAML_FIELD_... macros); this file
 * adds what libcyaml leaves open: every error says "FILE:LINE: what, and what to write instead",
 * and hostile input is bounded (DECLARATION_SIZE_MAX, _DEPTH_MAX, no anchors, aliases or tags).
 *
 * Stricter than libcyaml, so that a value means what it looks like: integers are decimal, booleans
 * are `true` or `false`, enumerations take only their names, a key is written at most once. Schema
 * types: INT, UINT, BOOL, ENUM, FLOAT, STRING, MAPPING, SEQUENCE, SEQUENCE_FIXED; the top level is
 * a mapping with CYAML_FLAG_POINTER.
 */
#ifndef ASSAY_CORE_DECLARATION_H
#define ASSAY_CORE_DECLARATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cyaml/cyaml.h>
#include <jansson.h>

#include "harness/core/status.h"

#define DECLARATION_SIZE_MAX (1024 * 1024)
#define DECLARATION_DEPTH_MAX 32

/*
 * Flags of our own, in addition to libcyaml's, on CYAML_INT and CYAML_UINT values: the value is
 * written with a unit and stored as an integer.
 *     CYAML_FIELD_INT("window", CYAML_FLAG_OPTIONAL | DECLARATION_DURATION, struct x, window_ns)
 * DURATION: "250ms", "2s", "1h" into nanoseconds. BYTES: "512KiB", "2MB" or a plain number.
 */
#define DECLARATION_DURATION (1 << 28)
#define DECLARATION_BYTES (1 << 29)

/* Whether a name is a file's: it has a / or ends in .yaml. */
bool declaration_is_path(const char *name);

struct declaration_node;

struct declaration {
    char *origin; /* heap: the file's path, or what names the text in messages */
    char *yaml;   /* heap: the text as it was read */
    size_t length;
    const cyaml_schema_value_t *schema; /* static, the caller's */
    void *data;                         /* the caller's struct, as the schema says */
    struct declaration_node *root;      /* the text's keys with their lines */
};

/*
 * Reads and checks the file. `ret` is initialised on success (declaration_finish). INVALID: it is
 * wrong, with "FILE:LINE: ..." in the message; NOT_FOUND (says where it was looked for), DENIED,
 * IO.
 */
enum status declaration_load(const char *path, const cyaml_schema_value_t *schema,
                             struct declaration *ret, struct error *err);

/* As declaration_load, from memory. Messages name `origin` instead of the file. */
enum status declaration_parse(const char *origin, const char *yaml, size_t length,
                              const cyaml_schema_value_t *schema, struct declaration *ret,
                              struct error *err);

/* Frees all, the data included. Takes a zeroed one and NULL. */
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
 * The declared content as a new JSON object, after schema and data: enumerations by name, integers,
 * reals, lists and mappings. NULL pointers are left out, and so are optional values that are not
 * written and still zero. Its canonical digest does not depend on order, comments or spelling.
 */
enum status declaration_to_json(const struct declaration *declaration, json_t **ret,
                                struct error *err);

#endif
