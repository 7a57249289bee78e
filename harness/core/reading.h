/*
 * reading - a value that says what it knows.
 *
 * "Could not measure" is a value with a reason. Missing is never 0; unknown never equals unknown.
 */
#ifndef ASSAY_CORE_READING_H
#define ASSAY_CORE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

#define READING_STATUS_MAP(X)                                                                      \
    X(MEASURED, "measured")             /* read from the system or a device */                     \
    X(DECLARED, "declared")             /* stated by a person or a data sheet */                   \
    X(UNAVAILABLE, "unavailable")       /* nothing reports it */                                   \
    X(DENIED, "denied")                 /* it exists, permission is missing */                     \
    X(NOT_APPLICABLE, "not_applicable") /* it has no meaning here */

enum reading_status {
#define READING_STATUS_ENUM(code, name) READING_##code,
    READING_STATUS_MAP(READING_STATUS_ENUM)
#undef READING_STATUS_ENUM
};

enum reading_type { READING_TEXT, READING_INTEGER, READING_REAL };

/* All strings are owned by the list that holds the reading. `unit` and `reason` may be NULL. */
struct reading {
    char *name; /* dotted: "host.cpu.model", "device.driver_version" */
    enum reading_status status;
    enum reading_type type; /* the value's type; no value unless measured or declared */
    char *text;
    int64_t integer;
    double real;
    char *unit;   /* "bytes", "hz", "mw"; NULL when it has none */
    char *source; /* place and method in one: "/proc/cpuinfo", "clGetDeviceInfo"; reading_method */
    char *reason; /* why there is no value */
};

struct reading_list {
    struct reading *items;
    size_t count;
    bool failed; /* out of memory; checked once at the end, as in text */
};

void reading_list_init(struct reading_list *list);
void reading_list_finish(struct reading_list *list);

/* Each copies its strings. A name that is already there is replaced. */
void reading_add_text(struct reading_list *list, const char *name, const char *value,
                      const char *source);
void reading_add_integer(struct reading_list *list, const char *name, int64_t value,
                         const char *unit, const char *source);
void reading_add_real(struct reading_list *list, const char *name, double value, const char *unit,
                      const char *source);
/* A reading without a value: status is UNAVAILABLE, DENIED or NOT_APPLICABLE. */
void reading_add_missing(struct reading_list *list, const char *name, enum reading_status status,
                         const char *source, const char *reason);

/* The reading with this name, or NULL. */
const struct reading *reading_find(const struct reading_list *list, const char *name);

/*
 * How a source is named: "read from" a path, "environment variable" of that name, "told by" a call
 * or whatever else it names. FORMAT.md has the forms.
 */
const char *reading_method(const char *source);

const char *reading_status_name(enum reading_status status);
bool reading_status_from_name(const char *name, enum reading_status *ret);

/*
 * As JSON: {"name": {"status", "value", "unit", "source", "reason"}, ...}, members without content
 * left out; and back. Both give new objects. CORRUPT for JSON of another shape.
 */
/* The object it writes, described for schemas alone. */
extern const struct type reading_list_type; /* core/type.h */
json_t *reading_list_to_json(const struct reading_list *list);
enum status reading_list_from_json(const json_t *json, struct reading_list *ret, struct error *err);

#endif
