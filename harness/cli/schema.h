/*
 * schema - what the JSON of each command looks like, as types (core/type.h), from which JSON
 * Schemas are written (draft 2020-12).
 *
 * The tables describe what is printed, after envelope.c: integers within 2^53; times of day as
 * decimal strings of nanoseconds with an ISO 8601 twin; seeds as decimal strings.
 */
#ifndef ASSAY_CLI_SCHEMA_H
#define ASSAY_CLI_SCHEMA_H

#include <jansson.h>

#include "harness/core/type.h"

/*
 * One command's JSON. A version counts up when a member is taken away or means something else; a
 * member more is no new version.
 */
struct schema {
    const char *command;
    unsigned version;
    const struct type *data;
    bool is_list; /* the data is a list of that */
};

/* Of this command; of one that writes no JSON, or NULL, the schema of errors alone, "error". */
struct schema schema_find(const char *command);

#define SCHEMA_ID_MAX 64
/* "urn:assay:schema:results:1": the schema's $id, and the member `schema` of each document. */
const char *schema_id(const struct schema *schema, char ret[SCHEMA_ID_MAX]);

/* The JSON Schema, new; NULL: no memory. */
json_t *schema_json(const struct schema *schema);

#endif
